// InvertedPendulum-v5: a cart on a rail balances a pole. Facts: gymnasium/envs/mujoco/inverted_pendulum_v5.py.
#pragma once
#include "sim/tasks/task.h"

namespace hotloop {

template <class R>
struct InvertedPendulum {
  using Real = R;
  static constexpr const char *kName = "InvertedPendulum-v5", *kModel = "inverted_pendulum.xml",
                              *kType = "InvertedPendulum", *kSource = "sim/tasks/inverted_pendulum.h";
  static constexpr TaskCamera kCamera = {.distance = 2.04, .elevation = -10};
  static constexpr int kNq = 2, kNv = 2, kNu = 1, kNbody = 3;
  static constexpr int kMaxEpisodeSteps = 1000;
  static constexpr double kRewardThreshold = 950, kActionBound = 3;
  static constexpr unsigned kKeep = 0;
  static constexpr bool kForces = false;
  enum Term { kSurvive, kTerms };
  static constexpr const char* kTermNames[] = {"reward_survive"};

  struct Options {
    int frame_skip = 2;
    R reset_noise_scale = R(0.01);
  };
#ifndef __CUDACC_RTC__
  template <class Visitor>
  static void visit_options(Options& o, Visitor&& v) {
    visit_frame_skip(o, v);
    visit_reset_noise(o, v);
  }
#endif

  struct Memory {};

  static constexpr int obs_dim(const Options&) { return kNq + kNv; }

  template <class G, class M, class W>
  SIM_HD static void reset(const G& g, const M& m, const W& w, const Options& o, const Rng& rng) {
    reset_positions(g, m, w, rng, o.reset_noise_scale);
    reset_velocities_uniform(g, m, w, rng, o.reset_noise_scale);
  }

  template <class G, class M, class W>
  SIM_HD static void begin(const G&, const M&, const W&, const Options&, Memory&) {}

  template <class G, class M, class W>
  SIM_HD static TaskResult<R> result(const G&, const M&, const W& w, const Options&, Memory&, R* terms) {
    const bool finite =
        is_finite(w.qpos()[0]) && is_finite(w.qpos()[1]) && is_finite(w.qvel()[0]) && is_finite(w.qvel()[1]);
    const bool terminated = !finite || absolute(w.qpos()[1]) > R(0.2);
    terms[kSurvive] = terminated ? R(0) : R(1);
    return {terms[kSurvive], terminated};
  }

  template <class G, class M, class W, class Put>
  SIM_HD static void observe(const G& g, const M& m, const W& w, const Options&, Put put) {
    const int next = put_positions(g, m, w, 0, 0, put);
    put_velocities(g, m, w, next, R(0), put);
  }
};

}  // namespace hotloop
