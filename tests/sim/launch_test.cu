// Work on a device: sums that do not depend on how they are split, and graphs.
#include "sim/core/launch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sim/core/graph.h"
#include "sim/core/rng.h"

namespace hotloop {
namespace {

constexpr Device kCard{Device::Kind::cuda, 0};

struct Term {
  const float* values;
  SIM_HD float operator()(std::int64_t i) const { return values[i]; }
};
struct WideTerm {
  const float* values;
  SIM_HD double operator()(std::int64_t i) const { return values[i]; }
};

template <class T, class F>
T sum_on(const Exec& exec, const std::vector<float>& values) {
  const Buffer<float> in(exec.device, values.size());
  copy_async(exec, in.data(), exec.device, values.data(), {}, in.bytes());
  const auto n = static_cast<std::int64_t>(values.size());
  const Buffer<T> scratch(exec.device, static_cast<std::size_t>(tree_sum_scratch(n))), out(exec.device, 1);
  tree_sum(exec, n, F{in.data()}, scratch.data(), out.data());
  T result;
  copy_async(exec, &result, {}, out.data(), exec.device, sizeof result);
  synchronize(exec);
  return result;
}

std::vector<float> random_values(std::size_t n) {
  std::vector<float> values;
  Rng rng(4, RngStream::init, 0, n);
  for (std::size_t i = 0; i < n; ++i) values.push_back(rng.uniform(-1.0f, 2.0f));
  return values;
}

// Sizes about the lanes (256) and the chunks (4096) of the tree.
constexpr std::size_t kSizes[] = {0, 1, 2, 255, 256, 257, 4095, 4096, 4097, 8192, 100003, 1000000};

TEST(TreeSum, EqualsASerialSum) {
  for (const std::size_t n : kSizes) {
    const std::vector<float> values = random_values(n);
    double serial = 0, magnitude = 0;
    for (const float v : values) serial += v, magnitude += std::abs(v);
    EXPECT_NEAR((sum_on<double, WideTerm>({}, values)), serial, 1e-13 * magnitude) << n;
    EXPECT_NEAR((sum_on<float, Term>({}, values)), serial, 2e-6 * magnitude) << n;
  }
}

TEST(TreeSum, IsTheSameOnAnyNumberOfThreads) {
  for (const std::size_t n : kSizes) {
    const std::vector<float> values = random_values(n);
    const float alone = sum_on<float, Term>({}, values);
    for (const int threads : {2, 3, 7}) {
      ThreadPool pool(threads);
      EXPECT_EQ((sum_on<float, Term>({{}, nullptr, &pool}, values)), alone) << n << " on " << threads;
    }
  }
}

TEST(TreeSum, GpuGivesTheSameBits) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const StreamHandle stream(kCard);
  for (const std::size_t n : kSizes) {
    const std::vector<float> values = random_values(n);
    EXPECT_EQ((sum_on<float, Term>({kCard, stream.get()}, values)), (sum_on<float, Term>({}, values))) << n;
  }
}

struct AddOne {
  int* value;
  SIM_HD void operator()(std::int64_t i) const { value[i] += 1; }
};

TEST(ParallelFor, VisitsEveryIndexOnce) {
  ThreadPool pool(3);
  for (const std::size_t n : {0, 1, 511, 512, 513, 5000}) {
    std::vector<int> counts(n + 1);
    parallel_for({{}, nullptr, &pool}, static_cast<std::int64_t>(n), AddOne{counts.data()});
    for (std::size_t i = 0; i <= n; ++i) ASSERT_EQ(counts[i], i < n ? 1 : 0) << i << " of " << n;
  }
}

TEST(Graph, GpuReplaysWhatWasRecorded) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const StreamHandle stream(kCard);
  const Exec exec{kCard, stream.get()};
  const Buffer<int> value(kCard, 3);
  const auto read = [&] {
    int host[3];
    copy_async(exec, host, {}, value.data(), kCard, sizeof host);
    synchronize(exec);
    EXPECT_EQ(host[0], host[2]);
    return host[0];
  };
  Graph graph;
  EXPECT_TRUE(graph.empty());
  for (int round = 0; round < 2; ++round) {  // a graph can be recorded again
    graph.begin(exec);
    for (int k = 0; k < 5; ++k) parallel_for(exec, 3, AddOne{value.data()});
    graph.end();
    EXPECT_EQ(read(), 15 * round) << "recording must not run";
    for (int k = 0; k < 3; ++k) graph.replay(exec);
    EXPECT_EQ(read(), 15 * (round + 1));
  }
  {
    Graph left_open;  // as when an exception leaves the recording: the stream must be usable again
    left_open.begin(exec);
    parallel_for(exec, 3, AddOne{value.data()});
  }
  EXPECT_EQ(read(), 30);
}

TEST(Graph, NeedsACudaStream) {
  Graph graph;
  EXPECT_THROW(graph.begin({}), std::logic_error);
  EXPECT_THROW(graph.end(), std::logic_error);
  EXPECT_THROW(graph.replay({}), std::logic_error);
}

}  // namespace
}  // namespace hotloop
