// A world that turns non-finite: reset, flagged, counted, and never let into statistics or outputs.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sim/core/batch_impl.h"

namespace hotloop {
namespace {

// Each episode draws what happens in it: at kFaultAt a fault of its kind, else the task ends at kEndAt.
enum Fault { kNone, kObservationNan, kRewardInfinite, kBothAndTerminated, kFaults };
constexpr int kFaultAt = 3, kEndAt = 5;

template <class R>
struct Faulty {
  using Real = R;
  using Action = int;
  static constexpr int kObsDim = 3, kActionDim = 1;
  struct Params {};
  struct State {
    Real x;
    std::int32_t fault, time;
  };
  static EnvSpec spec() {
    return {.name = "Faulty-v0",
            .observation = {{-1, 0, 0}, {1, kFaults, 100}},
            .action = ActionSpace::discrete(2),
            .max_episode_steps = 100};
  }
  SIM_HD static void reset(const Params&, State& s, Rng& rng) {
    s.x = Real(0.25);
    s.fault = static_cast<int>(rng.bits() % kFaults);
    s.time = 0;
  }
  SIM_HD static StepResult<Real> step(const Params&, State& s, const int*, Rng&) {
    s.time += 1;
    const Real zero = s.time == kFaultAt ? Real(0) : Real(1);
    if (s.fault == kObservationNan || s.fault == kBothAndTerminated) s.x *= zero / zero;
    const bool broken = s.fault == kRewardInfinite || s.fault == kBothAndTerminated;
    const bool ends = s.time == kEndAt || (s.fault == kBothAndTerminated && s.time == kFaultAt);
    return {broken ? Real(1) / zero : Real(1), ends};
  }
  SIM_HD static void observe(const Params&, const State& s, Real* obs) {
    obs[0] = s.x;
    obs[1] = static_cast<Real>(s.fault);
    obs[2] = static_cast<Real>(s.time);
  }
};

// The same task stepped by a group of lanes.
template <class R>
struct FaultyGroup : Faulty<R> {
  using Base = Faulty<R>;
  static constexpr int kLanes = 4;
  struct Scratch {
    R reward[kLanes];
    int ends;
  };
  template <class G>
  SIM_HD static void reset(const G& group, const typename Base::Params& p, typename Base::State& s, Rng& rng,
                           Scratch&) {
    group.once([&] { Base::reset(p, s, rng); });
  }
  template <class G>
  SIM_HD static StepResult<R> step(const G& group, const typename Base::Params& p, typename Base::State& s,
                                   const int* action, Rng& rng, Scratch& scratch) {
    group.once([&] {
      const StepResult<R> result = Base::step(p, s, action, rng);
      scratch.reward[0] = result.reward;
      scratch.ends = result.terminated;
    });
    return {scratch.reward[0], scratch.ends};
  }
  template <class G>
  SIM_HD static void observe(const G& group, const typename Base::Params& p, const typename Base::State& s, R* obs,
                             Scratch&) {
    group.once([&] { Base::observe(p, s, obs); });
  }
};

template <class T>
std::vector<T> host(const Exec& exec, const Buffer<T>& b) {
  std::vector<T> out(b.size());
  copy_async(exec, out.data(), {}, b.data(), exec.device, b.bytes());
  synchronize(exec);
  return out;
}

template <class E>
void check_containment(Device device) {
  constexpr std::size_t kWorlds = 200;
  const StreamHandle stream(device);
  const Exec exec{device, stream.get()};
  BatchConfig config;
  config.num_envs = kWorlds;
  config.device = device;
  const auto batch = make_batch<E>(config);
  const Buffer<std::int64_t> action(device, kWorlds);
  const Buffer<float> observation(device, kWorlds * 3), final(device, kWorlds * 3), reward(device, kWorlds);
  const Buffer<std::uint8_t> terminated(device, kWorlds), truncated(device, kWorlds);
  const Buffer<EpisodeStats> stats(device, 1);
  batch->reset(exec, observation.data(), nullptr);
  StepIo io;
  io.action = action.data();
  io.observation = observation.data();
  io.reward = reward.data();
  io.terminated = terminated.data();
  io.truncated = truncated.data();
  io.final_observation = final.data();

  std::int64_t episodes = 0, faults = 0, seen[kFaults] = {};
  for (int t = 0; t < 40; ++t) {
    const std::vector<float> before = host(exec, observation);
    batch->step(exec, io);
    const auto now = host(exec, observation), last = host(exec, final), r = host(exec, reward);
    const auto ended = host(exec, terminated), late = host(exec, truncated);
    for (std::size_t w = 0; w < kWorlds; ++w) {
      const int fault = static_cast<int>(before[w * 3 + 1]), time = static_cast<int>(before[w * 3 + 2]) + 1;
      const bool faulty = fault != kNone && time == kFaultAt;
      const bool ends = faulty || time == kEndAt;
      SCOPED_TRACE("world " + std::to_string(w) + " step " + std::to_string(t) + " fault " + std::to_string(fault));
      ASSERT_EQ(ended[w], ends);
      ASSERT_EQ(late[w], 0);
      ASSERT_EQ(r[w], faulty ? 0.0f : 1.0f);
      for (std::size_t k = 0; k < 3; ++k) ASSERT_TRUE(std::isfinite(now[w * 3 + k]));
      ASSERT_EQ(now[w * 3 + 2], ends ? 0.0f : static_cast<float>(time)) << "time after a reset is 0";
      if (!ends) continue;
      const bool nan = fault == kObservationNan || fault == kBothAndTerminated;
      ASSERT_EQ(last[w * 3], nan && faulty ? 0.0f : 0.25f);
      ASSERT_EQ(last[w * 3 + 2], static_cast<float>(time));
      ++(faulty ? faults : episodes);
      ++seen[fault];
    }
  }
  for (const std::int64_t count : seen) EXPECT_GT(count, 50);
  batch->collect(exec, stats.data());
  const EpisodeStats sum = host(exec, stats)[0];
  EXPECT_EQ(sum.nonfinite, faults);
  EXPECT_EQ(sum.episodes, episodes);
  EXPECT_EQ(sum.return_sum, static_cast<double>(episodes * kEndAt));
  EXPECT_EQ(sum.length_sum, static_cast<double>(episodes * kEndAt));
  batch->collect(exec, stats.data());
  EXPECT_EQ(host(exec, stats)[0].nonfinite, 0) << "collect clears";
}

TEST(Nonfinite, WorldsAreContained) {
  check_containment<Faulty<float>>({});
  check_containment<FaultyGroup<float>>({});
}

TEST(Nonfinite, GpuWorldsAreContained) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  check_containment<Faulty<float>>({Device::Kind::cuda, 0});
  check_containment<FaultyGroup<float>>({Device::Kind::cuda, 0});
}

}  // namespace
}  // namespace hotloop
