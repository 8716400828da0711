#include "viz/ui/camera_control.h"

#include <algorithm>
#include <cmath>
#include <glm/gtc/quaternion.hpp>

#include "sim/core/error.h"
#include "sim/core/value.h"
#include "viz/scene/poses.h"

namespace hotloop {
namespace {

// Turned so that -z points along `direction` and z of the world is up.
glm::quat looking(const glm::vec3& direction) {
  const glm::vec3 up = std::abs(direction.z) > 0.999f ? glm::vec3(0, 1, 0) : glm::vec3(0, 0, 1);
  return glm::quatLookAt(direction, up);
}

}  // namespace

Camera model_camera(const VisualModel& model, int index, std::span<const Frame> frames) {
  const VisualCamera& own = model.cameras[index];
  const glm::quat local(own.quat[0], own.quat[1], own.quat[2], own.quat[3]);
  const Frame& frame = frames[own.frame];
  Camera camera = start_camera(model);
  camera.posed = true;
  camera.fovy = own.fovy;
  glm::quat turn = rotation(frame) * local;
  camera.pos = position(frame) + rotation(frame) * as_vec3(own.pos);
  switch (own.mode) {
    case FollowMode::fixed:
      break;
    case FollowMode::track:  // keeps its distance and its direction in the world, not those in the body
      camera.pos = position(frame) + as_vec3(own.pos);
      turn = local;
      break;
    case FollowMode::trackcom:
      camera.pos = subtree_com(model, own.frame, frames) + as_vec3(own.pos);
      turn = local;
      break;
    case FollowMode::targetbody:
    case FollowMode::targetbodycom:
      if (own.target < 0) break;
      const glm::vec3 target = target_point(model, own.mode, own.target, frames);
      if (glm::length(target - camera.pos) > 1e-6f) turn = looking(glm::normalize(target - camera.pos));
      break;
  }
  camera.quat = {turn.w, turn.x, turn.y, turn.z};
  return camera;
}

CameraControl::CameraControl(const VisualModel& model) : model_(model), orbit_(start_camera(model)), last_(orbit_) {
  if (model.track > 0) track(model.track);
}

std::string CameraControl::name() const {
  if (mode_ == Mode::free) return "free";
  if (mode_ == Mode::track) return "track " + model_.frames[frame_].name + (whole_grid_ ? ", the grid with it" : "");
  const std::string& own = model_.cameras[fixed_].name;
  return own.empty() ? "camera " + std::to_string(fixed_) : own;
}

void CameraControl::set_free() {
  leave_fixed();
  mode_ = Mode::free;
}

void CameraControl::track(int frame) {
  leave_fixed();
  if (frame < 0 || frame >= model_.num_frames()) return;
  mode_ = Mode::track;
  frame_ = frame;
  whole_grid_ = false;
}

void CameraControl::set_fixed(int index) {
  if (index < 0 || index >= static_cast<int>(model_.cameras.size())) return;
  mode_ = Mode::fixed;
  fixed_ = index;
}

void CameraControl::set_fixed(const std::string& name) {
  std::vector<std::string> names;
  for (const VisualCamera& own : model_.cameras) names.push_back(own.name);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    std::string hint = suggestion(name, names);
    if (hint.empty()) {
      std::string all;
      for (const std::string& known : names) all += (all.empty() ? "" : ", ") + shown(known);
      hint = names.empty() ? " (it has none)" : " (it has " + all + ")";
    }
    throw Error("--camera " + shown(name) + ": the model has no such camera" + hint);
  }
  set_fixed(static_cast<int>(found - names.begin()));
}

void CameraControl::cycle(int direction) {
  const int followed = model_.track > 0 || frame_ > 0 ? 1 : 0, cameras = static_cast<int>(model_.cameras.size());
  const int count = 1 + followed + cameras;
  int at = mode_ == Mode::free ? 0 : mode_ == Mode::track ? 1 : 1 + followed + fixed_;
  at = (at + direction % count + count) % count;
  if (at == 0)
    set_free();
  else if (at == 1 && followed)
    track(frame_ > 0 ? frame_ : model_.track);
  else
    set_fixed(at - 1 - followed);
}

void CameraControl::align(const Camera& first, bool grid) {
  mode_ = Mode::free;
  orbit_ = first;
  if (model_.track > 0) track(model_.track);
  whole_grid_ = grid;
  grid_middle_ = first.lookat;
}

// The free camera goes on from where the model's one stood.
void CameraControl::leave_fixed() {
  if (mode_ != Mode::fixed) return;
  mode_ = Mode::free;
  const glm::quat turn(last_.quat[0], last_.quat[1], last_.quat[2], last_.quat[3]);
  const glm::vec3 forward = turn * glm::vec3(0, 0, -1);
  orbit_.lookat = last_.pos + orbit_.distance * forward;
  orbit_.azimuth = glm::degrees(std::atan2(forward.y, forward.x));
  orbit_.elevation = std::clamp(glm::degrees(std::asin(std::clamp(forward.z, -1.0f, 1.0f))), -89.0f, 89.0f);
}

// A drag over the picture's height turns by 180 degrees, as in MuJoCo.
void CameraControl::rotate(float dx, float dy) {
  leave_fixed();
  orbit_.azimuth = std::remainder(orbit_.azimuth - 180 * dx, 360.0f);
  orbit_.elevation = std::clamp(orbit_.elevation - 180 * dy, -89.0f, 89.0f);
}

void CameraControl::pan(float dx, float dy, bool horizontal) {
  set_free();
  // a point at the distance of lookat stays under the mouse
  const float scale = 2 * orbit_.distance * std::tan(glm::radians(orbit_.fovy) / 2);
  const glm::mat3 axes = glm::transpose(glm::mat3(orbit_.view()));  // columns: right, up, back
  const glm::vec3 ahead =
      glm::normalize(glm::vec3(std::cos(glm::radians(orbit_.azimuth)), std::sin(glm::radians(orbit_.azimuth)), 0));
  orbit_.lookat += scale * (-dx * axes[0] + dy * (horizontal ? ahead : axes[1]));
}

void CameraControl::zoom(float steps) {
  leave_fixed();
  const float extent = std::max(model_.extent, 1e-3f);
  orbit_.distance = std::clamp(orbit_.distance * std::exp(-0.12f * steps), 0.01f * extent, 1e4f * extent);
  orbit_.zfar = std::max(orbit_.zfar, 4 * orbit_.distance);
}

void CameraControl::center(const glm::vec3& point) {
  set_free();
  orbit_.lookat = point;
}

Camera CameraControl::camera(std::span<const Frame> frames, const Float3& offset) {
  const bool known = static_cast<int>(frames.size()) == model_.num_frames();
  last_ = orbit_;
  if (mode_ == Mode::fixed && known) {
    last_ = model_camera(model_, fixed_, frames);
    last_.pos += as_vec3(offset);
  } else if (mode_ == Mode::track && known) {
    const glm::vec3 at = position(frames[frame_]);
    orbit_.lookat = whole_grid_ ? grid_middle_ + glm::vec3(at.x, at.y, 0) : at + as_vec3(offset);
    last_ = orbit_;
  }
  last_.zfar = std::max(last_.zfar, orbit_.zfar);
  return last_;
}

}  // namespace hotloop
