// The shapes of a VisualModel as the shaders read them.
#pragma once
#include <cstdint>
#include <vector>

#include "viz/gl/objects.h"
#include "viz/scene/scene.h"
#include "viz/scene/unit_meshes.h"

namespace hotloop {

// As in shaders/shapes.glsl.
struct GpuShape {
  float pos[4], quat[4], scale[4], rgba[4], uv[4], cube[4];
  std::uint32_t frame, mesh, material, flags;
};
static_assert(sizeof(GpuShape) == 112);

constexpr std::uint32_t kNoFrame = 0xffffffff;
enum ShapeFlag : std::uint32_t { kTransparent = 1, kCastsShadow = 2, kStatic = 4 };

// `material` -1: none. Meshes of the model come after the unit meshes, materials after one that says nothing.
GpuShape gpu_shape(const VisualModel& model, const VisualShape& shape);

// A shape of its own, at a pose in the picture: aids.
GpuShape free_shape(UnitMesh mesh, const glm::vec3& pos, const glm::vec4& quat, const glm::vec3& scale,
                    const glm::vec4& rgba);

class ShapeTable {
 public:
  explicit ShapeTable(const VisualModel& model);
  const std::vector<GpuShape>& shapes() const { return shapes_; }
  GLuint buffer() const { return buffer_.get(); }
  // Those that flags show, without floors: planes of frame 0 that `spacing` makes one floor for all worlds.
  std::vector<std::uint32_t> visible(const SceneFlags& flags, float spacing) const;
  std::vector<std::uint32_t> floors(const SceneFlags& flags, float spacing) const;

 private:
  bool shown(std::size_t index, const SceneFlags& flags) const;
  bool is_floor(std::size_t index, float spacing) const;
  const VisualModel& model_;
  std::vector<GpuShape> shapes_;
  GlBuffer buffer_;
};

}  // namespace hotloop
