#include "viz/scene/shape_table.h"

#include <algorithm>
#include <cmath>

namespace hotloop {
namespace {

// Scale of the unit mesh, and in w by how much a capsule's halves are moved apart.
glm::vec4 scale_of(const VisualShape& shape) {
  const auto [a, b, c] = shape.size;
  switch (shape.kind) {
    case ShapeKind::sphere:
      return {a, a, a, 0};
    case ShapeKind::capsule:
      return {a, a, a, b};
    case ShapeKind::cylinder:
      return {a, a, b, 0};
    case ShapeKind::plane:
      return {a, b, 1, 0};
    default:
      return {a, b, c, 0};
  }
}

UnitMesh mesh_of(ShapeKind kind) {
  switch (kind) {
    case ShapeKind::sphere:
    case ShapeKind::ellipsoid:
      return UnitMesh::sphere;
    case ShapeKind::capsule:
      return UnitMesh::capsule;
    case ShapeKind::cylinder:
      return UnitMesh::cylinder;
    case ShapeKind::box:
      return UnitMesh::box;
    default:
      return UnitMesh::plane;
  }
}

float farthest_vertex(const VisualMesh& mesh, const Float3& scale) {
  float most = 0;
  for (std::size_t i = 0; i + 2 < mesh.position.size(); i += 3) {
    const glm::vec3 p(mesh.position[i] * scale[0], mesh.position[i + 1] * scale[1], mesh.position[i + 2] * scale[2]);
    most = std::max(most, glm::length(p));
  }
  return most;
}

// Of a ball about the shape's origin that holds it.
float bound_of(const VisualModel& model, const VisualShape& shape) {
  const auto [a, b, c] = shape.size;
  switch (shape.kind) {
    case ShapeKind::sphere:
      return a;
    case ShapeKind::capsule:
      return a + b;
    case ShapeKind::cylinder:
    case ShapeKind::plane:
      return std::hypot(a, b);
    case ShapeKind::ellipsoid:
      return std::max({a, b, c});
    case ShapeKind::mesh:
      return farthest_vertex(model.meshes[static_cast<std::size_t>(shape.mesh)], shape.size);
    default:
      return std::hypot(a, b, c);
  }
}

// Texture coordinates as MJCF's texrepeat and texuniform define them: repeats over the object or over a metre.
void set_texture_scale(GpuShape& out, const VisualModel& model, const VisualShape& shape) {
  if (shape.material < 0) return;
  const VisualMaterial& material = model.materials[static_cast<std::size_t>(shape.material)];
  for (int k = 0; k < 2; ++k) {
    const float size =
        k == 0 || shape.kind == ShapeKind::plane || shape.kind == ShapeKind::box || shape.kind == ShapeKind::ellipsoid
            ? shape.size[static_cast<std::size_t>(k)]
            : shape.size[0];
    const bool whole = !material.texuniform && size > 0;  // else, and of an endless plane, repeats over two metres
    out.uv[k] = material.texrepeat[static_cast<std::size_t>(k)] * (whole ? 0.5f / size : 0.5f);
  }
  for (int k = 0; k < 3; ++k) out.cube[k] = material.texuniform ? 1 / std::max(out.scale[k], 1e-6f) : 1;
}

}  // namespace

GpuShape gpu_shape(const VisualModel& model, const VisualShape& shape) {
  GpuShape out{};
  std::copy(shape.pos.begin(), shape.pos.end(), out.pos);
  std::copy(shape.quat.begin(), shape.quat.end(), out.quat);
  const glm::vec4 scale = scale_of(shape);
  for (int k = 0; k < 4; ++k) out.scale[k] = scale[k];
  std::copy(shape.rgba.begin(), shape.rgba.end(), out.rgba);
  out.pos[3] = bound_of(model, shape);
  out.uv[2] = shape.kind == ShapeKind::ellipsoid || shape.kind == ShapeKind::mesh ? out.pos[3] : shape.size[0];
  set_texture_scale(out, model, shape);
  const bool is_mesh = shape.kind == ShapeKind::mesh;
  if (is_mesh) out.uv[3] = model.meshes[static_cast<std::size_t>(shape.mesh)].texcoord.empty() ? 0 : 1;
  out.frame = static_cast<std::uint32_t>(shape.frame);
  out.mesh = is_mesh ? static_cast<std::uint32_t>(UnitMesh::count) + static_cast<std::uint32_t>(shape.mesh)
                     : static_cast<std::uint32_t>(mesh_of(shape.kind));
  out.material = static_cast<std::uint32_t>(shape.material + 1);
  if (shape.rgba[3] < 1) out.flags |= kTransparent;
  if (shape.kind != ShapeKind::plane && shape.rgba[3] >= 1 && !shape.is_site) out.flags |= kCastsShadow;
  if (shape.frame == 0) out.flags |= kStatic;
  return out;
}

GpuShape free_shape(UnitMesh mesh, const glm::vec3& pos, const glm::vec4& quat, const glm::vec3& scale,
                    const glm::vec4& rgba) {
  GpuShape out{};
  for (int k = 0; k < 4; ++k) {
    out.quat[k] = quat[k];
    out.rgba[k] = rgba[k];
  }
  for (int k = 0; k < 3; ++k) {
    out.pos[k] = pos[k];
    out.scale[k] = scale[k];
  }
  out.frame = kNoFrame;
  out.mesh = static_cast<std::uint32_t>(mesh);
  return out;
}

ShapeTable::ShapeTable(const VisualModel& model) : model_(model) {
  for (const VisualShape& shape : model.shapes) shapes_.push_back(gpu_shape(model, shape));
  buffer_ = GlBuffer(shapes_.size() * sizeof(GpuShape), 0, shapes_.data());
}

bool ShapeTable::shown(std::size_t index, const SceneFlags& flags) const {
  const VisualShape& shape = model_.shapes[index];
  const std::size_t group = static_cast<std::size_t>(std::clamp(shape.group, 0, 5));
  if (shape.frame == 0 && !flags.static_shapes) return false;
  return shape.rgba[3] > 0 && (shape.is_site ? flags.site_groups[group] : flags.groups[group]);
}

bool ShapeTable::is_floor(std::size_t index, float spacing) const {
  const VisualShape& shape = model_.shapes[index];
  if (shape.kind != ShapeKind::plane) return false;
  // endless planes, and those that would overlap their neighbours'; one world's (spacing 0) always
  const bool large =
      std::min(shape.size[0], shape.size[1]) <= 0 || std::max(shape.size[0], shape.size[1]) > spacing / 2;
  return shape.frame == 0 && large;
}

std::vector<std::uint32_t> ShapeTable::visible(const SceneFlags& flags, float spacing) const {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < shapes_.size(); ++i)
    if (shown(i, flags) && !is_floor(i, spacing)) out.push_back(static_cast<std::uint32_t>(i));
  return out;
}

std::vector<std::uint32_t> ShapeTable::floors(const SceneFlags& flags, float spacing) const {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < shapes_.size(); ++i)
    if (shown(i, flags) && is_floor(i, spacing)) out.push_back(static_cast<std::uint32_t>(i));
  return out;
}

}  // namespace hotloop
