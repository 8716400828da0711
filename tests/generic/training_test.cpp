// Whole trainings: they learn, stay finite under every option, and the same configuration gives the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "tests/generic/trainer_run.h"
#include "tests/temp_folder.h"
#include "tests/train/device_data.h"

namespace hotloop {
namespace {

constexpr Device kCpu;
constexpr Device kCard{Device::Kind::cuda, 0};

void expect_finite(const TrainConfig& config, Device device, int iterations) {
  SCOPED_TRACE(config.task);
  PpoTrainer trainer(config, find_environment(config.task), device);
  std::vector<IterationMetrics> metrics;
  run_iterations(trainer, iterations, metrics);
  for (const IterationMetrics& m : metrics) {
    EXPECT_EQ(m.skipped_updates, 0);
    EXPECT_GT(m.updates, 0);
    for (const double x : {m.grad_norm, m.learning_rate, m.loss.policy_loss, m.loss.value_loss, m.loss.entropy,
                           m.loss.old_approx_kl, m.loss.approx_kl, m.loss.clipfrac})
      EXPECT_TRUE(std::isfinite(x)) << "iteration " << m.iteration;
    EXPECT_GT(m.grad_norm, 0.0);
  }
  // before the policy changed, the first minibatch's ratio is one: a wrong log-probability would show here
  EXPECT_LT(std::abs(metrics.front().loss.old_approx_kl), 0.1);
  for (const float x :
       download(device, trainer.parameters(), static_cast<std::size_t>(trainer.policy().num_parameters)))
    ASSERT_TRUE(std::isfinite(x));
}

// On the CPU both roads train what they can.
std::vector<TrainConfig> on_both_roads(const std::vector<TrainConfig>& configs) {
  std::vector<TrainConfig> all = configs;
  for (TrainConfig c : configs) {
    c.road = "generic";
    all.push_back(c);
  }
  return all;
}

TEST(Training, EveryEnvironmentStaysFinite) {
  for (const EnvEntry& env : environments())
    for (const TrainConfig& c : on_both_roads({small_config(env.spec.name)})) expect_finite(c, kCpu, 3);
}

TrainConfig with(TrainConfig config, void (*change)(TrainConfig&)) {
  change(config);
  return config;
}

std::vector<TrainConfig> option_configs() {
  const TrainConfig box = small_config("Pendulum-v1"), choice = small_config("CartPole-v1"),
                    masked = small_config("SpringChain-v0");
  return {
      with(box, [](TrainConfig& c) { c.shared_network = true, c.normalize_observation = c.normalize_reward = true; }),
      with(box, [](TrainConfig& c) { c.std_type = "state", c.activation = "silu", c.lr_schedule = "cosine"; }),
      with(box, [](TrainConfig& c) { c.action_distribution = "squashed_gaussian", c.activation = "elu"; }),
      with(box,
           [](TrainConfig& c) {
             c.action_distribution = "squashed_gaussian", c.std_type = "state", c.shared_network = true;
             c.normalize_observation = true, c.clip_vloss = c.norm_adv = false;
           }),
      with(choice, [](TrainConfig& c) { c.target_kl = 1e-4, c.update_epochs = 4, c.lr_schedule = "constant"; }),
      with(choice, [](TrainConfig& c) { c.lr_schedule = "adaptive", c.activation = "relu", c.precision = "bf16"; }),
      with(choice, [](TrainConfig& c) { c.max_episode_steps = 5, c.num_shards = 1, c.num_minibatches = 1; }),
      with(choice, [](TrainConfig& c) { c.num_envs = 1, c.num_steps = 64, c.num_shards = 4, c.precision = "tf32"; }),
      with(masked, [](TrainConfig& c) { c.shared_network = c.normalize_observation = c.normalize_reward = true; }),
      with(masked, [](TrainConfig& c) { c.max_episode_steps = 3, c.critic_hidden_sizes = {8}, c.num_shards = 8; }),
  };
}

TEST(Training, EveryOptionStaysFiniteAndReproducible) {
  for (const TrainConfig& config : on_both_roads(option_configs())) {
    SCOPED_TRACE(to_toml(config));
    expect_finite(config, kCpu, 4);
    expect_same_bits(train(config, kCpu, 4), train(config, kCpu, 4));
  }
}

TEST(Training, TargetKlStopsTheEpochs) {
  TrainConfig c = small_config("CartPole-v1");
  c.learning_rate = 0.05;
  c.update_epochs = 10;
  c.target_kl = 1e-3;
  const Trace trace = train(c, kCpu, 3);
  for (const IterationMetrics& m : trace.metrics) {
    EXPECT_LT(m.updates, c.update_epochs * c.num_minibatches);
    EXPECT_EQ(m.updates % c.num_minibatches, 0);
  }
}

TEST(Training, SameSeedSameBits) {
  for (const char* task : {"CartPole-v1", "Pendulum-v1"}) {
    for (const TrainConfig& c : on_both_roads({small_config(task)}))
      expect_same_bits(train(c, kCpu, 50), train(c, kCpu, 50));
  }
}

TEST(Training, OtherSeedsDiffer) {
  TrainConfig c = small_config("CartPole-v1");
  const Trace first = train(c, kCpu, 1);
  c.seed = 2;
  const Trace second = train(c, kCpu, 1);
  EXPECT_NE(first.state.at("actor.0.weight"), second.state.at("actor.0.weight"));
  EXPECT_NE(first.state.at("env.observation"), second.state.at("env.observation"));
}

TEST(Training, ThreadsDoNotReachTheBits) {
  std::vector<TrainConfig> configs;
  for (const char* task : {"CartPole-v1", "Pendulum-v1", "SpringChain-v0"}) configs.push_back(small_config(task));
  for (TrainConfig c : on_both_roads(configs)) {
    c.num_envs = 400;  // enough worlds for the threads to share
    c.num_shards = 4;
    c.normalize_observation = c.normalize_reward = true;
    c.num_threads = 1;
    const Trace one = train(c, kCpu, 3);
    for (const std::int64_t threads : {2, 3}) {
      SCOPED_TRACE(c.task + ", road " + c.road + ", threads " + std::to_string(threads));
      c.num_threads = threads;
      expect_same_bits(one, train(c, kCpu, 3));
    }
  }
}

// A checkpoint written and read as a file after `before` iterations, in a trainer that has run ahead meanwhile.
Trace resumed(const TrainConfig& config, Device device, int before, int after, int astray) {
  const TempFolder folder;
  const std::filesystem::path file = folder / "checkpoint.safetensors";
  Trace trace;
  {
    PpoTrainer trainer(config, find_environment(config.task), device);
    run_iterations(trainer, before, trace.metrics);
    write_safetensors(file, trainer.save().tensors);
  }
  PpoTrainer trainer(config, find_environment(config.task), device);
  std::vector<IterationMetrics> ignored;
  run_iterations(trainer, astray, ignored);
  trainer.load(Safetensors::read(file));
  EXPECT_EQ(trainer.enqueued(), before);
  run_iterations(trainer, after, trace.metrics);
  trace.state = state_of(trainer);
  return trace;
}

TEST(Training, ResumesToTheSameBits) {
  for (TrainConfig c : on_both_roads(option_configs())) {
    SCOPED_TRACE(to_toml(c));
    expect_same_bits(train(c, kCpu, 7), resumed(c, kCpu, 3, 4, 0));
  }
  const TrainConfig c = small_config("MountainCarContinuous-v0");
  expect_same_bits(train(c, kCpu, 7), resumed(c, kCpu, 1, 6, 2));
}

TEST(Training, RandomisedWorldsResumeToTheSameBits) {
  TrainConfig c = small_config("InvertedPendulum-v5");
  const Trace same_worlds = train(c, kCpu, 5);
  c.env = {{"randomize.body_mass", "[0.5, 2.0]"}, {"randomize.dof_damping", "[0.5, 2.0]"}};
  const Trace randomised = train(c, kCpu, 5);
  expect_same_bits(randomised, resumed(c, kCpu, 2, 3, 1));
  EXPECT_NE(randomised.state.at("env.state"), same_worlds.state.at("env.state"));
}

TEST(Training, LoadRefusesAnotherShape) {
  TrainConfig c = small_config("CartPole-v1");
  const TempFolder folder;
  const std::filesystem::path file = folder / "checkpoint.safetensors";
  PpoTrainer trainer(c, find_environment(c.task), kCpu);
  write_safetensors(file, trainer.save().tensors);
  c.hidden_sizes = {16, 8};
  PpoTrainer other(c, find_environment(c.task), kCpu);
  const auto before = state_of(other);
  EXPECT_THROW(other.load(Safetensors::read(file)), Error);
  EXPECT_EQ(state_of(other), before);
}

double learned_return(Device device, const char* road) {
  TrainConfig c;
  c.road = road;
  c.task = "CartPole-v1";
  c.num_envs = 8;
  c.num_steps = 128;
  c.learning_rate = 2e-3;
  c.update_epochs = 8;
  c.total_timesteps = 40000;
  c.num_threads = 2;
  PpoTrainer trainer(c, find_environment(c.task), device);
  std::vector<IterationMetrics> metrics;
  run_iterations(trainer, static_cast<int>(num_iterations(c)), metrics);
  double return_sum = 0, episodes = 0;
  for (std::size_t i = metrics.size() - 5; i < metrics.size(); ++i) {
    return_sum += metrics[i].episodes.return_sum;
    episodes += static_cast<double>(metrics[i].episodes.episodes);
  }
  return return_sum / episodes;
}

TEST(Training, LearnsCartPole) {
  for (const char* road : {"fused", "generic"}) EXPECT_GT(learned_return(kCpu, road), 150.0) << road;
}

class GpuTraining : public ::testing::Test {
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_F(GpuTraining, LearnsCartPole) { EXPECT_GT(learned_return(kCard, "auto"), 150.0); }

TEST_F(GpuTraining, EveryEnvironmentStaysFinite) {
  for (const EnvEntry& env : environments()) expect_finite(small_config(env.spec.name), kCard, 6);
}

TEST_F(GpuTraining, EveryOptionEagerOrCapturedSameBits) {
  for (TrainConfig c : option_configs()) {
    SCOPED_TRACE(to_toml(c));
    expect_finite(c, kCard, 6);
    c.capture = "on";
    const Trace captured = train(c, kCard, 8);
    expect_same_bits(captured, train(c, kCard, 8));
    c.capture = "off";
    expect_same_bits(captured, train(c, kCard, 8));
  }
}

TEST_F(GpuTraining, SameSeedSameBits) {
  for (const char* task : {"CartPole-v1", "Pendulum-v1"}) {
    TrainConfig c = small_config(task);
    c.num_envs = 1024;
    const Trace captured = train(c, kCard, 50);
    expect_same_bits(captured, train(c, kCard, 50));
    c.capture = "off";
    expect_same_bits(captured, train(c, kCard, 50));
  }
}

TEST_F(GpuTraining, RandomisedWorldsResumeToTheSameBits) {
  TrainConfig c = small_config("InvertedPendulum-v5");
  c.env = {{"randomize.body_mass", "[0.5, 2.0]"}, {"randomize.dof_damping", "[0.5, 2.0]"}};
  expect_same_bits(train(c, kCard, 5), resumed(c, kCard, 2, 3, 1));
}

TEST_F(GpuTraining, ResumesToTheSameBits) {
  for (TrainConfig c : option_configs()) {
    SCOPED_TRACE(to_toml(c));
    expect_same_bits(train(c, kCard, 9), resumed(c, kCard, 4, 5, 0));
    expect_same_bits(train(c, kCard, 9), resumed(c, kCard, 4, 5, 3));
  }
}

}  // namespace
}  // namespace hotloop
