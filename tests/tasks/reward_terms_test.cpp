// Sums of the reward's terms over episodes, as a batch reports them.
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

TEST(RewardTerms, SumToTheReturns) { check_sums({}); }

TEST(RewardTerms, GpuSumToTheReturns) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  check_sums({Device::Kind::cuda, 0});
}

}  // namespace
}  // namespace hotloop
