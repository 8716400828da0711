// What groups of lanes offer, by DeviceGroup on emulated lanes and by SerialGroup.
#include "tests/lanes/cuda_on_cpu.h"
// the emulation before all else
#include <gtest/gtest.h>

#include "sim/mujoco/lane_values.h"
#include "sim/mujoco/model_data.h"
#include "sim/mujoco/spatial.h"

namespace hotloop {
namespace {

constexpr int kShared = 1024;  // words of shared memory, and of results, for each group

template <int L>
void on_each_lane(const SerialGroup<L>&, std::uint32_t* out, std::uint32_t value) {
  std::fill(out, out + L, value);
}
template <int L>
void on_each_lane(const DeviceGroup<L>& g, std::uint32_t* out, std::uint32_t value) {
  out[g.lane] = value;
}

using Results = std::vector<std::uint32_t>;  // [groups][kShared]

// f(group, number of the group, shared memory, results) by one thread, then by lanes in every order: the same results.
template <int L, class F>
void expect_same(F f, int warps = 1) {
  const int groups = std::max(32 * warps, L) / L;
  Results serial(static_cast<std::size_t>(groups) * kShared), memory(kShared);
  for (int i = 0; i < groups; ++i) f(SerialGroup<L>{}, i, memory.data(), &serial[i * kShared]);
  for (const LaneOrder order : kLaneOrders) {
    Results lanes(serial.size());
    run_lanes<L>(order, groups, warps, kShared * 4, [&](const DeviceGroup<L>& g, long long i, std::byte* shared) {
      f(g, static_cast<int>(i), reinterpret_cast<std::uint32_t*>(shared), &lanes[i * kShared]);
    });
    EXPECT_EQ(lanes, serial) << L << " lanes, order " << static_cast<int>(order);
  }
}

// The same for every number of lanes that a world may have, and sizes below, at and above it.
template <class F>
void for_all_sizes(F f) {
  for (int n = 0; n <= 100; n = n < 36 ? n + 1 : n + 7) {
    SCOPED_TRACE(n);
    f(std::integral_constant<int, 8>{}, n);
    f(std::integral_constant<int, 16>{}, n);
    f(std::integral_constant<int, 32>{}, n);
  }
}

// Numbers without pattern, different in every group.
std::uint32_t noise(int group, int i) {
  std::uint32_t x = static_cast<std::uint32_t>(i + 1) * 2654435761u + static_cast<std::uint32_t>(group) * 40503u;
  x ^= x >> 15;
  return x * 2246822519u >> 7;
}

TEST(LaneGroup, WritesOfOneCallAreSeenInTheNext) {
  for_all_sizes([](auto lanes, int size) {
    expect_same<lanes()>([size](const auto& g, int group, std::uint32_t* shared, std::uint32_t* out) {
      const int n = size + group;  // groups of a warp are at different places
      g.for_each(n, [&](int i) { shared[i] = noise(group, i); });
      g.once([&] { shared[n] = n > 0 ? shared[n - 1] : 7; });
      g.for_each(n, [&](int i) { out[i] = shared[n - 1 - i] + shared[n]; });
      g.for_each(n, [&](int i) { shared[i] = out[(i + 1) % n]; });
      g.sync();
      on_each_lane(g, out + 200, shared[n / 2]);
    });
  });
}

TEST(LaneGroup, SumsAndQuestions) {
  for_all_sizes([](auto lanes, int size) {
    expect_same<lanes()>([size](const auto& g, int group, std::uint32_t* shared, std::uint32_t* out) {
      const int n = size + group;
      const auto value = [&](int i) { return noise(group, i); };
      on_each_lane(g, out, g.template reduce<std::uint32_t>(n, value));
      on_each_lane(g, out + 32, g.sum(n, shared, value));
      on_each_lane(g, out + 224, g.sum(n / 2, shared, value));
      const Vec2<float> two = g.template reduce<Vec2<float>>(n, [&](int i) {
        return Vec2<float>{1.0f * i, i % 3 * 1.0f};
      });
      on_each_lane(g, out + 64, static_cast<std::uint32_t>(two.x + 1000 * two.y));
      const Vec3<float> three = g.template reduce<Vec3<float>>(n, [&](int i) {
        return Vec3<float>{1.0f * i, 1.0f, i % 5 * 1.0f};
      });
      on_each_lane(g, out + 96, static_cast<std::uint32_t>(three.x + 100 * three.y + 1000 * three.z));
      const float total = g.sum(n, reinterpret_cast<float*>(shared), [&](int i) { return 1.0f / (1 + i); });
      on_each_lane(g, out + 128, std::bit_cast<std::uint32_t>(total));  // the same additions: the same bits
      on_each_lane(g, out + 160, g.any(n, [&](int i) { return i == n - 1; }) ? 1 : 0);
      on_each_lane(g, out + 192, g.any(n, [&](int) { return false; }) ? 1 : 0);
    });
  });
}

struct Item {
  int count, from;
};

TEST(LaneGroup, Append) {
  for_all_sizes([](auto lanes, int size) {
    expect_same<lanes()>([size](const auto& g, int group, std::uint32_t* shared, std::uint32_t* out) {
      const int n = size + group;
      if (n == 0) return;  // nobody asks: a lane beyond the end repeats the last index
      const auto make = [&](int i) { return Item{static_cast<int>(noise(group, i) % 8), i}; };
      const int total = g.template append<3>(n, make, [&](int i, const Item& item, int first) {
        for (int k = 0; k < item.count; ++k) shared[first + k] = static_cast<std::uint32_t>(i + 1000 * item.from);
      });
      on_each_lane(g, out, static_cast<std::uint32_t>(total));
      g.for_each(total, [&](int i) { out[100 + i] = shared[total - 1 - i]; });
    });
  });
}

TEST(LaneGroup, ScanDown) {
  for_all_sizes([](auto lanes, int n) {
    std::vector<int> parent;
    for (int i = 0; i < n; ++i)
      parent.push_back(i % 7 == 0 ? -1 : i % 5 == 0 ? i / 2 : i - 1);  // several trees, with branches
    const TreeData data = make_tree(parent);
    const Tree tree{data.n,           data.rounds,       data.levels,      data.parent.data(),
                    data.jump.data(), data.level.data(), data.order.data()};
    if (n == 0) return;
    expect_same<lanes()>([&](const auto& g, int group, std::uint32_t* shared, std::uint32_t* out) {
      // 2 x 2 matrices of integers: associative, and the order of the factors matters
      struct Matrix {
        std::uint32_t a, b, c, d;
      };
      auto* m = reinterpret_cast<Matrix*>(shared);
      g.for_each(n, [&](int i) { m[i] = {noise(group, i), 1, 3, noise(group, i + 200)}; });
      g.scan_down(
          tree, [&](int i) { return m[i]; },
          [](const Matrix& p, const Matrix& q) {
            return Matrix{p.a * q.a + p.b * q.c, p.a * q.b + p.b * q.d, p.c * q.a + p.d * q.c, p.c * q.b + p.d * q.d};
          },
          [&](int i, const Matrix& value) { m[i] = value; });
      g.for_each(4 * n, [&](int k) { out[k] = shared[4 * n - 1 - k]; });
    });
  });
}

TEST(LaneGroup, LaneValues) {
  for_all_sizes([](auto lanes, int size) {
    constexpr int L = lanes();
    expect_same<L>([size](const auto& g, int group, std::uint32_t*, std::uint32_t* out) {
      const int n = std::min(size, 2 * L);
      LaneValues<std::decay_t<decltype(g)>, std::uint32_t> values;
      each_own(g, n, [&](int i) { values.set(i, noise(group, i)); });
      std::uint32_t sum = 0;
      for (int i = 0; i < n; ++i) {
        const auto value = from_owner(g, (7 * i) % n, [&](int k) { return values.get(k); });
        each_own(g, n, [&](int k) { values.set(k, values.get(k) + value); });
        sum += value * static_cast<std::uint32_t>(i + 1);
      }
      on_each_lane(g, out, sum);
      each_own(g, n, [&](int i) { out[100 + i] = values.get(i); });
    });
  });
}

// Blocks of several warps, of which some leave early.
TEST(LaneGroup, Meet) {
  for (const int warps : {1, 2, 4})
    expect_same<16>(
        [](const auto& g, int group, std::uint32_t* shared, std::uint32_t* out) {
          for (int k = 0; k < 3 + group % 3; ++k) {
            g.meet();
            g.for_each(20, [&](int i) { shared[i] = noise(group, i + k); });
            g.for_each(20, [&](int i) { out[i] += shared[19 - i]; });
          }
        },
        warps);
}

// Groups that are a whole block: for_each, once and sum.
TEST(LaneGroup, WholeBlocks) {
  for (const int n : {0, 1, 63, 64, 65, 200})
    expect_same<64>([n](const auto& g, int group, std::uint32_t* shared, std::uint32_t* out) {
      g.for_each(n, [&](int i) { shared[i] = noise(group, i); });
      g.once([&] { shared[n] = 5; });
      on_each_lane(g, out, g.sum(n + 1, shared + 512, [&](int i) { return shared[n - i]; }));
      g.for_each(n, [&](int i) { out[100 + i] = shared[n - i]; });
    });
}

}  // namespace
}  // namespace hotloop
