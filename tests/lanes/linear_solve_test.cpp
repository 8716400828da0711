// Systems and inverses by lanes that hold the rows, and by one thread.
#include "tests/lanes/cuda_on_cpu.h"
// the emulation before all else
#include <gtest/gtest.h>

#include "sim/mujoco/linear_solve.h"

namespace hotloop {
namespace {

// A symmetric positive definite matrix, different in every group; its condition is below 100.
template <class Real>
Real entry(int group, int i, int j) {
  if (i < j) std::swap(i, j);
  const auto bits = static_cast<std::uint32_t>(i * 131 + j + 17 * group) * 2654435761u;
  const Real noise = static_cast<Real>(bits >> 8) / Real(1 << 24) - Real(0.5);
  return i == j ? Real(4 + i % 5) + noise : noise / Real(1 + (i - j) / 4);
}

// Where an array lies in a group's shared memory, in elements.
template <int N>
struct Places {
  int stride, matrix = 0, out = N * (N + 8), rows = 2 * out, x = rows + 4 * (N + 4), end = x + N;
};

// The solution, then the inverse [n][n].
template <int N, class Real, class G>
void compute(const G& g, int group, int n, Real* shared, Real* results) {
  const Places<N> at{(n + 3) / 4 * 4};
  const auto row = [&](int i, Real* h, Real& right) {
    for (int j = 0; j < n; ++j) h[j] = entry<Real>(group, i, j);
    right = Real(1) / Real(i + 1);
  };
  solve<N>(g, n, shared + at.matrix, at.stride + 4, shared + at.rows, row, shared + at.x);
  g.for_each(n, [&](int i) { results[i] = shared[at.x + n - 1 - i]; });
  g.for_each(n * at.stride, [&](int k) {
    const int i = k / at.stride, j = k % at.stride;
    shared[at.matrix + k] = j < n ? entry<Real>(group, i, j) : Real(0);
  });
  invert<N>(g, n, shared + at.matrix, at.stride, shared + at.rows, shared + at.out);
  g.for_each(n * n, [&](int k) { results[n + k] = shared[at.out + (k % n) * at.stride + k / n]; });
}

template <int N, int L, class Real>
void expect_agreement(int n) {
  SCOPED_TRACE(std::to_string(N) + " bound, " + std::to_string(n) + " rows, " + std::to_string(L) + " lanes, " +
               std::to_string(sizeof(Real)) + " bytes");
  constexpr int groups = 32 / L;
  const std::size_t each = static_cast<std::size_t>(n) * (n + 1);
  std::vector<Real> serial(each * groups), first;
  struct alignas(16) Block {
    Real v[16 / sizeof(Real)];
  };
  std::vector<Block> memory(Places<N>{0}.end * sizeof(Real) / 16 + 1);
  for (int i = 0; i < groups; ++i)
    compute<N>(SerialGroup<L>{}, i, n, reinterpret_cast<Real*>(memory.data()), &serial[i * each]);
  for (const LaneOrder order : kLaneOrders) {
    std::vector<Real> lanes(serial.size());
    run_lanes<L>(order, groups, 1, Places<N>{0}.end * sizeof(Real),
                 [&](const DeviceGroup<L>& g, long long i, std::byte* shared) {
                   compute<N>(g, static_cast<int>(i), n, reinterpret_cast<Real*>(shared), &lanes[i * each]);
                 });
    if (first.empty()) first = lanes;
    EXPECT_EQ(std::memcmp(lanes.data(), first.data(), lanes.size() * sizeof(Real)), 0)
        << "order " << static_cast<int>(order);
    double most = 0;
    for (std::size_t k = 0; k < lanes.size(); ++k) {
      const double d = std::abs(static_cast<double>(lanes[k]) - static_cast<double>(serial[k]));
      most = d <= most ? most : d;  // NaN counts
    }
    EXPECT_LT(most, sizeof(Real) == 4 ? 2e-6 : 1e-14);
  }
}

TEST(LaneLinearSolve, OneRowALane) {
  for (const int n : {1, 2, 3, 7, 8, 13, 15, 16}) {
    expect_agreement<16, 16, float>(n);
    expect_agreement<16, 16, double>(n);
  }
  for (const int n : {1, 17, 23, 27, 31, 32}) expect_agreement<32, 32, float>(n);
}
TEST(LaneLinearSolve, TwoRowsALane) {
  for (const int n : {5, 16, 17, 30, 32}) expect_agreement<32, 16, float>(n);
  for (const int n : {20, 33, 50, 63, 64}) expect_agreement<64, 32, float>(n);
}
TEST(LaneLinearSolve, InMemory) {
  for (const int n : {1, 33, 70, 128}) expect_agreement<128, 32, float>(n);
}

}  // namespace
}  // namespace hotloop
