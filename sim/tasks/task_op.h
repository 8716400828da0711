// One environment step, or a reset, of one world of a task: physics, reward, termination, automatic reset, observation.
// The lane group evaluates the forces at one place only (the code of a step is large), also for the start of an
// episode.
#pragma once
#include "sim/core/book.h"
#include "sim/mujoco/step.h"
#include "sim/tasks/task.h"

namespace hotloop {

// Bytes of shared memory behind the working set: what one lane tells the others.
inline constexpr int kTaskFlagBytes = 16;

// Passed by value into the kernel.
template <class T>
struct TaskOp {
  using Memory = typename T::Memory;

  // State of a world in global memory, [world][word]: qpos, qvel, qacc_warmstart, memory.
  static constexpr int kMemoryWords = __is_empty(Memory) ? 0 : sizeof(Memory) / 4;
  static constexpr int kWords = T::kNq + 2 * T::kNv + kMemoryWords;

  Model<float> model;
  WorldLayout layout;
  typename T::Options options;
  BookView view;
  TermBook terms;
  StepIo io;
  float* states;
  int obs_dim;
  bool first;  // reset of the whole batch instead of a step
  ContactTap tap = {};

  // m, at: `model` and `layout`, or the same specialised to constants. N: bound on the dofs. Stepped: the physics of
  // the step are done, in this working set (PackStepper).
  template <int N, bool Stepped = false, class G, class M, class Layout>
  SIM_HD void run(const G& g, std::int64_t world, void* bytes, const M& m, const Layout& at) const {
    const World<float, Layout> w{static_cast<float*>(bytes), at, static_cast<int>(world)};
    int* ended = static_cast<int*>(bytes) + at.reals;
    Memory memory = {};
    if (first) {
      g.once([&] { view.open(world); });
      start(g, m, w, world);
    } else {
      if constexpr (!Stepped) load(g, w, world);
      load_memory(world, memory);
    }
    if constexpr (!Stepped) g.once([&] { w.counts()[kStatus] = 0; });
    const int stages = stages_of(m), last = options.frame_skip * stages - 1;
    bool fresh = first, stepped = Stepped;
#pragma unroll 1
    for (int k = Stepped ? last : 0;; ++k) {
      if (!fresh) g.meet();  // every world takes these steps, only some start anew
      if (!stepped) forward<N>(g, m, w, (T::kForces || tapped(at, tap)) && (fresh || k == last));
      bool finite = true;
      TaskResult<float> result = {0.0f, false};
      if (fresh) {
        // as in Gymnasium, where a reset leaves the warm start and the contact forces zero
        g.once([&] { w.counts()[kContacts] = 0; });
        T::begin(g, m, w, options, memory);
      } else {
        if (!stepped) integrate<N>(g, m, w, k % stages);
        if (k < last) continue;
        stepped = false;
        float step_terms[T::kTerms];
        result = T::result(g, m, w, options, memory, step_terms);
        g.once([&] {
          add_terms<T::kTerms>(terms, world, step_terms);
          write_terms<T::kTerms>(io, world, step_terms);
        });
        finite = (w.counts()[kStatus] & kNonfinite) == 0 && is_finite(result.reward);
      }
      finite = observe(g, m, w, world) && finite;
      if (fresh) break;
      g.once([&] { *ended = book(world, result, finite, w.counts()[kStatus]); });
      if (*ended == 0) break;
      finish(g, world, finite);
      start(g, m, w, world);
      fresh = true;
    }
    if (tapped(at, tap)) write_tap(g, m, w, tap, world);
    store(g, w, world, memory);
  }

  template <class G, class W>
  SIM_HD void load(const G& g, const W& w, std::int64_t world) const {
    const float* state = states + world * kWords;
    g.for_each(T::kNq, [&](int i) { w.qpos()[i] = state[i]; });
    g.for_each(T::kNv, [&](int i) {
      w.qvel()[i] = state[T::kNq + i];
      w.qacc_warmstart()[i] = state[T::kNq + T::kNv + i];
    });
    const float* action = static_cast<const float*>(io.action) + world * T::kNu;
    g.for_each(T::kNu, [&](int i) { w.ctrl()[i] = action[i]; });
  }
  SIM_HD void load_memory(std::int64_t world, Memory& memory) const {
    if constexpr (kMemoryWords > 0) memcpy(&memory, states + world * kWords + T::kNq + 2 * T::kNv, sizeof memory);
  }
  template <class G, class W>
  SIM_HD void store(const G& g, const W& w, std::int64_t world, const Memory& memory) const {
    float* state = states + world * kWords;
    g.for_each(T::kNq, [&](int i) { state[i] = w.qpos()[i]; });
    g.for_each(T::kNv, [&](int i) {
      state[T::kNq + i] = w.qvel()[i];
      state[T::kNq + T::kNv + i] = w.qacc_warmstart()[i];
    });
    if constexpr (kMemoryWords > 0) g.once([&] { memcpy(state + T::kNq + 2 * T::kNv, &memory, sizeof memory); });
  }

  // The start state of the next episode.
  template <class G, class M, class W>
  SIM_HD void start(const G& g, const M& m, const W& w, std::int64_t world) const {
    g.for_each(T::kNu, [&](int i) { w.ctrl()[i] = 0; });
    g.for_each(T::kNv, [&](int i) { w.qacc_warmstart()[i] = 0; });
    const Rng rng = view.reset_rng(world);
    T::reset(g, m, w, options, rng);
  }

  // Writes the observation, non-finite components as 0; whether all were finite.
  template <class G, class M, class W>
  SIM_HD bool observe(const G& g, const M& m, const W& w, std::int64_t world) const {
    float* row = io.observation + world * obs_dim;
    bool bad = false;  // of this lane's components
    T::observe(g, m, w, options, [&](int i, float value) {
      const bool good = is_finite(value);
      bad = bad || !good;
      row[i] = good ? value : 0.0f;
    });
    return !g.any(G::kLanes, [&](int) { return bad; });
  }

  // Books the step; what ended with it. On one lane.
  SIM_HD std::int32_t book(std::int64_t world, const TaskResult<float>& result, bool finite, int status) const {
    const float reward = finite ? result.reward : 0.0f;
    io.reward[world] = reward;
    if (!finite) {
      const float none[T::kTerms] = {};
      write_terms<T::kTerms>(io, world, none);
    }
    if ((status & (kContactOverflow | kRowOverflow)) != 0) view.book.stat_overflow[world] += 1;
    const std::int32_t ended = view.record(world, reward, result.terminated ? 1 : 0, finite ? 1 : 0);
    view.write_flags(world, io, ended);
    return ended;
  }

  // Keeps the terminal observation and closes the episode.
  template <class G>
  SIM_HD void finish(const G& g, std::int64_t world, bool finite) const {
    if (io.final_observation != nullptr)
      g.for_each(obs_dim,
                 [&](int i) { io.final_observation[world * obs_dim + i] = io.observation[world * obs_dim + i]; });
    g.once([&] { close_terms<T::kTerms>(terms, world, view.close(world, finite)); });
  }
};

}  // namespace hotloop
