// The fused road against the generic one: the same seed gives both the same worlds, actions and minibatches, so that
// one iteration must leave the same parameters, moments and worlds up to rounding.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/core/error.h"
#include "tests/generic/trainer_run.h"
#include "tests/train/device_data.h"
#include "train/fused/trainer.h"
#include "train/fused/work.h"

namespace hotloop {
namespace {

constexpr Device kCard{Device::Kind::cuda, 0};

TrainConfig with(TrainConfig config, void (*change)(TrainConfig&)) {
  change(config);
  return config;
}

TrainConfig config_for(const char* task, const char* activation, std::vector<std::int64_t> hidden) {
  TrainConfig c = small_config(task);
  c.activation = activation;
  c.hidden_sizes = std::move(hidden);
  return c;
}

// Environments, heads, activations, depths, and sizes that nothing divides.
std::vector<TrainConfig> fused_configs() {
  return {
      config_for("CartPole-v1", "tanh", {64, 64}),
      with(config_for("CartPole-v1", "relu", {40, 24}),
           [](TrainConfig& c) { c.num_envs = 27, c.num_steps = 25, c.num_minibatches = 5, c.num_shards = 1; }),
      with(config_for("CartPole-v1", "silu", {32}), [](TrainConfig& c) { c.shared_network = true; }),
      with(config_for("CartPole-v1", "tanh", {64, 64}),
           [](TrainConfig& c) { c.num_envs = 1024, c.num_steps = 16, c.max_episode_steps = 20; }),
      with(config_for("MountainCar-v0", "elu", {17, 33, 8}),
           [](TrainConfig& c) {
             c.critic_hidden_sizes = {64, 32};
           }),
      with(config_for("Acrobot-v1", "tanh", {64, 64}),
           [](TrainConfig& c) { c.clip_vloss = false, c.max_grad_norm = 1e-3; }),
      with(config_for("Pendulum-v1", "tanh", {64, 64}), [](TrainConfig& c) { c.max_episode_steps = 7; }),
      with(config_for("Pendulum-v1", "silu", {20, 20, 20, 20}),
           [](TrainConfig& c) { c.std_type = "state", c.norm_adv = false; }),
      with(config_for("MountainCarContinuous-v0", "elu", {64, 64}),
           [](TrainConfig& c) {
             c.action_distribution = "squashed_gaussian", c.shared_network = true, c.num_envs = 33, c.num_steps = 20;
           }),
      with(config_for("MountainCar-v0", "tanh", {64, 64}),
           [](TrainConfig& c) {
             c.normalize_observation = c.normalize_reward = true, c.clip_observation = 0.5, c.max_episode_steps = 11;
           }),
      with(config_for("Pendulum-v1", "tanh", {24}),
           [](TrainConfig& c) { c.normalize_observation = c.normalize_reward = true, c.num_envs = 700; }),
      // more worlds than a block's groups step together
      with(
          config_for("MountainCar-v0", "tanh", {64, 64}),
          [](TrainConfig& c) { c.num_envs = 16000, c.num_steps = 4, c.num_minibatches = 16, c.max_episode_steps = 9; }),
      with(config_for("Pendulum-v1", "relu", {24, 80}),
           [](TrainConfig& c) { c.num_envs = 5000, c.num_steps = 3, c.num_minibatches = 10, c.max_episode_steps = 2; }),
  };
}

TEST(Fused, SaysWhatItDoesNotTake) {
  const FusedLimits limits{132, 232448};
  const auto reason = [&](TrainConfig c) {
    const EnvEntry& env = find_environment(c.task);
    return why_not_fused(c, env, make_policy_spec(c, env.spec), limits);
  };
  for (const TrainConfig& c : fused_configs()) EXPECT_EQ(reason(c), "") << to_toml(c);
  const TrainConfig c = config_for("CartPole-v1", "tanh", {64, 64});
  EXPECT_NE(reason(with(c,
                        [](TrainConfig& x) {
                          x.hidden_sizes = {256, 256};
                        }))
                .find("hidden_sizes [256, 256]"),
            std::string::npos);
  EXPECT_NE(reason(config_for("SpringChain-v0", "tanh", {64, 64})), "");
  EXPECT_NE(reason(config_for("Ant-v5", "tanh", {64, 64})), "");
}

// The kernel's own count of its shared memory is asserted where it is compiled.
TEST(Fused, CompilesForOlderCards) {
#ifndef HOTLOOP_CUDA
  GTEST_SKIP() << "no CUDA in this build";
#endif
  const FusedLimits limits{108, 166912};  // compute capability 8.0
  TrainConfig c = config_for("Pendulum-v1", "elu", {24});
  c.precision = "fp16";
  const EnvEntry& env = find_environment(c.task);
  const PolicySpec policy = make_policy_spec(c, env.spec);
  ASSERT_EQ(why_not_fused(c, env, policy, limits), "");
  EXPECT_GT(SpecialKernel::compile(fused_source(c, env, policy, fused_shape(c, policy, limits), false), 80).size(),
            1000u);
}

// CartPole's networks have 4 x 64 + 64 x 64 + 64 x 2 and 4 x 64 + 64 x 64 + 64 multiply-adds.
TEST(Fused, CountsItsWork) {
  TrainConfig c = config_for("CartPole-v1", "tanh", {64, 64});
  c.num_envs = 4096, c.num_steps = 32, c.update_epochs = 4, c.num_minibatches = 4;
  const FusedLimits limits{132, 232448};
  const auto tiles = [&] {
    const PolicySpec policy = make_policy_spec(c, find_environment(c.task).spec);
    return fused_work(c, policy, fused_shape(c, policy, limits))[static_cast<std::size_t>(FusedPhase::tiles)].flops;
  };
  EXPECT_EQ(tiles(), 2.0 * 4 * 131072 * (2 * (4480 + 4416) + (4224 + 4160)));
  c.shared_network = true;  // one body, heads of 64 x 2 and 64 x 1
  EXPECT_EQ(tiles(), 2.0 * 4 * 131072 * (2 * (4352 + 192) + (4096 + 192)));
}

class GpuFused : public ::testing::Test {
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  }
};

Trace run(const TrainConfig& config, const char* road, int iterations) {
  TrainConfig c = config;
  c.road = road;
  const std::unique_ptr<Trainer> trainer = make_trainer(c, find_environment(c.task), kCard);
  EXPECT_EQ(road_name(trainer->road()), std::string(road));
  Trace trace;
  run_iterations(*trainer, iterations, trace.metrics);
  trace.state = state_of(*trainer);
  return trace;
}

const float* floats(const Trace& t, const std::string& name) {
  return reinterpret_cast<const float*>(t.state.at(name).data());
}

// |a - b| / |b| over n numbers.
double relative(const float* a, const float* b, std::int64_t n) {
  double off = 0, size = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = a[i], y = b[i];
    off += (x - y) * (x - y), size += y * y;
  }
  return size > 0 ? std::sqrt(off / size) : std::sqrt(off);
}

// Relative errors by tensor: of `name` [num_parameters], or, with no name, of what an iteration changed.
void expect_close(const TrainConfig& config, const Trace& fused, const Trace& generic, const std::string& name,
                  double tolerance) {
  const PolicySpec policy = make_policy_spec(config, find_environment(config.task).spec);
  const std::vector<float> start = initial_parameters(policy, static_cast<std::uint64_t>(config.seed));
  for (const ParameterSpec& p : policy.parameters) {
    const auto values = [&](const Trace& t) {
      std::vector<float> v(static_cast<std::size_t>(p.numel));
      for (std::int64_t i = 0; i < p.numel; ++i)
        v[static_cast<std::size_t>(i)] = name.empty()
                                             ? floats(t, p.name)[i] - start[static_cast<std::size_t>(p.offset + i)]
                                             : floats(t, name)[p.offset + i];
      return v;
    };
    const std::vector<float> a = values(fused), b = values(generic);
    EXPECT_LT(relative(a.data(), b.data(), p.numel), tolerance) << name << " of " << p.name;
  }
}

TEST_F(GpuFused, GradientsEqualTheGenericRoads) {
  for (TrainConfig c : fused_configs()) {
    c.num_minibatches = c.update_epochs = 1;
    SCOPED_TRACE(to_toml(c));
    const Trace fused = run(c, "fused", 1), generic = run(c, "generic", 1);
    // a continuous action carries the rounding of the network into the world
    const bool exact = !find_environment(c.task).spec.action.is_box();
    EXPECT_TRUE(!exact || fused.state.at("env.state") == generic.state.at("env.state"));
    // Adam's first moment after one step is the clipped gradient times 1 - beta1
    expect_close(c, fused, generic, "optimizer.exp_avg", 1e-5);
  }
}

TEST_F(GpuFused, IterationsEqualTheGenericRoads) {
  for (const TrainConfig& c : fused_configs()) {
    SCOPED_TRACE(to_toml(c));
    const Trace fused = run(c, "fused", 1), generic = run(c, "generic", 1);
    expect_close(c, fused, generic, "", 1e-4);
    for (const char* name : {"observation_normalizer.mean", "observation_normalizer.sum_squares",
                             "observation_normalizer.count", "reward_normalizer.state"}) {
      const auto at = fused.state.find(name);
      ASSERT_EQ(at != fused.state.end(), generic.state.contains(name)) << name;
      if (at == fused.state.end()) continue;
      const std::size_t n = at->second.size() / sizeof(double);
      std::vector<double> a(n), b(n);
      std::memcpy(a.data(), at->second.data(), n * sizeof(double));
      std::memcpy(b.data(), generic.state.at(name).data(), n * sizeof(double));
      for (std::size_t k = 0; k < n; ++k) EXPECT_NEAR(a[k], b[k], 1e-6 * std::max(1.0, std::abs(b[k]))) << name;
    }
    const std::vector<double> a = numbers(fused.metrics[0]), b = numbers(generic.metrics[0]);
    for (std::size_t k = 0; k < a.size(); ++k)
      EXPECT_TRUE(std::isnan(b[k]) || std::abs(a[k] - b[k]) <= 1e-4 * std::max(1.0, std::abs(b[k])))
          << "metric " << k << ": " << a[k] << " and " << b[k];
  }
}

// The leaves that logs read: bits where no network stands between, else up to its rounding.
TEST_F(GpuFused, ShowsTheGenericRoadsRollout) {
  for (TrainConfig c : fused_configs()) {
    SCOPED_TRACE(to_toml(c));
    std::map<std::string, std::vector<std::byte>> leaves[2];
    for (const int road : {0, 1}) {
      c.road = road == 0 ? "fused" : "generic";
      const std::unique_ptr<Trainer> trainer = make_trainer(c, find_environment(c.task), kCard);
      trainer->show_rollout();
      std::vector<IterationMetrics> metrics;
      run_iterations(*trainer, 1, metrics);
      trainer->update_rollout();
      const Arena& arena = *trainer->rollout();
      for (const Leaf& leaf : arena.leaves()) {
        std::vector<std::byte>& to = leaves[road][leaf.name];
        to.resize(leaf.bytes);
        copy_async(trainer->exec(), to.data(), {}, arena.bytes(leaf), kCard, to.size());
      }
      synchronize(trainer->exec());
    }
    const bool exact = !find_environment(c.task).spec.action.is_box();
    ASSERT_EQ(leaves[0].size(), leaves[1].size());
    for (const auto& [name, generic] : leaves[1]) {
      const std::vector<std::byte>& fused = leaves[0].at(name);
      ASSERT_EQ(fused.size(), generic.size()) << name;
      const bool of_network =
          name == "sample_log_prob" || name == "state_value" || name == "advantage" || name == "value_target";
      if (name == "action_mask") continue;
      if (name.starts_with("next/t") || (exact && !of_network)) {
        EXPECT_EQ(fused, generic) << name;
      } else {
        EXPECT_LT(relative(reinterpret_cast<const float*>(fused.data()), reinterpret_cast<const float*>(generic.data()),
                           static_cast<std::int64_t>(generic.size() / sizeof(float))),
                  1e-4)
            << name;
      }
    }
  }
}

TEST_F(GpuFused, TensorCoresComeClose) {
  for (const char* precision : {"fp16", "bf16"})
    for (TrainConfig c : fused_configs()) {
      c.num_minibatches = c.update_epochs = 1;
      SCOPED_TRACE(to_toml(c));
      const Trace exact = run(c, "fused", 1);
      c.precision = precision;
      const Trace rough = run(c, "fused", 1);
      // sampling with rounded logits takes another action now and then: the gradient's direction is what must hold
      const std::int64_t n = static_cast<std::int64_t>(exact.state.at("optimizer.exp_avg").size() / sizeof(float));
      const double error = relative(floats(rough, "optimizer.exp_avg"), floats(exact, "optimizer.exp_avg"), n);
      std::printf("%s %s %s: gradients differ by %.2e\n", precision, c.task.c_str(), c.activation.c_str(), error);
      EXPECT_LT(error, c.precision == "fp16" ? 3e-3 : 3e-2);  // seen: up to 3e-4 and 3e-3
    }
}

TEST_F(GpuFused, SameSeedSameBits) {
  for (const char* precision : {"fp32", "fp16"})
    for (TrainConfig c : fused_configs()) {
      c.precision = precision;
      SCOPED_TRACE(to_toml(c));
      expect_same_bits(run(c, "fused", 8), run(c, "fused", 8));
    }
}

TEST_F(GpuFused, LearnsCartPole) {
  for (const char* precision : {"fp32", "fp16", "bf16"}) {
    TrainConfig c = config_for("CartPole-v1", "tanh", {64, 64});
    c.num_envs = 256, c.num_steps = 32, c.update_epochs = 4, c.learning_rate = 1e-3;
    c.total_timesteps = c.num_envs * c.num_steps * 100;
    c.random_episode_start = false;
    c.precision = precision;
    const Trace t = run(c, "fused", 100);
    const double mean = mean_return(t, 90);
    std::printf("%s: %.1f\n", precision, mean);
    EXPECT_GT(mean, 200.0) << precision;
  }
}

}  // namespace
}  // namespace hotloop
