// On the CPU worlds of a task are stepped in packs, and those that fill none alone: nobody can tell which.
#include <gtest/gtest.h>

#include "sim/core/registry.h"
#include "sim/core/thread_pool.h"

namespace hotloop {
namespace {

constexpr std::size_t kFew = 7, kSteps = 40;

// What the first kFew of these worlds see in kSteps steps.
std::vector<float> seen_by_first(const EnvEntry& entry, std::int64_t worlds) {
  ThreadPool pool(3);
  const Exec exec{Device{}, nullptr, &pool};
  const auto batch = entry.make({.num_envs = worlds, .seed = 3, .device = Device{}, .max_episode_steps = 25});
  RandomActions actions(entry.spec.action, worlds, Device{}, 3);
  StepBuffers buffers(entry.spec, worlds, Device{});
  batch->reset(exec, buffers.observation.data(), nullptr);
  std::vector<float> seen;
  for (std::uint64_t t = 0; t < kSteps; ++t) {
    actions.fill(exec, t, buffers.action.data());
    batch->step(exec, buffers.io());
    seen.insert(seen.end(), buffers.observation.data(), buffers.observation.data() + kFew * entry.spec.obs_dim());
    seen.insert(seen.end(), buffers.reward.data(), buffers.reward.data() + kFew);
    const float* const terms = buffers.reward_terms.data();
    seen.insert(seen.end(), terms, terms + kFew * entry.spec.reward_terms.size());
  }
  return seen;
}

TEST(TaskPacks, WorldsDoNotSeeHowManyTheyAre) {
  for (const EnvEntry& entry : environments()) {
    if (entry.model.empty()) continue;
    SCOPED_TRACE(entry.spec.name);
    const std::vector<float> alone = seen_by_first(entry, kFew);
    EXPECT_EQ(alone, seen_by_first(entry, 8));
    EXPECT_EQ(alone, seen_by_first(entry, 19));
  }
}

}  // namespace
}  // namespace hotloop
