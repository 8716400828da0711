#include "sim/core/visual_builder.h"

#include <cmath>
#include <utility>

#include "sim/core/error.h"

namespace hotloop {
namespace {

// The shortest turn of the z axis to a unit vector.
Float4 turn_from_z(const Float3& to) {
  if (to[2] < -0.999999f) return {0, 1, 0, 0};
  const float w = 1 + to[2], x = -to[1], y = to[0];
  const float s = 1 / std::sqrt(w * w + x * x + y * y);
  return {w * s, x * s, y * s, 0};
}

// A flat quad a b c d, counter-clockwise from outside.
void add_quad(VisualMesh& mesh, const std::array<Float3, 4>& corners, const Float3& normal) {
  const auto first = static_cast<std::uint32_t>(mesh.position.size() / 3);
  for (const Float3& corner : corners) {
    mesh.position.insert(mesh.position.end(), corner.begin(), corner.end());
    mesh.normal.insert(mesh.normal.end(), normal.begin(), normal.end());
  }
  for (const std::uint32_t k : {0u, 1u, 2u, 0u, 2u, 3u}) mesh.index.push_back(first + k);
}

}  // namespace

VisualBuilder::VisualBuilder(std::string name) : name_(std::move(name)) { frame("world"); }

int VisualBuilder::frame(const std::string& name) {
  model_.frames.push_back({.name = name});
  return model_.num_frames() - 1;
}

VisualShape& VisualBuilder::add(ShapeKind kind, int frame, const Float3& pos, const Float3& size, const Float3& rgb) {
  model_.shapes.push_back(
      {.kind = kind, .frame = frame, .pos = pos, .size = size, .rgba = {rgb[0], rgb[1], rgb[2], 1}});
  return model_.shapes.back();
}

void VisualBuilder::box(int frame, const Float3& pos, const Float3& half_size, const Float3& rgb) {
  add(ShapeKind::box, frame, pos, half_size, rgb);
}

void VisualBuilder::sphere(int frame, const Float3& pos, float radius, const Float3& rgb) {
  add(ShapeKind::sphere, frame, pos, {radius, radius, radius}, rgb);
}

void VisualBuilder::along(ShapeKind kind, int frame, const Float3& from, const Float3& to, float radius,
                          const Float3& rgb) {
  Float3 middle{}, axis{};
  float length = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    middle[k] = 0.5f * (from[k] + to[k]);
    axis[k] = to[k] - from[k];
    length += axis[k] * axis[k];
  }
  length = std::sqrt(length);
  for (float& x : axis) x /= length;
  add(kind, frame, middle, {radius, 0.5f * length, 0}, rgb).quat = turn_from_z(axis);
}

void VisualBuilder::capsule(int frame, const Float3& from, const Float3& to, float radius, const Float3& rgb) {
  along(ShapeKind::capsule, frame, from, to, radius, rgb);
}

void VisualBuilder::cylinder(int frame, const Float3& from, const Float3& to, float radius, const Float3& rgb) {
  along(ShapeKind::cylinder, frame, from, to, radius, rgb);
}

void VisualBuilder::terrain(const Curve& curve, float bottom, float half_depth, const Float3& rgb) {
  VisualMesh mesh;
  mesh.name = "terrain";
  const std::size_t n = curve.size() / 2;
  const float y = half_depth;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const float x0 = curve[2 * i], z0 = curve[2 * i + 1], x1 = curve[2 * i + 2], z1 = curve[2 * i + 3];
    const float length = std::sqrt((x1 - x0) * (x1 - x0) + (z1 - z0) * (z1 - z0));
    add_quad(mesh, {{{x0, -y, z0}, {x1, -y, z1}, {x1, y, z1}, {x0, y, z0}}},
             {(z0 - z1) / length, 0, (x1 - x0) / length});
    add_quad(mesh, {{{x0, -y, bottom}, {x1, -y, bottom}, {x1, -y, z1}, {x0, -y, z0}}}, {0, -1, 0});
    add_quad(mesh, {{{x1, y, bottom}, {x0, y, bottom}, {x0, y, z0}, {x1, y, z1}}}, {0, 1, 0});
  }
  const float left = curve[0], left_z = curve[1], right = curve[2 * n - 2], right_z = curve[2 * n - 1];
  add_quad(mesh, {{{left, y, bottom}, {left, -y, bottom}, {left, -y, left_z}, {left, y, left_z}}}, {-1, 0, 0});
  add_quad(mesh, {{{right, -y, bottom}, {right, y, bottom}, {right, y, right_z}, {right, -y, right_z}}}, {1, 0, 0});
  add_quad(mesh, {{{left, y, bottom}, {right, y, bottom}, {right, -y, bottom}, {left, -y, bottom}}}, {0, 0, -1});
  add(ShapeKind::mesh, 0, {0, 0, 0}, {1, 1, 1}, rgb).mesh = static_cast<int>(model_.meshes.size());
  model_.meshes.push_back(std::move(mesh));
}

void VisualBuilder::look_at(const Float3& center, float extent, float distance, float elevation) {
  model_.center = center;
  model_.extent = extent;
  model_.distance = distance / extent;
  model_.elevation = elevation;
}

VisualModel VisualBuilder::finish(int num_frames) {
  if (model_.num_frames() != num_frames)
    throw Error("environment '" + name_ + "': visual() names " + std::to_string(model_.num_frames()) +
                " frames with the world's, kFrames is " + std::to_string(num_frames));
  model_.lights.push_back(plain_light());
  return std::move(model_);
}

}  // namespace hotloop
