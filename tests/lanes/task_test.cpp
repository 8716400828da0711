// The operation of every task as kernels run it, on emulated lanes: resets, steps, automatic resets. The same bits in
// whatever order the lanes run, and what one thread computes.
#include "tests/lanes/cuda_on_cpu.h"
// the emulation before all else
#include <gtest/gtest.h>

#include "sim/tasks/ant.h"
#include "sim/tasks/half_cheetah.h"
#include "sim/tasks/hopper.h"
#include "sim/tasks/humanoid.h"
#include "sim/tasks/humanoid_standup.h"
#include "sim/tasks/inverted_double_pendulum.h"
#include "sim/tasks/inverted_pendulum.h"
#include "sim/tasks/pusher.h"
#include "sim/tasks/reacher.h"
#include "sim/tasks/swimmer.h"
#include "sim/tasks/task_batch.h"
#include "sim/tasks/task_list.h"
#include "sim/tasks/walker2d.h"

namespace hotloop {

// A task's batch of which lanes can do the work.
template <class T>
class TaskOnLanes {
 public:
  explicit TaskOnLanes(const BatchConfig& config)
      : batch_(config), buffers_(batch_.spec(), config.num_envs, Device{}) {}

  Batch& batch() { return batch_; }
  const StepBuffers& buffers() const { return buffers_; }
  StepIo io() const { return buffers_.io(); }

  void reset() { batch_.reset(Exec{}, io().observation, nullptr); }
  void step() { batch_.step(Exec{}, io()); }
  void reset_on_lanes(LaneOrder order, int warps) {
    batch_.clear_terms(Exec{});
    run(order, warps, true);
  }
  void step_on_lanes(LaneOrder order, int warps) { run(order, warps, false); }

  // The worlds, and what steps write of them.
  std::string bits() const {
    std::string all(reinterpret_cast<const char*>(batch_.raw_state()), batch_.raw_state_bytes());
    const auto add = [&](const auto& buffer) {
      all.append(reinterpret_cast<const char*>(buffer.data()), buffer.bytes());
    };
    add(buffers_.observation);
    add(buffers_.reward);
    add(buffers_.final_observation);
    add(buffers_.reward_terms);
    add(buffers_.terminated);
    add(buffers_.truncated);
    return all;
  }
  // Other worlds, and what their last step wrote.
  void take(const TaskOnLanes& other) {
    std::memcpy(batch_.raw_state(), other.batch_.raw_state(), batch_.raw_state_bytes());
    const auto copy = [](const auto& to, const auto& from) { std::memcpy(to.data(), from.data(), from.bytes()); };
    copy(buffers_.action, other.buffers_.action);
    copy(buffers_.observation, other.buffers_.observation);
    copy(buffers_.final_observation, other.buffers_.final_observation);
    copy(buffers_.reward_terms, other.buffers_.reward_terms);
  }

 private:
  void run(LaneOrder order, int warps, bool first) {
    TaskOp<T> op = batch_.op_;
    op.io = io();
    op.first = first;
    run_lanes<TaskBatch<T>::kLanes>(order, batch_.num_envs(), warps, batch_.world_memory(),
                                    [&](const auto& g, long long world, void* memory) {
                                      op.template run<TaskBatch<T>::kBound>(g, world, memory, op.model, op.layout);
                                    });
  }

  TaskBatch<T> batch_;
  StepBuffers buffers_;
};

namespace {

constexpr int kSteps = 30, kEpisode = 9;  // so that episodes end by time in the middle of them
constexpr int kFew = 3;  // lanes take only every third step of large models: an episode's last is among them

// Largest difference of two rows of n numbers, scaled by the largest (at least 1).
double distance(const float* a, const float* b, std::int64_t n) {
  double scale = 1, most = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    scale = std::max(scale, std::fabs(static_cast<double>(a[i])));
    const double d = std::fabs(static_cast<double>(a[i]) - b[i]);
    most = d <= most ? most : d;  // NaN counts
  }
  return most / scale;
}

struct Differences {
  std::vector<double> observations, rewards;

  template <class T>
  void add(TaskOnLanes<T>& one, TaskOnLanes<T>& lanes) {
    const StepIo a = one.io(), b = lanes.io();
    const std::int64_t dim = one.batch().spec().obs_dim(), terms = T::kTerms;
    for (std::int64_t w = 0; w < one.batch().num_envs(); ++w) {
      observations.push_back(distance(a.observation + w * dim, b.observation + w * dim, dim));
      observations.push_back(distance(a.final_observation + w * dim, b.final_observation + w * dim, dim));
      rewards.push_back(distance(a.reward + w, b.reward + w, 1));
      rewards.push_back(distance(a.reward_terms + w * terms, b.reward_terms + w * terms, terms));
      EXPECT_EQ(a.terminated[w], b.terminated[w]);
      EXPECT_EQ(a.truncated[w], b.truncated[w]);
    }
  }
};

template <class T>
void compare_task() {
  SCOPED_TRACE(T::kName);
  BatchConfig config;
  config.num_envs = 3;
  config.seed = 7;
  config.max_episode_steps = kEpisode;
  TaskOnLanes<T> one(config), lanes(config);
  RandomActions actions(one.batch().spec().action, config.num_envs, Device{}, 1);
  Differences found;
  for (int step = 0; step <= kSteps; ++step) {  // number 0 is the reset
    actions.fill(Exec{}, static_cast<std::uint64_t>(step), one.buffers().action.data());
    std::string bits;
    const bool looks = T::kNv <= 16 || step % kFew == 0;
    for (int k = 0; k < 3 && looks; ++k) {
      lanes.take(one);
      const int warps = k == 1 ? 2 : 1;
      step == 0 ? lanes.reset_on_lanes(kLaneOrders[k], warps) : lanes.step_on_lanes(kLaneOrders[k], warps);
      if (k == 0) bits = lanes.bits();
      ASSERT_EQ(lanes.bits() == bits, true) << "order " << k << ", step " << step;
    }
    step == 0 ? one.reset() : one.step();
    if (looks) found.add(one, lanes);
  }
  std::sort(found.observations.begin(), found.observations.end());
  std::sort(found.rewards.begin(), found.rewards.end());
  EXPECT_LT(found.observations[found.observations.size() * 99 / 100], 2e-4);
  EXPECT_LT(found.observations.back(), 2e-2);
  EXPECT_LT(found.rewards.back(), 2e-3);
}

#define HOTLOOP_TEST_TASK(Task) \
  TEST(LaneTask, Task) { compare_task<Task<float>>(); }
HOTLOOP_TASKS(HOTLOOP_TEST_TASK)
#undef HOTLOOP_TEST_TASK

}  // namespace
}  // namespace hotloop
