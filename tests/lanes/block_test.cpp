// That the emulation of lanes sees the faults it is there for.
#include "tests/lanes/cuda_on_cpu.h"
// the emulation before all else
#include <gtest/gtest.h>

namespace hotloop {
namespace {

// What run_block says; "" where it ends well.
template <class F>
std::string complaint(int threads, F body) {
  std::string said;
  for (const LaneOrder order : kLaneOrders) {
    try {
      run_block(threads, order, body);
      said += "|";
    } catch (const LaneError& e) {
      said += std::string(e.what()) + "|";
    }
  }
  return said;
}

TEST(LaneBlock, EveryLaneRunsOnceInTheOrderAsked) {
  std::vector<int> ran;
  run_block(64, LaneOrder::ascending, [&] { ran.push_back(running_lane()); });
  for (int i = 0; i < 64; ++i) EXPECT_EQ(ran.at(static_cast<std::size_t>(i)), i);
  std::vector<int> other;
  run_block(64, LaneOrder::descending, [&] { other.push_back(running_lane()); });
  std::reverse(other.begin(), other.end());
  EXPECT_EQ(other, ran);
  other.clear();
  run_block(64, LaneOrder::shuffled, [&] { other.push_back(running_lane()); });
  EXPECT_NE(other, ran);
  std::sort(other.begin(), other.end());
  EXPECT_EQ(other, ran);
}

TEST(LaneBlock, LanesThatDivergeAreNamed) {
  EXPECT_EQ(complaint(32, [] { __syncwarp(0xffffffffu); }), "|||");
  const std::string skipped = complaint(32, [] {
    if (running_lane() != 5) __shfl_xor_sync(0xffffffffu, 1, 1);
  });
  EXPECT_NE(skipped.find("lane 0 at __shfl_xor_sync(0xffffffff) waits for lane 5, which has returned"),
            std::string::npos)
      << skipped;
  const std::string mixed = complaint(32, [] {
    if (threadIdx.x < 20)
      __syncwarp(0xffffffffu);
    else
      __any_sync(0xffffffffu, true);
  });
  EXPECT_NE(mixed.find("lane 0 at __syncwarp(0xffffffff) waits for lane 20 at __any_sync(0xffffffff)"),
            std::string::npos)
      << mixed;
  const std::string warp = complaint(64, [] {
    if (threadIdx.x < 32) __syncthreads();
    if (threadIdx.x >= 33) __syncwarp(0xffffffffu);
    __syncthreads();
  });
  EXPECT_NE(warp.find("lane 33 at __syncwarp(0xffffffff) waits for lane 32 at __syncthreads"), std::string::npos)
      << warp;
}

TEST(LaneBlock, MasksAndSourcesAreChecked) {
  const std::string own = complaint(32, [] { __syncwarp(0xffff0000u); });
  EXPECT_NE(own.find("lane 0 at __syncwarp(0xffff0000): is not in its own mask"), std::string::npos) << own;
  const std::string source = complaint(32, [] {
    if (threadIdx.x < 16) __shfl_xor_sync(0x0000ffffu, 1, 16);
  });
  EXPECT_NE(source.find("takes the value of lane 16"), std::string::npos) << source;
}

// A lane that reads what another writes, without a barrier between: the orders differ.
TEST(LaneBlock, RacesShow) {
  const auto sums = [](bool barrier) {
    std::vector<int> all;
    for (const LaneOrder order : kLaneOrders) {
      int shared[32] = {}, sum = 0;
      run_block(32, order, [&] {
        const int lane = running_lane();
        shared[lane] = lane;
        if (barrier) __syncwarp(0xffffffffu);
        sum += shared[(lane + 1) % 32] * lane;
      });
      all.push_back(sum);
    }
    return all;
  };
  const std::vector<int> with = sums(true), without = sums(false);
  EXPECT_EQ(with[0], with[1]);
  EXPECT_EQ(with[0], with[2]);
  EXPECT_NE(without[0], without[1]);
  EXPECT_NE(without[0], without[2]);
}

}  // namespace
}  // namespace hotloop
