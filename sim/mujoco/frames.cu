#include "sim/mujoco/frames.h"

#include "sim/core/launch.h"
#include "sim/mujoco/kinematics.h"

namespace hotloop {
namespace {

// Takes what nobody reads.
struct Nowhere {
  SIM_HD Nowhere operator+(int) const { return {}; }
};
SIM_HD void store3(Nowhere, const Vec3<float>&) {}

// As much of a world as joint_pose asks for.
struct Positions {
  const float* values;
  SIM_HD const float* qpos() const { return values; }
  SIM_HD Nowhere xanchor() const { return {}; }
  SIM_HD Nowhere xaxis() const { return {}; }
};

// One thread a world: parents come before their children.
struct FramesOp {
  Model<float> model;
  const float* qpos;
  std::int64_t stride, first;
  Frame* out;

  SIM_HD void operator()(std::int64_t i) const {
    Frame* frames = out + i * model.nbody;
    const Positions world{qpos + (first + i) * stride};
    frames[0] = Frame{};
    for (int b = 1; b < model.nbody; ++b) {
      const Frame& above = frames[model.body_parentid[b]];
      const Pose<float> parent{load3(above.pos), load4(above.quat)}, pose = parent * joint_pose(model, world, b);
      Frame frame;
      store3(frame.pos, pose.pos);
      store4(frame.quat, pose.quat);
      frames[b] = frame;
    }
  }
};

}  // namespace

void write_model_frames(const Exec& exec, const Model<float>& model, const float* qpos, std::int64_t stride,
                        std::int64_t first, std::int64_t count, Frame* out) {
  parallel_for(exec, count, FramesOp{model, qpos, stride, first, out}, 64);
}

}  // namespace hotloop
