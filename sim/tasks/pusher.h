// Pusher-v5: an arm pushes a cylinder to a goal. Facts: gymnasium/envs/mujoco/pusher_v5.py.
#pragma once
#include "sim/tasks/task.h"

namespace hotloop {

template <class R>
struct Pusher {
  using Real = R;
  static constexpr const char *kName = "Pusher-v5", *kModel = "pusher.xml", *kType = "Pusher",
                              *kSource = "sim/tasks/pusher.h";
  static constexpr TaskCamera kCamera = {.distance = 4, .elevation = -40};
  static constexpr int kNq = 11, kNv = 11, kNu = 7, kNbody = 13;
  static constexpr int kMaxEpisodeSteps = 100;
  static constexpr double kRewardThreshold = 0, kActionBound = 2;
  static constexpr unsigned kKeep = kKeepPosition;
  static constexpr bool kForces = false;
  enum Term { kDist, kCtrl, kNear, kTerms };
  static constexpr const char* kTermNames[] = {"reward_dist", "reward_ctrl", "reward_near"};

  static constexpr int kTips = 10, kObject = 11, kGoal = 12;  // bodies
  static constexpr int kArm = 7;                              // joints of the arm

  struct Options {
    int frame_skip = 5;
    R reward_near_weight = R(0.5), reward_dist_weight = R(1), reward_control_weight = R(0.1);
  };
#ifndef __CUDACC_RTC__
  template <class Visitor>
  static void visit_options(Options& o, Visitor&& v) {
    visit_frame_skip(o, v);
    v("reward_near_weight", o.reward_near_weight, KeyRule{.help = "weight of the distance from arm to object"});
    v("reward_dist_weight", o.reward_dist_weight, KeyRule{.help = "weight of the distance from object to goal"});
    v("reward_control_weight", o.reward_control_weight, KeyRule{.help = "weight of the squared actions"});
  }
#endif

  struct Memory {};

  static constexpr int obs_dim(const Options&) { return 2 * kArm + 9; }

  template <class G, class M, class W>
  SIM_HD static void reset(const G& g, const M& m, const W& w, const Options&, const Rng& rng) {
    reset_positions(g, m, w, rng, R(0));
    reset_velocities_uniform(g, m, w, rng, R(0.005));
    g.once([&] {
      Rng own = rng.at_block(2000);
      R y, x;  // in the order of the object's joints
      do {
        y = own.uniform(R(-0.3), R(0));
        x = own.uniform(R(-0.2), R(0.2));
      } while (y * y + x * x <= R(0.17 * 0.17));
      w.qpos()[kArm] = y;
      w.qpos()[kArm + 1] = x;
      for (int i = 0; i < 2; ++i) w.qpos()[kArm + 2 + i] = 0;
      for (int i = 0; i < 4; ++i) w.qvel()[kArm + i] = 0;
    });
  }

  template <class G, class M, class W>
  SIM_HD static void begin(const G&, const M&, const W&, const Options&, Memory&) {}

  template <class G, class M, class W>
  SIM_HD static TaskResult<R> result(const G& g, const M& m, const W& w, const Options& o, Memory&, R* terms) {
    const Vec3<R> object = body_position(w, kObject);
    terms[kDist] = -o.reward_dist_weight * length(object - body_position(w, kGoal));
    terms[kCtrl] = -o.reward_control_weight * squared_actions(g, m, w);
    terms[kNear] = -o.reward_near_weight * length(object - body_position(w, kTips));
    return {terms[kDist] + terms[kCtrl] + terms[kNear], false};
  }

  template <class G, class M, class W, class Put>
  SIM_HD static void observe(const G& g, const M&, const W& w, const Options&, Put put) {
    g.for_each(kArm, [&](int i) {
      put(i, w.qpos()[i]);
      put(kArm + i, w.qvel()[i]);
    });
    g.for_each(9, [&](int i) { put(2 * kArm + i, w.xpos()[3 * kTips + i]); });  // tips, object, goal
  }
};

}  // namespace hotloop
