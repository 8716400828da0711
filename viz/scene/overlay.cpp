#include "viz/scene/overlay.h"

#include <algorithm>
#include <cmath>
#include <glm/gtc/quaternion.hpp>

#include "viz/scene/lights.h"
#include "viz/scene/poses.h"

namespace hotloop {
namespace {

constexpr float kGravity = 9.81f;  // [m/s^2]

glm::quat as_quat(const float* q) { return {q[0], q[1], q[2], q[3]}; }
glm::vec4 as_vec4(const glm::quat& q) { return {q.w, q.x, q.y, q.z}; }

// The turn that brings z into a direction.
glm::quat turn_z_to(const glm::vec3& dir) {
  const glm::vec3 z(0, 0, 1), d = glm::normalize(dir);
  if (d.z < -0.9999f) return {0, 1, 0, 0};
  return glm::normalize(glm::quat(1 + d.z, glm::cross(z, d)));
}

class Aids {
 public:
  Aids(const VisualModel& model, std::span<const Frame> frames, const glm::vec3& offset)
      : model_(model), frames_(frames), offset_(offset) {
    // a typical shape's size is the measure of all
    float sum = 0;
    int count = 0;
    for (const VisualShape& shape : model.shapes) {
      if (shape.frame == 0) continue;
      sum +=
          shape.kind == ShapeKind::mesh ? 0.1f * model.extent : std::max({shape.size[0], shape.size[1], shape.size[2]});
      ++count;
    }
    size_ = count > 0 ? sum / static_cast<float>(count) : 0.1f * model.extent;
  }

  void contacts(const std::vector<ShownContact>& contacts, bool points, bool forces) {
    float mass = 0;
    for (const VisualFrame& frame : model_.frames) mass += frame.mass;
    for (const ShownContact& contact : contacts) {
      const glm::vec3 pos = as_vec3(contact.pos) + offset_;
      if (points && glm::length(as_vec3(contact.normal)) > 0)
        add(UnitMesh::cylinder, pos, turn_z_to(as_vec3(contact.normal)), {0.25f * size_, 0.25f * size_, 0.04f * size_},
            {0.9f, 0.6f, 0.2f, 1});
      // as long as the model is large for its weight
      const glm::vec3 force = as_vec3(contact.force) * (model_.extent / std::max(mass * kGravity, 1e-6f));
      if (forces)
        arrow(pos, force * std::min(1.0f, 2 * model_.extent / std::max(glm::length(force), 1e-9f)), 0.1f * size_,
              {0.7f, 0.9f, 0.9f, 1});
    }
  }

  void perturbation(const SceneOverlay& overlay) {
    const glm::vec3 from = as_vec3(overlay.perturb_from) + offset_, to = as_vec3(overlay.perturb_to) + offset_;
    add(UnitMesh::sphere, from, {1, 0, 0, 0}, glm::vec3(0.2f * size_), {1, 0.5f, 0.5f, 1});
    arrow(from, to - from, 0.12f * size_, {1, 0.4f, 0.3f, 1});
  }

  void joints() {
    for (const VisualJoint& joint : model_.joints) {
      if (!has(joint.frame)) continue;
      const glm::vec3 pos = point(joint.frame, as_vec3(joint.pos));
      const glm::vec4 color(0.2f, 0.6f, 0.8f, 1);
      if (joint.kind == VisualJoint::Kind::hinge || joint.kind == VisualJoint::Kind::slide)
        arrow(pos, as_quat(frame(joint.frame).quat) * as_vec3(joint.axis) * 1.5f * size_, 0.12f * size_, color);
      else
        add(joint.kind == VisualJoint::Kind::ball ? UnitMesh::sphere : UnitMesh::box, pos, {1, 0, 0, 0},
            glm::vec3(0.3f * size_), color);
    }
  }

  void bodies(bool com, bool inertia, bool axes) {
    for (std::size_t i = 1; i < std::min(frames_.size(), model_.frames.size()); ++i) {
      const int index = static_cast<int>(i);
      const VisualFrame& body = model_.frames[i];
      const glm::quat turn = as_quat(frames_[i].quat);
      if (com)
        add(UnitMesh::sphere, point(index, as_vec3(body.com)), turn, glm::vec3(0.25f * size_), {0.9f, 0.9f, 0.9f, 1});
      if (inertia && body.mass > 0) inertia_box(index, body);
      for (int k = 0; axes && k < 3; ++k) {
        glm::vec3 axis(0);
        axis[k] = 1;
        arrow(point(index, glm::vec3(0)), turn * axis * 1.2f * size_, 0.08f * size_, glm::vec4(axis * 0.9f, 1));
      }
    }
  }

  void lights_and_cameras(bool lights, bool cameras) {
    for (const VisualLight& light : model_.lights)
      if (lights && has(light.frame)) {
        const LightPose pose = light_pose(model_, light, frames_);
        add(UnitMesh::cone, pose.pos + offset_, turn_z_to(-pose.dir), glm::vec3(0.4f * size_), {0.9f, 0.9f, 0.3f, 1});
      }
    for (const VisualCamera& camera : model_.cameras)
      if (cameras && has(camera.frame))
        add(UnitMesh::box, point(camera.frame, as_vec3(camera.pos)),
            as_quat(frame(camera.frame).quat) * as_quat(camera.quat.data()), glm::vec3(0.4f, 0.3f, 0.5f) * size_,
            {0.4f, 0.8f, 0.4f, 1});
  }

  std::vector<GpuShape> take() { return std::move(shapes_); }

 private:
  bool has(int index) const { return index >= 0 && static_cast<std::size_t>(index) < frames_.size(); }
  const Frame& frame(int index) const { return frames_[static_cast<std::size_t>(index)]; }
  glm::vec3 point(int index, const glm::vec3& local) const {
    const Frame& f = frame(index);
    return glm::vec3(f.pos[0], f.pos[1], f.pos[2]) + as_quat(f.quat) * local + offset_;
  }

  void add(UnitMesh mesh, const glm::vec3& pos, const glm::quat& quat, const glm::vec3& scale, const glm::vec4& color) {
    shapes_.push_back(free_shape(mesh, pos, as_vec4(quat), scale, color));
  }

  void arrow(const glm::vec3& from, const glm::vec3& along, float radius, const glm::vec4& color) {
    const float length = glm::length(along);
    if (!(length > 1e-6f)) return;
    const glm::vec3 dir = along / length;
    const glm::quat turn = turn_z_to(dir);
    const float tip = std::min(4 * radius, 0.5f * length), shaft = length - tip;
    add(UnitMesh::cylinder, from + dir * shaft * 0.5f, turn, {radius, radius, shaft / 2}, color);
    add(UnitMesh::cone, from + dir * (shaft + tip / 2), turn, {2 * radius, 2 * radius, tip / 2}, color);
  }

  // The box of uniform density with this mass and inertia: I_x = m / 3 (b^2 + c^2), so a^2 = 3/2 (I_y + I_z - I_x) / m.
  void inertia_box(int index, const VisualFrame& body) {
    const auto [x, y, z] = body.inertia;
    const auto half = [&](float sum) { return std::sqrt(std::max(1.5f * sum / body.mass, 1e-8f)); };
    add(UnitMesh::box, point(index, as_vec3(body.com)), as_quat(frame(index).quat) * as_quat(body.inertia_quat.data()),
        {half(y + z - x), half(z + x - y), half(x + y - z)}, {0.8f, 0.2f, 0.2f, 0.6f});
  }

  const VisualModel& model_;
  std::span<const Frame> frames_;
  glm::vec3 offset_;
  float size_ = 1;
  std::vector<GpuShape> shapes_;
};

}  // namespace

std::vector<GpuShape> overlay_shapes(const VisualModel& model, std::span<const Frame> frames, const glm::vec3& offset,
                                     const SceneFlags& flags, const SceneOverlay& overlay) {
  Aids aids(model, frames, offset);
  if (flags.contacts || flags.contact_forces) aids.contacts(overlay.contacts, flags.contacts, flags.contact_forces);
  if (flags.perturbation && overlay.perturbing) aids.perturbation(overlay);
  if (flags.joints) aids.joints();
  if (flags.com || flags.inertia || flags.frames) aids.bodies(flags.com, flags.inertia, flags.frames);
  if (flags.lights || flags.cameras) aids.lights_and_cameras(flags.lights, flags.cameras);
  return aids.take();
}

}  // namespace hotloop
