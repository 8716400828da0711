// The reward's terms as a batch reports them: those of each step, and their sums over episodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/core/batch.h"
#include "sim/core/registry.h"
#include "tests/tasks/golden.h"

namespace hotloop {
namespace {

template <class T>
std::vector<T> host(const Exec& exec, const T* data, std::size_t count) {
  std::vector<T> out(count);
  copy_async(exec, out.data(), {}, data, exec.device, count * sizeof(T));
  synchronize(exec);
  return out;
}

class TermRun {
 public:
  static constexpr std::int64_t kWorlds = 6;

  TermRun(const EnvEntry& entry, Device device, bool random_start)
      : stream_(device),
        exec_{device, stream_.get()},
        buffers_(entry.spec, kWorlds, device),
        actions_(entry.spec.action, kWorlds, device, 3),
        stats_(device, 1),
        sums_(device, 1),
        unnamed_(unnamed_reward(entry.spec.name)) {
    BatchConfig config;
    config.num_envs = kWorlds;
    config.device = device;
    config.max_episode_steps = 7;
    config.random_episode_start = random_start;
    batch_ = entry.make(config);
    reset();
  }
  void reset() { batch_->reset(exec_, buffers_.observation.data(), nullptr); }
  void steps(int count) {
    for (int i = 0; i < count; ++i) {
      actions_.fill(exec_, step_++, buffers_.action.data());
      batch_->step(exec_, buffers_.io());
    }
  }
  // Whole episodes since the last call; their terms must sum to their returns.
  std::int64_t collect() {
    batch_->collect(exec_, stats_.data(), sums_.data());
    const EpisodeStats stats = host(exec_, stats_.data(), 1)[0];
    const RewardTermSums sums = host(exec_, sums_.data(), 1)[0];
    const double total = std::accumulate(sums.term, sums.term + kMaxRewardTerms, 0.0);
    EXPECT_NEAR(total + unnamed_ * stats.length_sum, stats.return_sum, 1e-5 * (1 + std::abs(stats.return_sum)));
    const bool any = std::any_of(sums.term, sums.term + kMaxRewardTerms, [](double x) { return x != 0; });
    EXPECT_EQ(any, stats.episodes > 0);
    return stats.episodes;
  }
  // Compares a world's first return with the sum of its terms.
  void check_first() {
    const std::size_t n = batch_->spec().reward_terms.size();
    const auto terms = host(exec_, batch_->first_terms(), kWorlds * n);
    const auto returns = host(exec_, batch_->first_return(), kWorlds);
    const auto lengths = host(exec_, batch_->first_length(), kWorlds);
    for (std::size_t w = 0; w < kWorlds; ++w)
      EXPECT_NEAR(std::accumulate(&terms[w * n], &terms[w * n] + n, unnamed_ * lengths[w]), returns[w],
                  1e-5 * (1 + std::abs(returns[w])));
  }

 private:
  StreamHandle stream_;
  Exec exec_;
  StepBuffers buffers_;
  RandomActions actions_;
  Buffer<EpisodeStats> stats_;
  Buffer<RewardTermSums> sums_;
  std::unique_ptr<Batch> batch_;
  double unnamed_;
  std::uint64_t step_ = 0;
};

void check_sums(Device device) {
  for (const EnvEntry& entry : environments()) {
    if (entry.model.empty()) {
      EXPECT_TRUE(entry.spec.reward_terms.empty());
      continue;
    }
    SCOPED_TRACE(entry.spec.name + " on " + device.str());
    for (const bool random_start : {false, true}) {
      TermRun run(entry, device, random_start);
      run.steps(17);
      EXPECT_GE(run.collect(), TermRun::kWorlds);
      run.check_first();
      EXPECT_EQ(run.collect(), 0);
      run.steps(9);
      EXPECT_GE(run.collect(), 1);
      run.steps(8);
      run.reset();
      EXPECT_EQ(run.collect(), 0);
      run.check_first();
      run.steps(14);
      EXPECT_GE(run.collect(), TermRun::kWorlds);
      run.check_first();
    }
  }
}

// Two batches of the same worlds; one is asked for the terms of its steps.
class StepRuns {
 public:
  static constexpr std::int64_t kWorlds = 11;  // on the CPU a pack and some alone

  StepRuns(const EnvEntry& entry, Device device)
      : stream_(device),
        exec_{device, stream_.get()},
        plain_(entry.spec, kWorlds, device),
        asked_(entry.spec, kWorlds, device),
        actions_(entry.spec.action, kWorlds, device, 3),
        sums_(kWorlds * entry.spec.reward_terms.size()) {
    BatchConfig config;
    config.num_envs = kWorlds;
    config.device = device;
    config.max_episode_steps = 7;
    plain_batch_ = entry.make(config);
    asked_batch_ = entry.make(config);
    plain_batch_->reset(exec_, plain_.observation.data(), nullptr);
    asked_batch_->reset(exec_, asked_.observation.data(), nullptr);
  }

  void step() {
    actions_.fill(exec_, step_, plain_.action.data());
    actions_.fill(exec_, step_++, asked_.action.data());
    StepIo unasked = plain_.io();
    unasked.reward_terms = nullptr;
    plain_batch_->step(exec_, unasked);
    asked_batch_->step(exec_, asked_.io());
  }
  void expect_equal() const {
    EXPECT_EQ(read(plain_.observation), read(asked_.observation));
    EXPECT_EQ(read(plain_.final_observation), read(asked_.final_observation));
    EXPECT_EQ(read(plain_.reward), read(asked_.reward));
    EXPECT_EQ(read(plain_.terminated), read(asked_.terminated));
    EXPECT_EQ(read(plain_.truncated), read(asked_.truncated));
    EXPECT_TRUE(state(*plain_batch_) == state(*asked_batch_));
  }
  // The sums of episodes under way are those of their steps' terms.
  void expect_sums() {
    const auto terms = read(asked_.reward_terms);
    const auto terminated = read(asked_.terminated), truncated = read(asked_.truncated);
    const std::size_t n = terms.size() / kWorlds;
    for (std::size_t i = 0; i < terms.size(); ++i)
      sums_[i] = terminated[i / n] != 0 || truncated[i / n] != 0 ? 0 : sums_[i] + terms[i];
    EXPECT_EQ(sums_, host(exec_, asked_batch_->episode_terms(), terms.size()));
  }
  void poison(std::int64_t world) {
    const ModelState state = asked_batch_->model_state();
    const float nan = std::nanf("");
    copy_async(exec_, state.qvel + world * state.stride, exec_.device, &nan, {}, sizeof nan);
    synchronize(exec_);
  }
  // Of one world.
  std::vector<float> terms(std::int64_t world) const {
    const std::vector<float> all = read(asked_.reward_terms);
    const auto n = static_cast<std::int64_t>(all.size()) / kWorlds;
    return {all.begin() + world * n, all.begin() + (world + 1) * n};
  }

 private:
  template <class T>
  std::vector<T> read(const Buffer<T>& buffer) const {
    return host(exec_, buffer.data(), buffer.size());
  }
  std::vector<std::byte> state(const Batch& batch) const {
    return host(exec_, batch.raw_state(), batch.raw_state_bytes());
  }

  StreamHandle stream_;
  Exec exec_;
  StepBuffers plain_, asked_;
  RandomActions actions_;
  std::vector<float> sums_;
  std::unique_ptr<Batch> plain_batch_, asked_batch_;
  std::uint64_t step_ = 0;
};

void check_steps(Device device) {
  for (const EnvEntry& entry : environments()) {
    if (entry.model.empty()) continue;
    SCOPED_TRACE(entry.spec.name + " on " + device.str());
    StepRuns runs(entry, device);
    for (int t = 0; t < 17; ++t) {
      runs.step();
      runs.expect_equal();
      runs.expect_sums();
    }
    // as the reward of a world that turned non-finite; packed with others and, on the CPU, alone
    const std::vector<float> none(entry.spec.reward_terms.size(), 0.0f);
    for (const std::int64_t world : {std::int64_t{1}, StepRuns::kWorlds - 1}) runs.poison(world);
    runs.step();
    EXPECT_EQ(runs.terms(1), none);
    EXPECT_EQ(runs.terms(StepRuns::kWorlds - 1), none);
    EXPECT_NE(runs.terms(0), none);
  }
}

TEST(RewardTerms, OfAStepAreThereWhereTheyAreAskedForAndChangeNothing) { check_steps({}); }

TEST(RewardTerms, GpuOfAStepAreThereWhereTheyAreAskedForAndChangeNothing) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  check_steps({Device::Kind::cuda, 0});
}

TEST(RewardTerms, SumToTheReturns) { check_sums({}); }

TEST(RewardTerms, GpuSumToTheReturns) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  check_sums({Device::Kind::cuda, 0});
}

}  // namespace
}  // namespace hotloop
