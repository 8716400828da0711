// A rollout in one kernel is, bit by bit, what the same network's passes, the same draws and the worlds' own steps
// make.
#include <gtest/gtest.h>

#include "sim/core/registry.h"
#include "tests/generic/network_cases.h"
#include "train/fused/chain_network.h"
#include "train/policy_net.h"
#include "train/rollout_ops.h"

namespace hotloop {
namespace {

constexpr Device kCard{Device::Kind::cuda, 0};
constexpr std::int64_t kWorlds = 200, kSteps = 40, kRows = kWorlds * kSteps;

// Everything that a rollout leaves, on the card.
struct Leaves {
  Buffer<float> observation, sample, log_prob, value, reward, final_observation, action;
  Buffer<std::int64_t> choice;
  Buffer<std::uint8_t> terminated, truncated;

  Leaves(std::int64_t obs_dim, std::int64_t dim) {
    const auto floats = [](std::int64_t n) { return Buffer<float>(kCard, static_cast<std::size_t>(n)); };
    observation = floats((kRows + kWorlds) * obs_dim), final_observation = floats(kRows * obs_dim);
    sample = floats(kRows * dim), action = floats(kRows * dim);
    log_prob = floats(kRows), value = floats(kRows), reward = floats(kRows);
    choice = Buffer<std::int64_t>(kCard, static_cast<std::size_t>(kRows * dim));
    terminated = Buffer<std::uint8_t>(kCard, kRows), truncated = Buffer<std::uint8_t>(kCard, kRows);
  }
  RolloutWork work(const EnvEntry& env, const Batch& batch, const PolicySpec& policy, const HeadView& head,
                   const float* log_std) {
    RolloutWork w;
    w.num_steps = kSteps, w.num_envs = kWorlds, w.obs_dim = policy.obs_dim;
    w.built_in = env.built_in, w.book = batch.book_view(), w.words = batch.state_words();
    w.head = head;
    w.key.seed = 3, w.key.num_steps = kSteps;
    w.observation = observation.data(), w.value = value.data();
    w.sample.log_std = log_std, w.sample.log_prob = log_prob.data();
    if (policy.action.is_box())
      w.sample.action = action.data(), w.sample.sample = sample.data();
    else
      w.sample.action = choice.data();
    w.step.observation = observation.data() + kWorlds * policy.obs_dim;
    w.step.reward = reward.data(), w.step.final_observation = final_observation.data();
    w.step.terminated = terminated.data(), w.step.truncated = truncated.data();
    return w;
  }
};

template <class T>
std::vector<T> host(const Exec& exec, const Buffer<T>& from) {
  std::vector<T> to(from.size());
  copy_async(exec, to.data(), {}, from.data(), kCard, from.bytes());
  synchronize(exec);
  return to;
}

void expect_same(const Exec& exec, const Leaves& a, const Leaves& b) {
  EXPECT_EQ(host(exec, a.observation), host(exec, b.observation));
  EXPECT_EQ(host(exec, a.choice), host(exec, b.choice));
  EXPECT_EQ(host(exec, a.action), host(exec, b.action));
  EXPECT_EQ(host(exec, a.sample), host(exec, b.sample));
  EXPECT_EQ(host(exec, a.log_prob), host(exec, b.log_prob));
  EXPECT_EQ(host(exec, a.value), host(exec, b.value));
  EXPECT_EQ(host(exec, a.reward), host(exec, b.reward));
  EXPECT_EQ(host(exec, a.final_observation), host(exec, b.final_observation));
  EXPECT_EQ(host(exec, a.terminated), host(exec, b.terminated));
  EXPECT_EQ(host(exec, a.truncated), host(exec, b.truncated));
}

class GpuChainRollout : public ::testing::TestWithParam<const char*> {
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
    if (cuda_device_info(0).major != 9) GTEST_SKIP() << "no device of compute capability 9.0";
  }
};

TEST_P(GpuChainRollout, IsPassesDrawsAndSteps) {
  const EnvEntry& env = find_environment(GetParam());
  for (const bool shared : {false, true})
    for (const std::int64_t width : {100, 256}) {
      SCOPED_TRACE((shared ? "shared, " : "separate, ") + std::to_string(width));
      TrainConfig config;
      config.task = env.spec.name, config.hidden_sizes = {width, width}, config.shared_network = shared;
      const PolicySpec policy = make_policy_spec(config, env.spec);
      const std::vector<float> start = initial_parameters(policy, 5);
      const StreamHandle stream(kCard);
      const Exec exec{kCard, stream.get(), nullptr};
      Buffer<float> parameters(kCard, start.size());
      copy_async(exec, parameters.data(), kCard, start.data(), {}, parameters.bytes());
      NetworkConfig of_network;
      of_network.policy = policy, of_network.device = kCard;
      of_network.max_rows = kWorlds, of_network.minibatch_rows = kRows;
      const auto network = make_chain_network(of_network, Number16::bf16, parameters.data());
      network->parameters_changed(exec);
      const HeadArrays head(policy, kCard);
      const float* log_std = policy.log_std >= 0 ? parameters.data() + policy.log_std : nullptr;
      BatchConfig worlds;
      worlds.num_envs = kWorlds, worlds.device = kCard, worlds.random_episode_start = true;
      const std::unique_ptr<Batch> one = env.make(worlds), other = env.make(worlds);
      const std::int64_t dim = policy.action.dim();
      Leaves within(policy.obs_dim, dim), by_step(policy.obs_dim, dim);
      one->reset(exec, within.observation.data(), nullptr);
      other->reset(exec, by_step.observation.data(), nullptr);

      const RolloutWork work = within.work(env, *one, policy, head.view(), log_std);
      ASSERT_TRUE(network->has_rollout(work));
      network->rollout(exec, work);

      const RolloutWork steps = by_step.work(env, *other, policy, head.view(), log_std);
      Buffer<float> out(kCard, static_cast<std::size_t>(kWorlds * policy.head_dim()));
      for (std::int64_t t = 0; t < kSteps; ++t) {
        network->act(exec, kWorlds, steps.observation + t * kWorlds * policy.obs_dim, out.data(),
                     steps.value + t * kWorlds);
        SampleIo sample = sample_at(steps, t);
        sample.head = out.data();
        DrawKey key = steps.key;
        key.t = t;
        sample_actions(exec, kWorlds, steps.head, key, false, sample);
        other->step(exec, step_at(steps, t));
      }
      expect_same(exec, within, by_step);
      std::vector<std::byte> a(one->raw_state_bytes()), b(a.size());
      copy_async(exec, a.data(), {}, one->raw_state(), kCard, a.size());
      copy_async(exec, b.data(), {}, other->raw_state(), kCard, b.size());
      synchronize(exec);
      EXPECT_EQ(a, b);
      const std::vector<std::uint8_t> ended = host(exec, within.truncated);
      EXPECT_GT(std::count(ended.begin(), ended.end(), 1), 0);  // episodes began anew
    }
}

INSTANTIATE_TEST_SUITE_P(Tasks, GpuChainRollout,
                         ::testing::Values("CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1",
                                           "Acrobot-v1"),
                         [](const auto& info) {
                           std::string name = info.param;
                           return name.substr(0, name.find('-'));
                         });

}  // namespace
}  // namespace hotloop
