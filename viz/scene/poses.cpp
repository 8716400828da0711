#include "viz/scene/poses.h"

#include <vector>

namespace hotloop {

glm::vec3 as_vec3(const Float3& v) { return {v[0], v[1], v[2]}; }
glm::vec3 position(const Frame& frame) { return {frame.pos[0], frame.pos[1], frame.pos[2]}; }
glm::quat rotation(const Frame& frame) { return {frame.quat[0], frame.quat[1], frame.quat[2], frame.quat[3]}; }

glm::vec3 subtree_com(const VisualModel& model, int frame, std::span<const Frame> frames) {
  glm::vec3 sum{0};
  float mass = 0;
  std::vector<bool> inside(model.frames.size());
  for (int i = 0; i < model.num_frames(); ++i) {  // parents come first
    const VisualFrame& body = model.frames[i];
    inside[i] = i == frame || (i > 0 && inside[body.parent]);
    if (!inside[i]) continue;
    sum += body.mass * (position(frames[i]) + rotation(frames[i]) * as_vec3(body.com));
    mass += body.mass;
  }
  return mass > 0 ? sum / mass : position(frames[frame]);
}

glm::vec3 target_point(const VisualModel& model, FollowMode mode, int target, std::span<const Frame> frames) {
  return mode == FollowMode::targetbody ? position(frames[target]) : subtree_com(model, target, frames);
}

}  // namespace hotloop
