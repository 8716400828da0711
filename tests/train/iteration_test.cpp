// The smaller parts of an iteration: permutation, initial parameters, schedules, early stop, the metrics ring.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "sim/core/thread_pool.h"
#include "tests/train/device_data.h"
#include "train/iteration_ops.h"
#include "train/policy_spec.h"
#include "train/update_ops.h"

namespace hotloop {
namespace {

std::vector<std::int32_t> permuted(Device device, std::int64_t n, std::uint64_t seed, std::int64_t iteration,
                                   std::int64_t epochs, std::int64_t epoch) {
  ThreadPool pool(2);
  const Exec exec{device, nullptr, &pool};
  Permutation permutation(device, n, seed);
  Control host;
  host.iteration = iteration;
  const Buffer<Control> control = upload(device, std::vector<Control>{host});
  permutation.fill(exec, control.data(), epochs, epoch);
  synchronize(exec);
  return download(device, permutation.indices(), static_cast<std::size_t>(n));
}

TEST(Permutation, HoldsEveryIndexOnce) {
  for (const std::int64_t n : {1, 2, 31, 1000, 70001}) {
    std::vector<std::int32_t> p = permuted({}, n, 1, 0, 4, 0), identity(p.size());
    std::iota(identity.begin(), identity.end(), 0);
    if (n > 2) {
      EXPECT_NE(p, identity);
    }
    std::sort(p.begin(), p.end());
    EXPECT_EQ(p, identity);
  }
}

TEST(Permutation, IsKeyedBySeedIterationAndEpoch) {
  const std::vector<std::int32_t> p = permuted({}, 256, 1, 3, 4, 2);
  EXPECT_EQ(permuted({}, 256, 1, 3, 4, 2), p);
  EXPECT_NE(permuted({}, 256, 2, 3, 4, 2), p);
  EXPECT_NE(permuted({}, 256, 1, 4, 4, 2), p);
  EXPECT_NE(permuted({}, 256, 1, 3, 4, 3), p);
}

// Every index comes to every place about equally often.
TEST(Permutation, IsUniform) {
  constexpr int kN = 8, kTrials = 4000;
  int count[kN][kN] = {};
  for (int trial = 0; trial < kTrials; ++trial) {
    const std::vector<std::int32_t> p = permuted({}, kN, 9, trial, 1, 0);
    for (int i = 0; i < kN; ++i) count[i][p[static_cast<std::size_t>(i)]] += 1;
  }
  for (const auto& row : count)
    for (const int c : row) EXPECT_NEAR(c, kTrials / kN, 6 * std::sqrt(kTrials / kN));
}

TEST(Permutation, GpuEqualsCpu) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  for (const std::int64_t n : {1, 1000, 300000})
    EXPECT_EQ(permuted({Device::Kind::cuda, 0}, n, 5, 7, 4, 1), permuted({}, n, 5, 7, 4, 1));
}

PolicySpec box_policy() {
  TrainConfig c;
  c.hidden_sizes = {24, 16};
  c.log_std_init = -0.5;
  EnvSpec env;
  env.observation.low.assign(7, -1.0f);
  env.action = ActionSpace::box({-1, -1, -1}, {1, 1, 1});
  return make_policy_spec(c, env);
}

TEST(InitialParameters, AreOrthogonalWithTheLayersGain) {
  const PolicySpec spec = box_policy();
  const std::vector<float> p = initial_parameters(spec, 3);
  ASSERT_EQ(p.size(), static_cast<std::size_t>(spec.num_parameters));
  for (const auto* net : {&spec.trunk, &spec.actor, &spec.critic})
    for (const LayerSpec& l : *net) {
      SCOPED_TRACE(l.name);
      EXPECT_DOUBLE_EQ(l.gain, l.activation != Activation::none ? std::sqrt(2.0) : (net == &spec.actor ? 0.01 : 1.0));
      const bool wide = l.in >= l.out;  // rows are orthonormal times gain, else columns
      const std::int64_t n = wide ? l.out : l.in, m = wide ? l.in : l.out;
      const auto at = [&](std::int64_t i, std::int64_t k) {
        return static_cast<double>(p[static_cast<std::size_t>(l.weight + (wide ? i * l.in + k : k * l.in + i))]);
      };
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          double dot = 0;
          for (std::int64_t k = 0; k < m; ++k) dot += at(i, k) * at(j, k);
          EXPECT_NEAR(dot, i == j ? l.gain * l.gain : 0.0, 1e-6 * l.gain * l.gain);
        }
      for (std::int64_t k = 0; k < l.out; ++k) EXPECT_EQ(p[static_cast<std::size_t>(l.bias + k)], 0.0f);
    }
  for (std::int64_t k = 0; k < 3; ++k) EXPECT_EQ(p[static_cast<std::size_t>(spec.log_std + k)], -0.5f);
}

TEST(InitialParameters, AreKeyedAndDifferFromLayerToLayer) {
  const PolicySpec spec = box_policy();
  const std::vector<float> p = initial_parameters(spec, 3);
  EXPECT_EQ(initial_parameters(spec, 3), p);
  EXPECT_NE(initial_parameters(spec, 4), p);
  EXPECT_NE(p[static_cast<std::size_t>(spec.actor[0].weight)], p[static_cast<std::size_t>(spec.critic[0].weight)]);
}

// Parameters lie apart, aligned, and cover what the layers name.
TEST(PolicySpec, ParametersDoNotOverlap) {
  const PolicySpec spec = box_policy();
  std::int64_t end = 0;
  std::set<std::string> names;
  for (const ParameterSpec& p : spec.parameters) {
    EXPECT_GE(p.offset, end) << p.name;
    EXPECT_EQ(p.offset % 8, 0) << p.name;
    end = p.offset + p.numel;
    EXPECT_TRUE(names.insert(p.name).second) << p.name;
  }
  EXPECT_LE(end, spec.num_parameters);
  EXPECT_EQ(names.size(), 2 * (spec.actor.size() + spec.critic.size()) + 1);
}

double learning_rate_at(LrSchedule schedule, std::int64_t iteration) {
  UpdateSpec u;
  u.learning_rate = 0.1;
  u.lr_schedule = schedule;
  u.num_iterations = 10;
  Control c;
  c.iteration = iteration;
  begin_iteration(u, c);
  return c.learning_rate;
}

TEST(Schedules, FollowTheirFormulas) {
  for (const std::int64_t i : {0, 3, 9, 10, 12}) {
    const double left = std::max(0.0, 1.0 - static_cast<double>(i) / 10);
    EXPECT_DOUBLE_EQ(learning_rate_at(LrSchedule::constant, i), 0.1);
    EXPECT_NEAR(learning_rate_at(LrSchedule::linear, i), 0.1 * left, 1e-15);
    EXPECT_NEAR(learning_rate_at(LrSchedule::cosine, i), 0.05 * (1 + std::cos(kPi * (1 - left))), 1e-15);
  }
  EXPECT_DOUBLE_EQ(learning_rate_at(LrSchedule::adaptive, 0), 0.1);
}

TEST(Schedules, AdaptiveFollowsTheKlWithinBounds) {
  UpdateSpec u;
  u.learning_rate = 1e-3;
  u.min_learning_rate = 5e-4;
  u.max_learning_rate = 2e-3;
  u.desired_kl = 0.01;
  u.lr_schedule = LrSchedule::adaptive;
  u.minibatches_per_epoch = 4;
  Control c;
  begin_iteration(u, c);
  LossTerms kl;
  const auto rate_after = [&](double value) {
    kl.approx_kl = value;
    EXPECT_TRUE(end_minibatch(u, c, kl, 1.0));
    return c.learning_rate;
  };
  EXPECT_DOUBLE_EQ(rate_after(0.01), 1e-3);
  EXPECT_DOUBLE_EQ(rate_after(0.021), 1e-3 / 1.5);
  EXPECT_DOUBLE_EQ(rate_after(0.021), 5e-4);
  EXPECT_DOUBLE_EQ(rate_after(0.004), 7.5e-4);
  for (int i = 0; i < 5; ++i) rate_after(0.004);
  EXPECT_DOUBLE_EQ(c.learning_rate, 2e-3);
  c.iteration = 1;  // the rate carries over to the next iteration
  begin_iteration(u, c);
  EXPECT_DOUBLE_EQ(c.learning_rate, 2e-3);
}

TEST(EarlyStop, EndsTheEpochsAfterTheOneWhoseLastMinibatchPassedTheTarget) {
  UpdateSpec u;
  u.target_kl = 0.02;
  u.minibatches_per_epoch = 2;
  Control c;
  begin_iteration(u, c);
  LossTerms low, high;
  low.approx_kl = 0.01;
  high.approx_kl = 0.03;
  EXPECT_TRUE(end_minibatch(u, c, high, 1.0));  // not the last of its epoch
  EXPECT_TRUE(end_minibatch(u, c, low, 1.0));
  EXPECT_TRUE(end_minibatch(u, c, low, 1.0));
  EXPECT_TRUE(end_minibatch(u, c, high, 1.0));
  EXPECT_FALSE(end_minibatch(u, c, low, 1.0));
  EXPECT_FALSE(end_minibatch(u, c, low, 1.0));
  EXPECT_EQ(c.updates, 4);
  EXPECT_EQ(c.adam_step, 4);
  EXPECT_DOUBLE_EQ(c.loss.approx_kl, 0.08);
  begin_iteration(u, c);
  EXPECT_TRUE(end_minibatch(u, c, low, 1.0));
}

TEST(EarlyStop, SkipsUpdatesWhoseGradientIsNotFinite) {
  UpdateSpec u;
  Control c;
  begin_iteration(u, c);
  EXPECT_FALSE(end_minibatch(u, c, {}, std::nan("")));
  EXPECT_FALSE(end_minibatch(u, c, {}, std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(end_minibatch(u, c, {}, 1.0));
  EXPECT_EQ(c.skipped_updates, 2);
  EXPECT_EQ(c.updates, 1);
  EXPECT_EQ(c.adam_step, 1);
}

void check_ring(Device device) {
  const Exec exec{device};
  MetricsRing ring(device);
  Control start;
  start.iteration = 5;
  start.updates = 4;
  start.loss.value_loss = 8.0;
  start.grad_norm_sum = 2.0;
  const Buffer<Control> control = upload(device, std::vector<Control>{start});
  EpisodeStats stats;
  stats.episodes = 3;
  stats.return_sum = 30;
  const Buffer<EpisodeStats> episodes = upload(device, std::vector<EpisodeStats>{stats});
  RewardTermSums sums;
  sums.term[kMaxRewardTerms - 1] = -7;
  const Buffer<RewardTermSums> terms = upload(device, std::vector<RewardTermSums>{sums});
  // targets 1 and 3, values 1 and 2: Var(target) = 1, Var(error) = 1/4
  const Buffer<VarianceTerms> variance = upload(device, std::vector<VarianceTerms>{{4.0, 10.0, 1.0, 1.0}});
  const Buffer<float> log_std = upload(device, std::vector<float>{0.0f, std::log(3.0f)});
  const MetricsRing::Source source{
      control.data(), episodes.data(), terms.data(), variance.data(), 2.0, log_std.data(), 2};
  EXPECT_FALSE(ring.poll(5));
  for (std::int64_t i = 5; i < 5 + 2 * MetricsRing::kDepth; ++i) {
    ring.publish(exec, source);
    synchronize(exec);
    EXPECT_FALSE(ring.poll(i + 1));
    const std::optional<IterationMetrics> m = ring.poll(i);
    ASSERT_TRUE(m);
    EXPECT_EQ(m->iteration, i + 1);
    EXPECT_DOUBLE_EQ(m->loss.value_loss, 2.0);
    EXPECT_DOUBLE_EQ(m->grad_norm, 0.5);
    EXPECT_DOUBLE_EQ(m->explained_variance, 0.75);
    EXPECT_NEAR(m->std, 2.0, 1e-6);
    EXPECT_EQ(m->episodes.episodes, 3);
    EXPECT_EQ(m->reward_terms.term[kMaxRewardTerms - 1], -7);
  }
  EXPECT_FALSE(ring.poll(5)) << "an overwritten slot";
  ring.clear();
  EXPECT_FALSE(ring.poll(4 + 2 * MetricsRing::kDepth));
}

TEST(MetricsRing, DeliversEveryIterationOnce) { check_ring({}); }

TEST(MetricsRing, GpuDeliversEveryIterationOnce) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  check_ring({Device::Kind::cuda, 0});
}

}  // namespace
}  // namespace hotloop
