#include "viz/ui/perturb.h"

#include <algorithm>
#include <cmath>

namespace hotloop {
namespace {

// The spring's frequency [1/s]; critically damped, so that a body comes to the mouse in about half a second.
constexpr float kFrequency = 10;

glm::vec3 position(const Frame& frame) { return {frame.pos[0], frame.pos[1], frame.pos[2]}; }
glm::quat rotation(const Frame& frame) { return {frame.quat[0], frame.quat[1], frame.quat[2], frame.quat[3]}; }
glm::vec3 vec(const Float3& v) { return {v[0], v[1], v[2]}; }

glm::vec3 center_of_mass(const VisualModel& model, int frame, std::span<const Frame> frames) {
  return position(frames[frame]) + rotation(frames[frame]) * vec(model.frames[frame].com);
}

// The body below the world that `frame` hangs on.
int root_of(const VisualModel& model, int frame) {
  while (frame > 0 && model.frames[frame].parent > 0) frame = model.frames[frame].parent;
  return frame;
}

// Axis times angle [rad] of the shorter way round.
glm::vec3 rotation_vector(glm::quat turn) {
  if (turn.w < 0) turn = -turn;
  const glm::vec3 axis(turn.x, turn.y, turn.z);
  const float sine = glm::length(axis);
  if (sine < 1e-7f) return 2.0f * axis;
  return axis / sine * (2 * std::atan2(sine, turn.w));
}

Float3 floats(const glm::vec3& v) { return {v.x, v.y, v.z}; }

}  // namespace

void Perturb::begin(Kind kind, const VisualModel& model, int frame, const glm::vec3& point,
                    std::span<const Frame> frames) {
  kind_ = kind;
  frame_ = frame;
  local_ = glm::conjugate(rotation(frames[frame])) * (point - position(frames[frame]));
  target_ = last_point_ = point;
  target_turn_ = last_turn_ = rotation(frames[frame]);
  mass_ = inertia_ = 0;
  const glm::vec3 center = center_of_mass(model, frame, frames);
  for (int i = 1; i < model.num_frames(); ++i) {
    if (root_of(model, i) != root_of(model, frame)) continue;
    const VisualFrame& body = model.frames[i];
    const glm::vec3 arm = center_of_mass(model, i, frames) - center;
    mass_ += body.mass;
    inertia_ += (body.inertia[0] + body.inertia[1] + body.inertia[2]) / 3 + body.mass * glm::dot(arm, arm) * 2 / 3;
  }
  mass_ = std::max(mass_, 1e-4f);
  inertia_ = std::max(inertia_, 1e-6f);
}

void Perturb::move(float dx, float dy, const Camera& camera) {
  const glm::mat3 axes = glm::transpose(glm::mat3(camera.view()));  // columns: right, up, back
  if (kind_ == Kind::translate) {
    const float depth = glm::dot(camera.eye() - target_, axes[2]);
    const float scale = 2 * std::max(depth, 1e-3f) * std::tan(glm::radians(camera.fovy) / 2);
    target_ += scale * (dx * axes[0] - dy * axes[1]);
  } else if (kind_ == Kind::rotate) {
    const float pi = 3.14159265f;
    target_turn_ = glm::normalize(glm::angleAxis(pi * dx, axes[1]) * glm::angleAxis(pi * dy, axes[0]) * target_turn_);
  }
}

glm::vec3 Perturb::from(std::span<const Frame> frames) const {
  return position(frames[frame_]) + rotation(frames[frame_]) * local_;
}

void Perturb::apply_force(WorldSource& source, std::int64_t world, std::span<const Frame> frames, double seconds) {
  const float per_second = seconds > 1e-6 ? static_cast<float>(1 / seconds) : 0;
  const glm::vec3 point = from(frames);
  const glm::quat turn = rotation(frames[frame_]);
  glm::vec3 force{0}, torque{0};
  if (kind_ == Kind::translate) {
    const glm::vec3 velocity = (point - last_point_) * per_second;
    force = mass_ * (kFrequency * kFrequency * (target_ - point) - 2 * kFrequency * velocity);
    torque = glm::cross(point - center_of_mass(source.visual(), frame_, frames), force);
  } else {
    const glm::vec3 velocity = rotation_vector(turn * glm::conjugate(last_turn_)) * per_second;
    const glm::vec3 away = rotation_vector(target_turn_ * glm::conjugate(turn));
    torque = inertia_ * (kFrequency * kFrequency * away - 2 * kFrequency * velocity);
  }
  last_point_ = point;
  last_turn_ = turn;
  source.perturb(world, frame_, floats(force), floats(torque));
}

// Only what floats freely can be put anywhere; other bodies hold still, as in MuJoCo.
void Perturb::apply_pose(WorldSource& source, std::int64_t world, std::span<const Frame> frames,
                         const WorldReport& report) {
  const VisualModel& model = source.visual();
  const int root = root_of(model, frame_);
  for (const VisualJoint& joint : model.joints) {
    if (joint.kind != VisualJoint::Kind::free || joint.frame != root) continue;
    if (report.qpos.size() < static_cast<std::size_t>(joint.qpos) + 7) return;
    const glm::quat turned =
        kind_ == Kind::rotate ? target_turn_ * glm::conjugate(rotation(frames[frame_])) : glm::quat(1, 0, 0, 0);
    const glm::vec3 pivot = from(frames), moved = kind_ == Kind::translate ? target_ - pivot : glm::vec3(0);
    const glm::vec3 place = pivot + moved + turned * (position(frames[root]) - pivot);
    const glm::quat turn = glm::normalize(turned * rotation(frames[root]));
    std::vector<float> qpos = report.qpos;
    const float pose[7] = {place.x, place.y, place.z, turn.w, turn.x, turn.y, turn.z};
    std::copy(std::begin(pose), std::end(pose), qpos.begin() + joint.qpos);
    source.set_qpos(world, qpos);
    return;
  }
}

void Perturb::apply(WorldSource& source, std::int64_t world, std::span<const Frame> frames, bool paused, double seconds,
                    const WorldReport& report) {
  if (!active() || frame_ <= 0 || static_cast<std::size_t>(frame_) >= frames.size()) return;
  if (paused && source.info().can_pose) apply_pose(source, world, frames, report);
  if (!paused && source.info().can_perturb) apply_force(source, world, frames, seconds);
}

void Perturb::end(WorldSource& source, std::int64_t world) {
  if (active() && source.info().can_perturb && frame_ > 0) source.perturb(world, frame_, {}, {});
  kind_ = Kind::none;
}

}  // namespace hotloop
