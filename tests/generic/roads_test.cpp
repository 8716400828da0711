// The fused road beside the generic one, in whole trainings: the same change of every parameter, and checkpoints that
// go on on the other road.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/generic/trainer_run.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> x(bytes.size() / sizeof(float));
  std::memcpy(x.data(), bytes.data(), bytes.size());
  return x;
}

// What one iteration changes of every parameter, by name.
std::map<std::string, std::vector<double>> changes(TrainConfig config, const char* road) {
  config.road = road;
  PpoTrainer trainer(config, find_environment(config.task), {});
  const auto before = state_of(trainer);
  std::vector<IterationMetrics> ignored;
  run_iterations(trainer, 1, ignored);
  const auto after = state_of(trainer);
  std::map<std::string, std::vector<double>> result;
  for (const ParameterSpec& p : trainer.policy().parameters) {
    const std::vector<float> x = floats(before.at(p.name)), y = floats(after.at(p.name));
    for (std::size_t i = 0; i < x.size(); ++i)
      result[p.name].push_back(static_cast<double>(y[i]) - static_cast<double>(x[i]));
  }
  return result;
}

void expect_same_changes(const TrainConfig& config) {
  SCOPED_TRACE(to_toml(config));
  const auto fused = changes(config, "fused"), generic = changes(config, "generic");
  for (const auto& [name, expected] : generic) {
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      error += std::pow(fused.at(name)[i] - expected[i], 2);
      norm += std::pow(expected[i], 2);
    }
    EXPECT_GT(norm, 0.0) << name;
    EXPECT_LT(std::sqrt(error / norm), 1e-4) << name;
  }
}

// A step of many worlds from the same states: both roads draw the same actions.
TEST(Roads, ChangeTheParametersAlike) {
  int number = 0;
  for (const EnvEntry& env : environments()) {
    TrainConfig c = small_config(env.spec.name);
    c.num_steps = 1;
    c.num_envs = 312;
    c.num_shards = 3;
    c.num_minibatches = 2;
    c.update_epochs = 2;
    c.hidden_sizes = std::vector<std::vector<std::int64_t>>{{33, 7}, {19}, {64, 64, 21}}[number % 3];
    c.activation = std::vector<std::string>{"tanh", "relu", "elu", "silu"}[number % 4];
    c.shared_network = number % 2 == 1;
    c.normalize_observation = number % 5 == 2;
    c.norm_adv = number % 3 != 1;
    c.clip_vloss = number % 4 != 2;
    c.std_type = number % 3 == 2 ? "state" : "global";
    if (!c.shared_network && number % 4 == 2) c.critic_hidden_sizes = {11, 5};
    if (env.spec.action.is_box() && number % 2 == 0) c.action_distribution = "squashed_gaussian";
    expect_same_changes(c);
    ++number;
  }
}

TEST(Roads, ARunGoesOnOnTheOtherRoad) {
  const TempFolder folder;
  for (const char* road : {"fused", "generic"}) {
    TrainConfig c = small_config("Pendulum-v1");
    c.normalize_observation = c.normalize_reward = true;
    c.road = road;
    std::vector<IterationMetrics> before, after;
    PpoTrainer first(c, find_environment(c.task), {});
    run_iterations(first, 3, before);
    const std::filesystem::path file = folder / "run.safetensors";
    write_safetensors(file, first.save().tensors);
    c.road = c.road == "fused" ? "generic" : "fused";
    PpoTrainer second(c, find_environment(c.task), {});
    second.load(Safetensors::read(file));
    EXPECT_EQ(state_of(second), state_of(first));
    run_iterations(first, 1, before);
    run_iterations(second, 1, after);
    const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-3 * std::abs(b); };
    EXPECT_PRED2(near, after.back().grad_norm, before.back().grad_norm);
    EXPECT_PRED2(near, after.back().loss.value_loss, before.back().loss.value_loss);
  }
}

}  // namespace
}  // namespace hotloop
