// The contract every registered environment must keep, on every device that is there.
#include "sim/core/batch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "sim/core/registry.h"
#include "sim/core/thread_pool.h"

namespace hotloop {
namespace {

// One batch with host copies of everything a step writes.
class Runner {
 public:
  Runner(const EnvEntry& entry, BatchConfig config, int threads)
      : config_(config),
        pool_(threads),
        stream_(config.device),
        exec_{config.device, stream_.get(), &pool_},
        batch_(entry.make(config)),
        buffers_(entry.spec, config.num_envs, config.device) {
    actions_ = std::make_unique<RandomActions>(batch_->spec().action, config.num_envs, config.device, config.seed);
    stats_ = Buffer<EpisodeStats>(config.device, 1);
    batch_->reset(exec_, buffers_.observation.data(), buffers_.action_mask.data());
  }
  void step() {
    actions_->fill(exec_, step_++, buffers_.action.data());
    batch_->step(exec_, buffers_.io());
  }
  template <class T>
  std::vector<T> host(const Buffer<T>& b) {
    std::vector<T> out(b.size());
    copy_async(exec_, out.data(), {}, b.data(), config_.device, b.bytes());
    synchronize(exec_);
    return out;
  }
  std::vector<float> observation() { return host(buffers_.observation); }
  std::vector<float> final_observation() { return host(buffers_.final_observation); }
  std::vector<float> reward() { return host(buffers_.reward); }
  std::vector<std::uint8_t> terminated() { return host(buffers_.terminated); }
  std::vector<std::uint8_t> truncated() { return host(buffers_.truncated); }
  std::vector<std::uint8_t> mask() { return host(buffers_.action_mask); }
  EpisodeStats collect() {
    batch_->collect(exec_, stats_.data());
    return host(stats_)[0];
  }
  std::vector<std::byte> state() {
    std::vector<std::byte> out(batch_->raw_state_bytes());
    copy_async(exec_, out.data(), {}, batch_->raw_state(), config_.device, out.size());
    synchronize(exec_);
    return out;
  }
  Batch& batch() { return *batch_; }

 private:
  BatchConfig config_;
  ThreadPool pool_;
  StreamHandle stream_;
  Exec exec_;
  std::unique_ptr<Batch> batch_;
  StepBuffers buffers_;
  std::unique_ptr<RandomActions> actions_;
  Buffer<EpisodeStats> stats_;
  std::uint64_t step_ = 0;
};

BatchConfig config_for(Device device, std::uint64_t seed = 7, std::int64_t num_envs = 300) {
  BatchConfig c;
  c.num_envs = num_envs;
  c.seed = seed;
  c.device = device;
  return c;
}

// Worlds for a test of this environment: steps of tasks on models cost a thousand times more.
std::int64_t worlds_for(const EnvEntry& entry) { return entry.model.empty() ? 300 : 24; }

void check_contract(Device device) {
  for (const EnvEntry& entry : environments()) {
    SCOPED_TRACE(entry.spec.name + " on " + device.str());
    const std::int64_t worlds = worlds_for(entry);
    BatchConfig config = config_for(device, 7, worlds);
    config.max_episode_steps = 60;
    Runner a(entry, config, 1), b(entry, config, 3), other(entry, config_for(device, 8, worlds), 1);
    EXPECT_NE(a.observation(), other.observation()) << "a different seed must give different resets";
    const std::vector<float> before = a.observation();
    for (std::size_t w = 1; w < 8; ++w)
      EXPECT_NE(0, std::memcmp(&before[0], &before[w * entry.spec.obs_dim()], entry.spec.obs_dim() * 4u))
          << "world " << w;
    double episodes = 0, length_sum = 0;
    std::int64_t ended = 0;
    for (int t = 0; t < 150; ++t) {
      a.step(), b.step();
      const std::vector<float> observation = a.observation(), final = a.final_observation();
      ASSERT_EQ(observation, b.observation()) << "the number of threads reached the bits at step " << t;
      const auto terminated = a.terminated(), truncated = a.truncated();
      for (std::size_t w = 0; w < terminated.size(); ++w) {
        if (!terminated[w] && !truncated[w]) continue;
        ++ended;
        EXPECT_NE(0, std::memcmp(&observation[w * entry.spec.obs_dim()], &final[w * entry.spec.obs_dim()],
                                 entry.spec.obs_dim() * 4u))
            << "the terminal observation is the new episode's";
      }
      for (const float x : observation) ASSERT_TRUE(std::isfinite(x));
      if (t == 70 || t == 149) {
        const EpisodeStats stats = a.collect();
        episodes += static_cast<double>(stats.episodes), length_sum += stats.length_sum;
        EXPECT_EQ(stats.nonfinite, 0);
      }
    }
    EXPECT_EQ(a.state(), [&] {
      b.collect();
      return b.state();
    }());
    EXPECT_EQ(episodes, static_cast<double>(ended));
    EXPECT_GE(ended, 2 * worlds);
    EXPECT_LE(length_sum / episodes, 60);
  }
}

TEST(Batch, KeepsTheContractOnTheCpu) { check_contract({}); }

TEST(Batch, GpuKeepsTheContract) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  check_contract({Device::Kind::cuda, 0});
}

TEST(Batch, TimeLimitTruncatesAndRandomStartsSpreadIt) {
  const EnvEntry& entry = find_environment("SpringChain-v0");
  BatchConfig config = config_for({});
  config.max_episode_steps = 10;
  Runner a(entry, config, 1);
  for (int t = 1; t <= 10; ++t) {
    a.step();
    for (const std::uint8_t flag : a.truncated()) ASSERT_EQ(flag, t == 10);
  }
  EXPECT_EQ(a.collect().length_sum, 10 * 300);
  config.random_episode_start = true;
  Runner b(entry, config, 1);
  int truncated = 0;
  for (int t = 1; t <= 10; ++t) {
    b.step();
    int now = 0;
    for (const std::uint8_t flag : b.truncated()) now += flag;
    EXPECT_GT(now, 5);
    EXPECT_LT(now, 100);
    truncated += now;
  }
  EXPECT_GE(truncated, 300);
  const EpisodeStats stats = b.collect();
  EXPECT_LT(stats.episodes, truncated) << "cut first episodes are no whole episodes";
}

TEST(Batch, ActionMaskLeavesAChoiceToEveryComponent) {
  const EnvEntry& entry = find_environment("SpringChain-v0");
  EXPECT_TRUE(entry.spec.has_action_mask);
  Runner a(entry, config_for({}), 1);
  int closed = 0;
  for (int t = 0; t < 300; ++t) {
    a.step();
    const auto mask = a.mask();
    for (std::size_t w = 0; w < 300; ++w) {
      EXPECT_TRUE(mask[w * 5] || mask[w * 5 + 1] || mask[w * 5 + 2]);
      EXPECT_TRUE(mask[w * 5 + 3] || mask[w * 5 + 4]);
      closed += !mask[w * 5] + !mask[w * 5 + 2] + !mask[w * 5 + 4];
    }
  }
  EXPECT_GT(closed, 0);
}

TEST(Batch, RawStateResumesToTheSameBits) {
  for (const EnvEntry& entry : environments()) {
    SCOPED_TRACE(entry.spec.name);
    const std::int64_t worlds = worlds_for(entry);
    Runner a(entry, config_for({}, 7, worlds), 1), b(entry, config_for({}, 99, worlds), 1);
    for (int t = 0; t < 40; ++t) a.step();
    for (int t = 0; t < 40; ++t) b.step();
    const auto state = a.state();
    std::memcpy(b.batch().raw_state(), state.data(), state.size());
    EXPECT_EQ(a.state(), b.state());
  }
}

// A world cut short by the time limit must hand out the observation that a world without the limit would have had.
void check_final_observation(Device device) {
  for (const EnvEntry& entry : environments()) {
    SCOPED_TRACE(entry.spec.name + " on " + device.str());
    BatchConfig config = config_for(device, 7, worlds_for(entry));
    config.max_episode_steps = 8;
    Runner limited(entry, config, 1);
    config.max_episode_steps = 1000;
    Runner free(entry, config, 1);
    for (int t = 1; t <= 8; ++t) limited.step(), free.step();
    const auto final = limited.final_observation(), observation = free.observation();
    const auto free_final = free.final_observation();
    const auto truncated = limited.truncated(), terminated = free.terminated();
    const auto dim = static_cast<std::size_t>(entry.spec.obs_dim());
    int compared = 0;
    for (std::size_t w = 0; w < truncated.size(); ++w) {
      if (!truncated[w]) continue;  // its task ended before
      ++compared;
      const auto& expected = terminated[w] ? free_final : observation;
      EXPECT_EQ(0, std::memcmp(&final[w * dim], &expected[w * dim], dim * 4)) << "world " << w;
    }
    EXPECT_GE(compared, entry.model.empty() ? 200 : 6) << "pendulums fall within eight steps";
  }
}

TEST(Batch, FinalObservationIsTheTrueOne) { check_final_observation({}); }

TEST(Batch, GpuFinalObservationIsTheTrueOne) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  check_final_observation({Device::Kind::cuda, 0});
}

// FNV-1a over what 1000 steps of 64 worlds of random actions write. The source is compiled without contraction on both
// backends and uses no library function whose last bit differs, so one line serves both. Not so physics.
std::string hash_line(const EnvEntry& entry, Device device) {
  Runner runner(entry, config_for(device, 1, 64), 2);
  std::uint64_t hash = 14695981039346656037u;
  const auto add = [&](const auto& values) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
    for (std::size_t i = 0; i < values.size() * sizeof values[0]; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  };
  for (int t = 0; t < 1000; ++t) {
    runner.step();
    add(runner.observation()), add(runner.reward()), add(runner.terminated()), add(runner.truncated());
  }
  char line[100];
  std::snprintf(line, sizeof line, "%s,64,1000,%016llx", entry.spec.name.c_str(),
                static_cast<unsigned long long>(hash));
  return line;
}

void check_hashes(Device device) {
  std::ifstream file(HOTLOOP_SOURCE_DIR "/tests/golden/env_hashes.csv");
  std::string golden;
  std::getline(file, golden);
  EXPECT_EQ(golden, "env,num_envs,steps,hash");
  for (const EnvEntry& entry : environments()) {
    if (!entry.model.empty()) continue;
    golden.clear();
    std::getline(file, golden);
    EXPECT_EQ(golden, hash_line(entry, device)) << device.str();
  }
}

TEST(Batch, BitsAreTheGoldenOnes) { check_hashes({}); }

TEST(Batch, GpuBitsAreTheGoldenOnes) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  check_hashes({Device::Kind::cuda, 0});
}

TEST(Registry, SuggestsTheNearestTask) {
  try {
    find_environment("CartPole-v2");
    FAIL();
  } catch (const std::exception& e) {
    EXPECT_STREQ(e.what(), "unknown task 'CartPole-v2' (did you mean 'CartPole-v1'?); see hotloop list");
  }
}

}  // namespace
}  // namespace hotloop
