// Running statistics against direct two-pass ones in double.
#include "train/normalizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/core/rng.h"
#include "sim/core/thread_pool.h"
#include "tests/train/device_data.h"

namespace hotloop {
namespace {

struct Statistics {
  double mean = 0, variance = 0;  // of the population
};

Statistics two_pass(const std::vector<float>& x, std::size_t first = 0, std::size_t stride = 1) {
  Statistics s;
  double n = 0;
  for (std::size_t i = first; i < x.size(); i += stride) s.mean += x[i], n += 1;
  s.mean /= n;
  for (std::size_t i = first; i < x.size(); i += stride) s.variance += (x[i] - s.mean) * (x[i] - s.mean) / n;
  return s;
}

// Columns of very different size: the last is a constant.
constexpr std::size_t kDim = 5;
constexpr float kMean[kDim] = {0.0f, 1e4f, -3e2f, 1e-3f, 7.0f};
constexpr float kDeviation[kDim] = {1.0f, 1e-2f, 50.0f, 1e-4f, 0.0f};

void check_observations(Device device) {
  ThreadPool pool(2);
  const Exec exec{device, nullptr, &pool};
  ObservationNormalizer normalizer(device, kDim, 10.0);
  normalizer.reserve(3000);
  Rng rng(3, RngStream::dynamics, 0, 0);
  std::vector<float> seen;
  for (const std::size_t rows : {1u, 3000u, 7u, 257u, 2048u}) {
    std::vector<float> batch;
    for (std::size_t i = 0; i < rows * kDim; ++i)
      batch.push_back(kMean[i % kDim] + kDeviation[i % kDim] * rng.normal());
    seen.insert(seen.end(), batch.begin(), batch.end());
    const Buffer<float> in = upload(device, batch);
    normalizer.update(exec, static_cast<std::int64_t>(rows), in.data());
    synchronize(exec);
    const std::vector<double> state = download(device, normalizer.state(), normalizer.state_size());
    const auto n = static_cast<double>(seen.size() / kDim);
    ASSERT_EQ(state[2 * kDim], n);
    for (std::size_t c = 0; c < kDim; ++c) {
      SCOPED_TRACE("after " + std::to_string(n) + " rows, column " + std::to_string(c));
      const Statistics direct = two_pass(seen, c, kDim);
      EXPECT_NEAR(state[c], direct.mean, 1e-12 * (1.0 + std::abs(direct.mean)));
      EXPECT_NEAR(state[kDim + c] / n, direct.variance, 1e-9 * direct.variance + 1e-15);
    }
    Buffer<float> out(device, batch.size());
    normalizer.apply(exec, static_cast<std::int64_t>(rows), in.data(), out.data());
    synchronize(exec);
    const std::vector<float> normalised = download(out);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Statistics direct = two_pass(seen, i % kDim, kDim);
      const double scale = 1.0 / std::sqrt(direct.variance + 1e-8);
      // the mean is kept in float: half a unit in its last place may be off
      const double tolerance = 1e-5 + std::abs(direct.mean) * 6e-8 * scale;
      const double expected = std::clamp((batch[i] - direct.mean) * scale, -10.0, 10.0);
      ASSERT_NEAR(normalised[i], expected, tolerance * (1.0 + std::abs(expected)));
      if (i == 500) break;  // the direct statistics are slow
    }
  }
}

TEST(ObservationNormalizer, EqualsTwoPassStatistics) { check_observations({}); }

TEST(ObservationNormalizer, GpuEqualsTwoPassStatistics) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  check_observations({Device::Kind::cuda, 0});
}

TEST(ObservationNormalizer, OnlyClipsBeforeTheFirstUpdate) {
  const ObservationNormalizer normalizer({}, 3, 2.0);
  const std::vector<float> in = {0.5f, -7.0f, 1e9f};
  std::vector<float> out(3);
  normalizer.apply({}, 1, in.data(), out.data());
  EXPECT_EQ(out, (std::vector<float>{0.5f, -2.0f, 2.0f}));
}

// The first batch alone decides: a large mean must not eat the variance.
TEST(ObservationNormalizer, FirstBatchFarFromZeroKeepsItsVariance) {
  ObservationNormalizer normalizer({}, 1, 10.0);
  normalizer.reserve(4096);
  Rng rng(4, RngStream::dynamics, 0, 0);
  std::vector<float> batch;
  for (int i = 0; i < 4096; ++i) batch.push_back(1e4f + 1e-2f * rng.normal());
  normalizer.update({}, 4096, batch.data());
  const Statistics direct = two_pass(batch);
  EXPECT_NEAR(normalizer.state()[1] / 4096, direct.variance, 1e-9 * direct.variance);
}

TEST(ObservationNormalizer, StateCarriesOver) {
  ObservationNormalizer a({}, 2, 10.0), b({}, 2, 10.0);
  a.reserve(2);
  const std::vector<float> batch = {1.0f, 2.0f, 3.0f, -5.0f};
  a.update({}, 2, batch.data());
  std::copy_n(a.state(), a.state_size(), b.state());
  b.refresh({});
  std::vector<float> x(4), y(4);
  a.apply({}, 2, batch.data(), x.data());
  b.apply({}, 2, batch.data(), y.data());
  EXPECT_EQ(x, y);
  EXPECT_NEAR(x[0], -1.0, 1e-6);
}

void check_rewards(Device device, float offset) {
  constexpr std::int64_t kEnvs = 13, kSteps = 40;
  constexpr double kGamma = 0.97;
  ThreadPool pool(2);
  const Exec exec{device, nullptr, &pool};
  RewardNormalizer normalizer(device, kEnvs, kSteps, kGamma);
  EXPECT_EQ(download(device, normalizer.scale(), 1)[0], 1.0f);
  Rng rng(5, RngStream::dynamics, 0, 0);
  std::vector<double> running(kEnvs, 0.0), discounted;
  for (int update = 0; update < 4; ++update) {
    std::vector<float> reward;
    std::vector<std::uint8_t> terminated, truncated;
    for (std::int64_t i = 0; i < kEnvs * kSteps; ++i) {
      reward.push_back(offset + rng.normal());
      terminated.push_back(rng.uniform() < 0.05f);
      truncated.push_back(rng.uniform() < 0.05f);
      double& r = running[static_cast<std::size_t>(i % kEnvs)];
      r = kGamma * r + reward.back();
      discounted.push_back(r);
      if (terminated.back() || truncated.back()) r = 0;
    }
    const Buffer<float> rewards = upload(device, reward);
    const Buffer<std::uint8_t> ends = upload(device, terminated), limits = upload(device, truncated);
    normalizer.update(exec, rewards.data(), ends.data(), limits.data());
    synchronize(exec);
    double mean = 0, variance = 0;
    const auto n = static_cast<double>(discounted.size());
    for (const double x : discounted) mean += x / n;
    for (const double x : discounted) variance += (x - mean) * (x - mean) / n;
    const double expected = 1.0 / std::sqrt(variance + 1e-8);
    EXPECT_NEAR(download(device, normalizer.scale(), 1)[0], expected, 1e-5 * expected) << "update " << update;
    EXPECT_EQ(download(device, normalizer.state(), 3)[2], n);
  }
  const std::vector<float> under_way = download(device, normalizer.running(), kEnvs);
  for (std::size_t w = 0; w < kEnvs; ++w) EXPECT_NEAR(under_way[w], running[w], 1e-5 * (1 + std::abs(running[w])));
}

TEST(RewardNormalizer, EqualsTheLoop) {
  check_rewards({}, 0.0f);
  check_rewards({}, -20.0f);
}

TEST(RewardNormalizer, GpuEqualsTheLoop) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  check_rewards({Device::Kind::cuda, 0}, -20.0f);
}

}  // namespace
}  // namespace hotloop
