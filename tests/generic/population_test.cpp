// Members of a population on a GPU: each is trained as it would be alone, to the bit.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/core/error.h"
#include "tests/generic/trainer_run.h"
#include "tests/temp_folder.h"
#include "train/fused/trainer.h"
#include "train/population.h"

namespace hotloop {
namespace {

constexpr Device kCard{Device::Kind::cuda, 0};

class GpuPopulation : public ::testing::Test {
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  }
};

// Small members, of one block each, and some that take several.
std::vector<TrainConfig> member_configs() {
  std::vector<TrainConfig> configs;
  for (const char* task : {"CartPole-v1", "Pendulum-v1", "MountainCar-v0"}) {
    TrainConfig c = small_config(task);
    c.road = "fused";
    c.max_episode_steps = 20;
    c.num_shards = 1;
    configs.push_back(c);
  }
  configs[0].num_envs = 4, configs[0].num_steps = 128, configs[0].hidden_sizes = {64, 64}, configs[0].target_kl = 0.01;
  configs[1].normalize_observation = configs[1].normalize_reward = true, configs[1].activation = "silu";
  configs[2].shared_network = true, configs[2].num_envs = 13, configs[2].num_steps = 20, configs[2].activation = "relu";
  configs.push_back(configs[1]);
  configs[3].num_envs = 90, configs[3].num_steps = 40, configs[3].hidden_sizes = {17, 33};  // several blocks
  configs[3].critic_hidden_sizes = {24};
  configs.push_back(configs[0]);
  configs[4].critic_hidden_sizes = {32, 16, 8};  // one block, networks of two kinds
  return configs;
}

std::vector<Trace> run_all(Trainer& trainer, int iterations) {
  std::vector<Trace> traces(static_cast<std::size_t>(trainer.members()));
  const auto take = [&](const std::vector<IterationMetrics>& metrics) {
    for (std::size_t k = 0; k < traces.size(); ++k) traces[k].metrics.push_back(metrics[k]);
  };
  for (std::int64_t left = iterations; left > 0;) {
    const std::int64_t now = std::min(left, trainer.most_at_once());
    while (trainer.in_flight() + now > trainer.depth()) take(trainer.wait_members());
    trainer.enqueue(now);
    left -= now;
  }
  while (trainer.in_flight() > 0) take(trainer.wait_members());
  for (std::size_t k = 0; k < traces.size(); ++k) traces[k].state = state_of(trainer, static_cast<std::int64_t>(k));
  return traces;
}

Trace run_alone(const TrainConfig& config, int iterations) {
  const std::unique_ptr<Trainer> trainer = make_trainer(config, find_environment(config.task), kCard);
  return run_all(*trainer, iterations)[0];
}

std::unique_ptr<Trainer> population(const std::vector<TrainConfig>& members) {
  return make_population_trainer(members, find_environment(members[0].task), kCard);
}

TEST_F(GpuPopulation, MembersEqualSingleRuns) {
  for (const char* precision : {"fp32", "fp16", "bf16"})
    for (TrainConfig c : member_configs()) {
      c.precision = precision;
      SCOPED_TRACE(to_toml(c));
      const std::vector<TrainConfig> members = with_seeds(c, 5);
      const std::vector<Trace> traces = run_all(*population(members), 20);
      for (const std::size_t k : {std::size_t{0}, std::size_t{3}, std::size_t{4}})
        expect_same_bits(traces[k], run_alone(members[k], 20));
      EXPECT_NE(traces[0].state.at("optimizer.exp_avg"), traces[1].state.at("optimizer.exp_avg"));
    }
}

// More members than the card has multiprocessors.
TEST_F(GpuPopulation, ManyMembersEqualSingleRuns) {
  TrainConfig c = member_configs()[0];
  c.precision = "fp16";
  const std::vector<TrainConfig> members = with_seeds(c, 1000);
  const std::vector<Trace> traces = run_all(*population(members), 6);
  for (const std::size_t k : {std::size_t{0}, std::size_t{131}, std::size_t{132}, std::size_t{640}, std::size_t{999}})
    expect_same_bits(traces[k], run_alone(members[k], 6));
}

TEST_F(GpuPopulation, LaunchesOfSeveralIterationsEqualThoseOfOne) {
  for (TrainConfig c : member_configs()) {
    SCOPED_TRACE(to_toml(c));
    const Trace several = run_alone(c, 40);
    c.capture = "off";
    expect_same_bits(several, run_alone(c, 40));
  }
}

TEST_F(GpuPopulation, MembersHaveTheirOwnHyperparameters) {
  const Sweep sweep = parse_sweep(
      "method = \"zip\"\n[parameters]\nlearning_rate = [1e-3, 2e-4]\nent_coef = [0.0, 0.02]\nclip_coef = [0.1, 0.3]\n"
      "gamma = [0.9, 0.999]\ngae_lambda = [0.8, 0.99]\nvf_coef = [1.0, 0.25]\nmax_grad_norm = [0.1, 5.0]\n"
      "norm_adv = [true, false]\nclip_vloss = [false, true]\nlr_schedule = [\"cosine\", \"adaptive\"]\n"
      "adam_beta1 = [0.8, 0.95]\nadam_beta2 = [0.99, 0.9999]\nadam_eps = [1e-8, 1e-3]\ntarget_kl = [0.0, 0.02]\n",
      "sweep", 1);
  for (const TrainConfig& c : member_configs()) {
    SCOPED_TRACE(to_toml(c));
    const std::vector<TrainConfig> members = population_members(c, sweep, 2);
    ASSERT_EQ(members.size(), 4u);
    const std::vector<Trace> traces = run_all(*population(members), 12);
    for (const std::size_t k : {std::size_t{0}, std::size_t{3}}) expect_same_bits(traces[k], run_alone(members[k], 12));
  }
}

TEST_F(GpuPopulation, GoesOnWhereItWasSaved) {
  for (const TrainConfig& c : member_configs()) {
    SCOPED_TRACE(to_toml(c));
    const std::vector<TrainConfig> members = with_seeds(c, 3);
    const std::vector<Trace> whole = run_all(*population(members), 14);
    const std::unique_ptr<Trainer> first = population(members), second = population(members);
    run_all(*first, 9);
    TempFolder folder;
    for (std::int64_t k = 0; k < 3; ++k) {
      const std::filesystem::path file = folder.path() / std::to_string(k);
      write_safetensors(file, first->save(k).tensors, {});
      second->load(Safetensors::read(file), k);
    }
    const std::vector<Trace> rest = run_all(*second, 5);
    for (std::size_t k = 0; k < 3; ++k) {
      Trace tail = whole[k];
      tail.metrics.erase(tail.metrics.begin(), tail.metrics.begin() + 9);
      expect_same_bits(rest[k], tail);
    }
  }
}

}  // namespace
}  // namespace hotloop
