// InvertedDoublePendulum-v5: a cart on a rail balances two poles, one on the other. Facts:
// gymnasium/envs/mujoco/inverted_double_pendulum_v5.py.
#pragma once
#include "sim/tasks/task.h"

namespace hotloop {

template <class R>
struct InvertedDoublePendulum {
  using Real = R;
  static constexpr const char *kName = "InvertedDoublePendulum-v5", *kModel = "inverted_double_pendulum.xml",
                              *kType = "InvertedDoublePendulum", *kSource = "sim/tasks/inverted_double_pendulum.h";
  static constexpr TaskCamera kCamera = {.distance = 4.1225, .elevation = -10};
  static constexpr int kNq = 3, kNv = 3, kNu = 1, kNbody = 4;
  static constexpr int kMaxEpisodeSteps = 1000;
  static constexpr double kRewardThreshold = 9100, kActionBound = 1;
  static constexpr unsigned kKeep = kKeepPose | kKeepForce;
  static constexpr bool kForces = true;
  enum Term { kSurvive, kDistance, kVelocity, kTerms };
  static constexpr const char* kTermNames[] = {"reward_survive", "distance_penalty", "velocity_penalty"};

  struct Options {
    int frame_skip = 5;
    R healthy_reward = R(10), reset_noise_scale = R(0.1);
  };
#ifndef __CUDACC_RTC__
  template <class Visitor>
  static void visit_options(Options& o, Visitor&& v) {
    visit_frame_skip(o, v);
    v("healthy_reward", o.healthy_reward, KeyRule{.help = "reward of a step that does not end the episode"});
    visit_reset_noise(o, v);
  }
#endif

  struct Memory {};

  static constexpr int obs_dim(const Options&) { return 9; }

  template <class G, class M, class W>
  SIM_HD static void reset(const G& g, const M& m, const W& w, const Options& o, const Rng& rng) {
    reset_positions(g, m, w, rng, o.reset_noise_scale);
    reset_velocities_normal(g, m, w, rng, o.reset_noise_scale);
  }

  template <class G, class M, class W>
  SIM_HD static void begin(const G&, const M&, const W&, const Options&, Memory&) {}

  template <class G, class M, class W>
  SIM_HD static TaskResult<R> result(const G&, const M& m, const W& w, const Options& o, Memory&, R* terms) {
    const Vec3<R> tip = site_position(m, w, 0);
    const R v1 = w.qvel()[1], v2 = w.qvel()[2];
    const bool terminated = tip.z <= R(1);
    terms[kSurvive] = terminated ? R(0) : o.healthy_reward;
    terms[kDistance] = -(R(0.01) * tip.x * tip.x + (tip.z - R(2)) * (tip.z - R(2)));
    terms[kVelocity] = -(R(1e-3) * v1 * v1 + R(5e-3) * v2 * v2);
    return {terms[kSurvive] + terms[kDistance] + terms[kVelocity], terminated};
  }

  template <class G, class M, class W, class Put>
  SIM_HD static void observe(const G& g, const M& m, const W& w, const Options&, Put put) {
    g.for_each(3, [&](int i) {
      if (i == 0) put(0, w.qpos()[0]);
      if (i > 0) {
        R sine, cosine;
        sin_cos(w.qpos()[i], sine, cosine);
        put(i, sine);
        put(2 + i, cosine);
      }
    });
    put_velocities(g, m, w, 5, R(10), put);
    g.once([&] { put(8, clamp(w.qfrc_constraint()[0], R(-10), R(10))); });
  }
};

}  // namespace hotloop
