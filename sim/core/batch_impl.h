// The two implementations of Batch: ThreadBatch (one thread a world) and LaneBatch (a group of lanes a world). Included
// by the registry and by whoever adds an environment outside this tree; .cu files only.
#pragma once
#include <cstring>

#include "sim/core/batch.h"
#include "sim/core/book.h"
#include "sim/core/launch.h"

namespace hotloop {

// What every world's step needs beside its state; passed by value into kernels.
template <class E>
struct BatchView : BookView {
  typename E::Params params;
  std::uint32_t* words;
};

// ---- one thread a world --------------------------------------------------------------------------------------------

template <ThreadEnv E>
struct ThreadOps {
  static_assert(std::is_same_v<typename E::Real, float>);
  static constexpr int kWords = sizeof(typename E::State) / 4;
  using State = typename E::State;
  using Action = typename E::Action;
  BatchView<E> view;

  // The batch stores states word-interleaved, [word][world], so that neighbouring threads touch neighbouring addresses.
  SIM_HD State load(std::int64_t w) const {
    State s;
    unrolled<kWords>([&](int k) {  // word by word: a copy of the whole would force s into memory
      memcpy(reinterpret_cast<char*>(&s) + 4 * k, view.words + k * view.num_envs + w, 4);
    });
    return s;
  }
  SIM_HD void store(std::int64_t w, const State& s) const {
    unrolled<kWords>(
        [&](int k) { memcpy(view.words + k * view.num_envs + w, reinterpret_cast<const char*>(&s) + 4 * k, 4); });
  }
  SIM_HD Action action(std::int64_t w, int k, const StepIo& io) const {
    if constexpr (std::is_same_v<Action, int>)
      return static_cast<int>(static_cast<const std::int64_t*>(io.action)[w * E::kActionDim + k]);
    else
      return static_cast<const float*>(io.action)[w * E::kActionDim + k];
  }
  SIM_HD void write_mask(std::int64_t w, const State& s, std::uint8_t* mask) const {
    if constexpr (HasActionMask<E>) E::action_mask(view.params, s, mask + w * E::kNumChoices);
  }
  SIM_HD void start(std::int64_t w, float* observation, std::uint8_t* mask) const {
    Rng rng = view.reset_rng(w);
    State s;
    E::reset(view.params, s, rng);
    store(w, s);
    E::observe(view.params, s, observation + w * E::kObsDim);
    write_mask(w, s, mask);
  }

  // The environment's part of a step of world w. The reward of a world that turned non-finite is 0.
  SIM_HD void evaluate(std::int64_t w, const Action* action, float* observation, float& reward,
                       std::int32_t& terminated, std::int32_t& finite) const {
    State s = load(w);
    Rng rng = view.dynamics_rng(w);
    const StepResult<float> result = E::step(view.params, s, action, rng);
    E::observe(view.params, s, observation);
    store(w, s);
    float poison = result.reward - result.reward;  // 0, or NaN if anything is not finite
    unrolled<E::kObsDim>([&](int k) { poison += observation[k] - observation[k]; });
    reward = poison == 0.0f ? result.reward : 0.0f;
    terminated = result.terminated;
    finite = poison == 0.0f ? 1 : 0;
  }

  // One whole step of world w.
  SIM_HD void step(std::int64_t w, const StepIo& io) const {
    Action given[E::kActionDim];
    float observation[E::kObsDim], reward;
    std::int32_t terminated, finite;
    unrolled<E::kActionDim>([&](int k) { given[k] = action(w, k, io); });
    evaluate(w, given, observation, reward, terminated, finite);
    unrolled<E::kObsDim>([&](int k) { io.observation[w * E::kObsDim + k] = observation[k]; });
    io.reward[w] = reward;
    const std::int32_t ended = view.record(w, reward, terminated, finite);
    view.write_flags(w, io, ended);
    if (ended != 0)
      finish(w, io, finite);
    else
      write_mask(w, load(w), io.action_mask);
  }

  // After the end of an episode: keeps the terminal observation and starts the next episode.
  SIM_HD void finish(std::int64_t w, const StepIo& io, std::int32_t finite) const {
    if (io.final_observation != nullptr)
      for (int k = 0; k < E::kObsDim; ++k) {
        const float value = io.observation[w * E::kObsDim + k];
        io.final_observation[w * E::kObsDim + k] = is_finite(value) ? value : 0.0f;
      }
    view.close(w, finite != 0);
    start(w, io.observation, io.action_mask);
  }
};

template <ThreadEnv E>
struct ThreadResetOp {
  ThreadOps<E> ops;
  float* observation;
  std::uint8_t* mask;
  SIM_HD void operator()(std::int64_t w) const {
    ops.view.open(w);
    ops.start(w, observation, mask);
  }
};

template <ThreadEnv E>
struct ThreadStepOp {
  ThreadOps<E> ops;
  StepIo io;
  SIM_HD void operator()(std::int64_t w) const { ops.step(w, io); }
};

// The states of groups of lanes lie together, [world][word].
template <class E>
SIM_HD typename E::State load_state(const BatchView<E>& view, std::int64_t w) {
  if constexpr (LaneEnv<E>) {
    typename E::State s;
    memcpy(&s, view.words + w * (sizeof s / 4), sizeof s);
    return s;
  } else {
    return ThreadOps<E>{view}.load(w);
  }
}

// ---- pictures of either kind ----------------------------------------------------------------------------------------

template <class E>
struct FramesOp {
  BatchView<E> view;
  std::int64_t first;
  Frame* out;
  SIM_HD void operator()(std::int64_t i) const {
    Frame* frames = out + i * E::kFrames;
    for (int k = 0; k < E::kFrames; ++k) frames[k] = Frame{};
    E::frames(view.params, load_state(view, first + i), frames);
  }
};

template <class E>
constexpr int frame_count() {
  if constexpr (HasFrames<E>) return E::kFrames;
  return 0;
}
template <class E>
void write_env_frames(const Exec& exec, const BatchView<E>& view, std::int64_t first, std::int64_t count, Frame* out) {
  if constexpr (HasFrames<E>) parallel_for(exec, count, FramesOp<E>{view, first, out});
}

// ---- one thread a world, continued ---------------------------------------------------------------------------------

template <ThreadEnv E>
class ThreadBatch final : public Batch {
 public:
  explicit ThreadBatch(const BatchConfig& config) : Batch(E::spec(), config, sizeof(typename E::State)) {
    ops_.view = {book_view(), {}, words_};
  }
  void reset(const Exec& exec, float* observation, std::uint8_t* action_mask) override {
    parallel_for(exec, num_envs(), ThreadResetOp<E>{ops_, observation, action_mask});
  }
  void step(const Exec& exec, const StepIo& io) override {
    if (exec.device.is_cuda()) {
      parallel_for(exec, num_envs(), ThreadStepOp<E>{ops_, io}, num_envs() < 32768 ? 32 : 128);
      return;
    }
    for_ranges(exec, num_envs(), 256, [&](std::int64_t begin, std::int64_t end) { step_range(io, begin, end); });
  }
  int num_frames() const override { return frame_count<E>(); }
  void write_frames(const Exec& exec, std::int64_t first, std::int64_t count, Frame* out) const override {
    write_env_frames(exec, ops_.view, first, count, out);
  }

 private:
  // The step on the CPU: blocks of worlds, the work on a block cut into loops that the compiler vectorises over worlds
  // (no branches, one width of number each, neighbouring addresses), then the few worlds whose episode ended.
  void step_range(const StepIo& given_io, std::int64_t begin, std::int64_t end) const {
    constexpr int kBlock = std::max(1, std::min(128, 16384 / E::kObsDim));
    const ThreadOps<E> ops = ops_;  // copies: what the loops write cannot alias them
    const StepIo io = given_io;
    typename E::Action actions[E::kActionDim][kBlock];
    float observations[E::kObsDim][kBlock];
    std::int32_t terminated[kBlock], finite[kBlock], ended[kBlock];
    for (std::int64_t first = begin; first < end; first += kBlock) {
      const int count = static_cast<int>(std::min<std::int64_t>(kBlock, end - first));
      for (int i = 0; i < count; ++i)
        unrolled<E::kActionDim>([&](int k) { actions[k][i] = ops.action(first + i, k, io); });
#pragma GCC ivdep
      for (int i = 0; i < count; ++i) {
        typename E::Action action[E::kActionDim];
        float observation[E::kObsDim];
        unrolled<E::kActionDim>([&](int k) { action[k] = actions[k][i]; });
        ops.evaluate(first + i, action, observation, io.reward[first + i], terminated[i], finite[i]);
        unrolled<E::kObsDim>([&](int k) { observations[k][i] = observation[k]; });
      }
      for (int i = 0; i < count; ++i)
        unrolled<E::kObsDim>([&](int k) { io.observation[(first + i) * E::kObsDim + k] = observations[k][i]; });
#pragma GCC ivdep
      for (int i = 0; i < count; ++i)
        ended[i] = ops.view.record(first + i, io.reward[first + i], terminated[i], finite[i]);
#pragma GCC ivdep
      for (int i = 0; i < count; ++i) ops.view.write_flags(first + i, io, ended[i]);
      for (int i = 0; i < count; ++i)
        if (ended[i] != 0) ops.finish(first + i, io, finite[i]);
      if constexpr (HasActionMask<E>)
        for (int i = 0; i < count; ++i)
          if (ended[i] == 0) ops.write_mask(first + i, ops.load(first + i), io.action_mask);
    }
  }
  ThreadOps<E> ops_;
};

// ---- a group of lanes a world --------------------------------------------------------------------------------------

template <LaneEnv E>
struct LaneOp {
  using State = typename E::State;
  static constexpr int kWords = sizeof(State) / 4;
  static_assert(sizeof(std::uint32_t) * kWords == sizeof(State));
  struct Shared {
    union {
      State state;
      std::uint32_t words[kWords];
    };
    typename E::Scratch scratch;
    typename E::Action action[E::kActionDim];
    float observation[E::kObsDim];
    int flags[2];  // ended, finite
    SIM_HD Shared() {}
  };
  BatchView<E> view;
  StepIo io;
  bool first;  // reset of the whole batch instead of a step

  template <class G>
  SIM_HD void start(const G& group, std::int64_t w, Shared& s) const {
    Rng rng = view.reset_rng(w);
    E::reset(group, view.params, s.state, rng, s.scratch);
    E::observe(group, view.params, s.state, s.observation, s.scratch);
  }

  // Terminal observation out, book closed, next episode started.
  template <class G>
  SIM_HD void finish(const G& group, std::int64_t w, Shared& s) const {
    if (io.final_observation != nullptr)
      group.for_each(E::kObsDim, [&](int k) {
        const float value = s.observation[k];
        io.final_observation[w * E::kObsDim + k] = is_finite(value) ? value : 0.0f;
      });
    group.once([&] { view.close(w, s.flags[1] != 0); });
    start(group, w, s);
  }

  template <class G>
  SIM_HD void step(const G& group, std::int64_t w, Shared& s) const {
    // states of a group lie together, [world][word]: the lanes read neighbouring words
    group.for_each(kWords, [&](int k) { s.words[k] = view.words[w * kWords + k]; });
    group.for_each(E::kActionDim, [&](int k) {
      if constexpr (std::is_same_v<typename E::Action, int>)
        s.action[k] = static_cast<int>(static_cast<const std::int64_t*>(io.action)[w * E::kActionDim + k]);
      else
        s.action[k] = static_cast<const float*>(io.action)[w * E::kActionDim + k];
    });
    Rng rng = view.dynamics_rng(w);
    const StepResult<float> result = E::step(group, view.params, s.state, s.action, rng, s.scratch);
    E::observe(group, view.params, s.state, s.observation, s.scratch);
    group.once([&] {
      float poison = result.reward - result.reward;
      for (int k = 0; k < E::kObsDim; ++k) poison += s.observation[k] - s.observation[k];
      const std::int32_t finite = poison == 0.0f ? 1 : 0;
      io.reward[w] = finite != 0 ? result.reward : 0.0f;
      s.flags[1] = finite;
      s.flags[0] = view.record(w, io.reward[w], result.terminated, finite);
      view.write_flags(w, io, s.flags[0]);
    });
    if (s.flags[0]) finish(group, w, s);
  }

  template <class G>
  SIM_HD void operator()(const G& group, std::int64_t w, Shared& s) const {
    if (first) {
      group.once([&] { view.open(w); });
      start(group, w, s);
    } else {
      step(group, w, s);
    }
    group.for_each(kWords, [&](int k) { view.words[w * kWords + k] = s.words[k]; });
    group.for_each(E::kObsDim, [&](int k) { io.observation[w * E::kObsDim + k] = s.observation[k]; });
    if constexpr (HasActionMask<E>)
      group.once([&] { E::action_mask(view.params, s.state, io.action_mask + w * E::kNumChoices); });
  }
};

template <LaneEnv E>
class LaneBatch final : public Batch {
 public:
  explicit LaneBatch(const BatchConfig& config) : Batch(E::spec(), config, sizeof(typename E::State)) {
    view_ = {book_view(), {}, words_};
  }
  void reset(const Exec& exec, float* observation, std::uint8_t* action_mask) override {
    StepIo io;
    io.observation = observation;
    io.action_mask = action_mask;
    parallel_groups<E::kLanes>(exec, num_envs(), LaneOp<E>{view_, io, true});
  }
  void step(const Exec& exec, const StepIo& io) override {
    parallel_groups<E::kLanes>(exec, num_envs(), LaneOp<E>{view_, io, false});
  }
  int num_frames() const override { return frame_count<E>(); }
  void write_frames(const Exec& exec, std::int64_t first, std::int64_t count, Frame* out) const override {
    write_env_frames(exec, view_, first, count, out);
  }

 private:
  BatchView<E> view_;
};

template <class E>
std::unique_ptr<Batch> make_batch(const BatchConfig& config) {
  if constexpr (LaneEnv<E>)
    return std::make_unique<LaneBatch<E>>(config);
  else
    return std::make_unique<ThreadBatch<E>>(config);
}

}  // namespace hotloop
