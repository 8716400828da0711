// The order in which PGS visits the edges of a world.
#pragma once
#include "sim/core/hd.h"

namespace hotloop {

// MuJoCo's random stream for the order of the sweep: PCG32 (M. O'Neill, 2014), seeded as there.
struct SweepRandom {
  unsigned long long state = 1;  // one step from state 0 with increment 1
  SIM_HD unsigned next() {
    const unsigned long long old = state;
    state = old * 6364136223846793005ULL + 1ULL;
    const auto mixed = static_cast<unsigned>(((old >> 18U) ^ old) >> 27U);
    const auto turn = static_cast<unsigned>(old >> 59U);
    return (mixed >> turn) | (mixed << ((32U - turn) & 31U));
  }
};

// Shuffles the n entries of a sweep's order (Fisher and Yates, from the end).
SIM_HD void shuffle_order(int* order, SweepRandom& random, int n) {
#pragma unroll 1
  for (int i = n - 1; i > 0; --i) {
    const int j = static_cast<int>(random.next() % static_cast<unsigned>(i + 1));
    const int code = order[i];
    order[i] = order[j];
    order[j] = code;
  }
}

// Where pgs_orders keeps sweep `sweep` over n edges; sweeps: how many it has of each n.
SIM_HD int order_index(int n, int sweep, int sweeps) { return sweeps * (n * (n - 1) / 2) + sweep * n; }

}  // namespace hotloop
