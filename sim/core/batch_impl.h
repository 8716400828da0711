// The two implementations of Batch: ThreadBatch (one thread a world) and LaneBatch (a group of lanes a world). Included
// by the registry and by whoever adds an environment outside this tree; .cu files only.
#pragma once
#include <cstring>

#include "sim/core/batch.h"
#include "sim/core/launch.h"

namespace hotloop {

// What every world's step needs beside its state; passed by value into kernels.
template <class E>
struct BatchView {
  typename E::Params params;
  std::uint32_t* words;
  WorldBook book;
  std::int64_t num_envs;
  std::uint64_t seed;
  std::uint32_t reset_stream, dynamics_stream, episode_length_stream;
  int max_episode_steps;
  bool random_episode_start;

  SIM_HD Rng dynamics_rng(std::int64_t w) const {
    return Rng(seed, dynamics_stream, static_cast<std::uint32_t>(w), book.step[w]);
  }
  SIM_HD Rng reset_rng(std::int64_t w) const {
    return Rng(seed, reset_stream, static_cast<std::uint32_t>(w), book.step[w]);
  }

  // Clears the book of world w for the batch's first episode.
  SIM_HD void open(std::int64_t w) const {
    Rng rng(seed, episode_length_stream, static_cast<std::uint32_t>(w), 0);
    const float part = random_episode_start ? rng.uniform() : 0.0f;
    book.step[w] = 0;
    book.elapsed[w] = static_cast<std::int32_t>(part * static_cast<float>(max_episode_steps));
    book.length[w] = 0;
    book.episode_return[w] = 0.0f;
    book.stat_return[w] = 0.0f;
    book.stat_length[w] = book.stat_episodes[w] = 0;
    book.stat_nonfinite[w] = 0;
    book.first_return[w] = 0.0f;
    book.first_length[w] = 0;
  }

  // Writes flags and reward, advances the book; true if the episode ended.
  SIM_HD bool record(std::int64_t w, const StepIo& io, StepResult<float> result, bool finite) const {
    const std::int32_t elapsed = book.elapsed[w] + 1;
    const float reward = finite ? result.reward : 0.0f;
    const bool terminated = result.terminated || !finite;
    const bool truncated = elapsed >= max_episode_steps && finite;
    io.reward[w] = reward;
    io.terminated[w] = terminated;
    io.truncated[w] = truncated;
    book.step[w] += 1;
    book.elapsed[w] = elapsed;
    book.length[w] += 1;
    book.episode_return[w] += reward;
    book.stat_nonfinite[w] += finite ? 0u : 1u;
    return terminated || truncated;
  }

  // Books the episode that ended in world w and starts the next. Episodes that began at a random time are no whole
  // episodes, and those that turned non-finite have no meaningful return: neither is counted.
  SIM_HD void close(std::int64_t w, bool finite) const {
    const std::int32_t length = book.length[w];
    const bool whole = length == book.elapsed[w];
    if (whole && finite) {
      book.stat_return[w] += book.episode_return[w];
      book.stat_length[w] += length;
      book.stat_episodes[w] += 1;
    }
    if (whole && book.first_length[w] == 0) {
      book.first_return[w] = book.episode_return[w];
      book.first_length[w] = length;
    }
    book.elapsed[w] = 0;
    book.length[w] = 0;
    book.episode_return[w] = 0.0f;
  }
};

template <class E>
BatchView<E> make_view(const BatchConfig& config, std::uint32_t* words, const WorldBook& book, int max_episode_steps,
                       std::uint32_t base_stream) {
  const auto stream = [&](RngStream s) { return base_stream + static_cast<std::uint32_t>(s); };
  return {{},
          words,
          book,
          config.num_envs,
          config.seed,
          stream(RngStream::reset),
          stream(RngStream::dynamics),
          stream(RngStream::episode_length),
          max_episode_steps,
          config.random_episode_start};
}

// ---- one thread a world --------------------------------------------------------------------------------------------

template <ThreadEnv E>
struct ThreadOps {
  static_assert(std::is_same_v<typename E::Real, float>);
  static constexpr int kWords = sizeof(typename E::State) / 4;
  using State = typename E::State;
  BatchView<E> view;

  // The batch stores states word-interleaved, [word][world], so that neighbouring threads touch neighbouring addresses.
  SIM_HD State load(std::int64_t w) const {
    std::uint32_t words[kWords];
    for (int k = 0; k < kWords; ++k) words[k] = view.words[k * view.num_envs + w];
    State s;
    memcpy(&s, words, sizeof s);
    return s;
  }
  SIM_HD void store(std::int64_t w, const State& s) const {
    std::uint32_t words[kWords];
    memcpy(words, &s, sizeof s);
    for (int k = 0; k < kWords; ++k) view.words[k * view.num_envs + w] = words[k];
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

  // One step of world w, branch-free so that the CPU loop vectorises over worlds. True if its episode ended.
  SIM_HD bool advance(std::int64_t w, const StepIo& io) const {
    State s = load(w);
    typename E::Action action[E::kActionDim];
    for (int k = 0; k < E::kActionDim; ++k) {
      if constexpr (std::is_same_v<typename E::Action, int>)
        action[k] = static_cast<int>(static_cast<const std::int64_t*>(io.action)[w * E::kActionDim + k]);
      else
        action[k] = static_cast<const float*>(io.action)[w * E::kActionDim + k];
    }
    Rng rng = view.dynamics_rng(w);
    const StepResult<float> result = E::step(view.params, s, action, rng);
    float observation[E::kObsDim];
    E::observe(view.params, s, observation);
    float poison = result.reward - result.reward;  // 0, or NaN if anything is not finite
    for (int k = 0; k < E::kObsDim; ++k) {
      poison += observation[k] - observation[k];
      io.observation[w * E::kObsDim + k] = observation[k];
    }
    store(w, s);
    write_mask(w, s, io.action_mask);
    return view.record(w, io, result, poison == 0.0f);
  }

  // After the end of an episode: keeps the terminal observation and starts the next episode.
  SIM_HD void finish(std::int64_t w, const StepIo& io) const {
    bool finite = is_finite(io.reward[w]);
    for (int k = 0; k < E::kObsDim; ++k) {
      const float value = io.observation[w * E::kObsDim + k];
      finite = finite && is_finite(value);
      if (io.final_observation != nullptr) io.final_observation[w * E::kObsDim + k] = is_finite(value) ? value : 0.0f;
    }
    view.close(w, finite);
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
  SIM_HD void operator()(std::int64_t w) const {
    if (ops.advance(w, io)) ops.finish(w, io);
  }
};

template <ThreadEnv E>
class ThreadBatch final : public Batch {
 public:
  explicit ThreadBatch(const BatchConfig& config) : Batch(E::spec(), config, sizeof(typename E::State)) {
    ops_.view = make_view<E>(config, words_, book_, max_episode_steps_, stream(RngStream{}));
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

 private:
  // Blocks of worlds: first a branch-free loop that the compiler vectorises, then the few worlds whose episode ended.
  void step_range(const StepIo& io, std::int64_t begin, std::int64_t end) const {
    constexpr std::int64_t kBlock = 128;
    const ThreadOps<E> ops = ops_;
    const StepIo local = io;
    std::uint8_t done[kBlock];
    for (std::int64_t first = begin; first < end; first += kBlock) {
      const int count = static_cast<int>(std::min(kBlock, end - first));
#pragma GCC ivdep
      for (int k = 0; k < count; ++k) done[k] = ops.advance(first + k, local);
      for (int k = 0; k < count; ++k)
        if (done[k]) ops.finish(first + k, local);
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
      s.flags[1] = poison == 0.0f;
      s.flags[0] = view.record(w, io, result, poison == 0.0f);
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
    view_ = make_view<E>(config, words_, book_, max_episode_steps_, stream(RngStream{}));
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
