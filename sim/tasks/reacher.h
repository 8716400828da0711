// Reacher-v5: an arm of two links in the plane reaches for a target. Facts: gymnasium/envs/mujoco/reacher_v5.py.
#pragma once
#include "sim/tasks/task.h"

namespace hotloop {

template <class R>
struct Reacher {
  using Real = R;
  static constexpr const char *kName = "Reacher-v5", *kModel = "reacher.xml", *kType = "Reacher",
                              *kSource = "sim/tasks/reacher.h";
  static constexpr TaskCamera kCamera = {.distance = 0.8, .elevation = -89};
  static constexpr int kNq = 4, kNv = 4, kNu = 2, kNbody = 5;
  static constexpr int kMaxEpisodeSteps = 50;
  static constexpr double kRewardThreshold = -3.75, kActionBound = 1;
  static constexpr unsigned kKeep = kKeepPosition;
  static constexpr bool kForces = false;
  enum Term { kDist, kCtrl, kTerms };
  static constexpr const char* kTermNames[] = {"reward_dist", "reward_ctrl"};

  static constexpr int kFingertip = 3, kTarget = 4;  // bodies

  struct Options {
    int frame_skip = 2;
    R reward_dist_weight = R(1), reward_control_weight = R(1);
  };
#ifndef __CUDACC_RTC__
  template <class Visitor>
  static void visit_options(Options& o, Visitor&& v) {
    visit_frame_skip(o, v);
    v("reward_dist_weight", o.reward_dist_weight, KeyRule{.help = "weight of the distance to the target"});
    v("reward_control_weight", o.reward_control_weight, KeyRule{.help = "weight of the squared actions"});
  }
#endif

  struct Memory {};

  static constexpr int obs_dim(const Options&) { return 10; }

  template <class G, class M, class W>
  SIM_HD static void reset(const G& g, const M& m, const W& w, const Options&, const Rng& rng) {
    reset_positions(g, m, w, rng, R(0.1));
    reset_velocities_uniform(g, m, w, rng, R(0.005));
    g.once([&] {
      Rng own = rng.at_block(2000);
      R x, y;
      do {
        x = own.uniform(R(-0.2), R(0.2));
        y = own.uniform(R(-0.2), R(0.2));
      } while (x * x + y * y >= R(0.04));
      w.qpos()[2] = x;
      w.qpos()[3] = y;
      w.qvel()[2] = w.qvel()[3] = 0;
    });
  }

  template <class G, class M, class W>
  SIM_HD static void begin(const G&, const M&, const W&, const Options&, Memory&) {}

  template <class G, class M, class W>
  SIM_HD static TaskResult<R> result(const G& g, const M& m, const W& w, const Options& o, Memory&, R* terms) {
    const Vec3<R> way = body_position(w, kFingertip) - body_position(w, kTarget);
    terms[kDist] = -o.reward_dist_weight * length(way);
    terms[kCtrl] = -o.reward_control_weight * squared_actions(g, m, w);
    return {terms[kDist] + terms[kCtrl], false};
  }

  template <class G, class M, class W, class Put>
  SIM_HD static void observe(const G& g, const M&, const W& w, const Options&, Put put) {
    g.for_each(2, [&](int i) {
      R sine, cosine;
      sin_cos(w.qpos()[i], sine, cosine);
      put(i, cosine);
      put(2 + i, sine);
      put(4 + i, w.qpos()[2 + i]);
      put(6 + i, w.qvel()[i]);
      put(8 + i, w.xpos()[3 * kFingertip + i] - w.xpos()[3 * kTarget + i]);
    });
  }
};

}  // namespace hotloop
