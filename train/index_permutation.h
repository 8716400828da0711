// A permutation of [0, n) that is computed, not stored: a keyed bijection of [0, 2^bits) of odd multiplications,
// additions and xor-shifts, applied again while it leads outside [0, n) (cycle walking: Black & Rogaway 2002, "Ciphers
// with arbitrary finite domains"). Either direction costs a few dozen instructions, so that kernels shuffle without
// sorting and can ask where a row will come. Kernels compiled at run time use this file.
#pragma once
#include <cstdint>

#include "sim/core/rng.h"

namespace hotloop {

// kN: n where it is known to the compiler, which then leaves out the walk of a power of two; 0 where it is not.
template <std::uint32_t kN>
class PermutationOf {
 public:
  static constexpr int kRounds = 4;

  // Of [0, n), n in [1, 2^31], keyed by (seed, step).
  SIM_HD PermutationOf(std::uint64_t seed, std::uint64_t step, std::uint32_t n) : size_(n) {
    Rng rng(seed, RngStream::permutation, 0, step);
    unrolled<kRounds>([&](int k) {
      const std::uint32_t odd = rng.bits() | 1u;
      std::uint32_t inverse = odd;  // Newton: each step doubles the correct low bits, of which an odd number has three
      unrolled<4>([&](int) { inverse *= 2u - odd * inverse; });
      multiply_[k] = odd;
      inverse_[k] = inverse;
    });
    unrolled<kRounds>([&](int k) { add_[k] = rng.bits(); });
  }

  // The row at `position` of the shuffled order.
  SIM_HD std::uint32_t row(std::uint32_t position) const {
    const Size size = this->size();
    std::uint32_t x = position;
    do {
      unrolled<kRounds>([&](int k) {
        x = (x * multiply_[k] + add_[k]) & size.mask;
        x ^= x >> size.shift;
      });
    } while (x >= size.n);
    return x;
  }

  // Where `row` comes: position(row(p)) == p.
  SIM_HD std::uint32_t position(std::uint32_t row) const {
    const Size size = this->size();
    std::uint32_t x = row;
    do {
      unrolled<kRounds>([&](int k) {
        const int r = kRounds - 1 - k;
        x ^= x >> size.shift;  // its own inverse: the shift is at least half of the bits
        x = ((x - add_[r]) * inverse_[r]) & size.mask;
      });
    } while (x >= size.n);
    return x;
  }

 private:
  struct Size {
    std::uint32_t n, mask;
    int shift;
    SIM_HD constexpr explicit Size(std::uint32_t count) : n(count), mask(0), shift(0) {
      int bits = 1;
      while (bits < 31 && (std::uint32_t{1} << bits) < n) ++bits;
      mask = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
      shift = (bits + 1) / 2;
    }
  };
  SIM_HD Size size() const {
    if constexpr (kN == 0) {
      return size_;
    } else {
      constexpr Size known(kN);
      return known;
    }
  }

  Size size_;
  std::uint32_t multiply_[kRounds] = {}, inverse_[kRounds] = {}, add_[kRounds] = {};
};
using IndexPermutation = PermutationOf<0>;

}  // namespace hotloop
