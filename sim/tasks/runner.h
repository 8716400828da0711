// What tasks share whose robots are paid for moving along x.
#pragma once
#include "sim/tasks/task.h"

namespace hotloop {

template <class R>
struct RunnerMemory {
  R x;  // [m] of what is paid for moving, before the step
};

// Velocity [m/s] of what is at x now, over the step.
template <class M, class O, class R>
SIM_HD R forward_velocity(const M& m, const O& o, R x, RunnerMemory<R>& memory) {
  const R velocity = (x - memory.x) / (m.timestep * R(o.frame_skip));
  memory.x = x;
  return velocity;
}

// Planar robots, whose x is qpos[0]. Task: kUnseen, the coordinates that the observation leaves out where the option
// says so; kVelocityBound, observed velocities are limited to it (0: not); kNormalStart, start velocities are normal
// instead of uniform.
template <class R, class Task>
struct Runner {
  using Real = R;
  using Memory = RunnerMemory<R>;
  static constexpr int kMaxEpisodeSteps = 1000;
  static constexpr double kActionBound = 1;
  static constexpr unsigned kKeep = 0;
  static constexpr bool kForces = false;

  template <class O>
  static constexpr int obs_dim(const O& o) {
    return Task::kNq + Task::kNv - (o.exclude_current_positions_from_observation ? Task::kUnseen : 0);
  }

  template <class G, class M, class W, class O>
  SIM_HD static void reset(const G& g, const M& m, const W& w, const O& o, const Rng& rng) {
    reset_positions(g, m, w, rng, o.reset_noise_scale);
    if constexpr (Task::kNormalStart)
      reset_velocities_normal(g, m, w, rng, o.reset_noise_scale);
    else
      reset_velocities_uniform(g, m, w, rng, o.reset_noise_scale);
  }

  template <class G, class M, class W, class O>
  SIM_HD static void begin(const G&, const M&, const W& w, const O&, Memory& memory) {
    memory.x = w.qpos()[0];
  }

  template <class G, class M, class W, class O, class Put>
  SIM_HD static void observe(const G& g, const M& m, const W& w, const O& o, Put put) {
    const int unseen = o.exclude_current_positions_from_observation ? Task::kUnseen : 0;
    const int next = put_positions(g, m, w, 0, unseen, put);
    put_velocities(g, m, w, next, R(Task::kVelocityBound), put);
  }
};

#ifndef __CUDACC_RTC__
// Options, members of o by their own names.
template <class O, class Visitor>
void visit_running(O& o, Visitor&& v, const char* velocity = "weight of the velocity along x") {
  visit_frame_skip(o, v);
  v("forward_reward_weight", o.forward_reward_weight, KeyRule{.help = velocity});
  v("ctrl_cost_weight", o.ctrl_cost_weight, KeyRule{.help = "weight of the squared actions"});
}
template <class O, class Visitor>
void visit_healthy(O& o, Visitor&& v) {
  v("healthy_reward", o.healthy_reward, KeyRule{.help = "reward of a step in a healthy state"});
  v("terminate_when_unhealthy", o.terminate_when_unhealthy, KeyRule{.help = "end the episode in an unhealthy state"});
  v("healthy_z_range", o.healthy_z_range, KeyRule{.help = "heights of the torso that are healthy [m]"});
}
template <class O, class Visitor>
void visit_start(O& o, Visitor&& v, const char* unseen = "leave x out of the observation") {
  visit_reset_noise(o, v);
  v("exclude_current_positions_from_observation", o.exclude_current_positions_from_observation,
    KeyRule{.help = unseen});
}
#endif

}  // namespace hotloop
