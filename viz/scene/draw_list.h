// All meshes of a model on the GPU, and for one view the list of what is drawn of them: a compute shader writes it, and
// one call draws it.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/visual.h"
#include "viz/gl/objects.h"
#include "viz/scene/unit_meshes.h"

namespace hotloop {

class MeshStore {
 public:
  explicit MeshStore(const VisualModel& model);
  struct Range {
    std::uint32_t count, first_index;
    std::int32_t base_vertex;
  };
  // mesh: of UnitMesh, then the model's.
  const Range& range(std::size_t mesh, int level) const {
    return ranges_[mesh * kMeshLevels + static_cast<std::size_t>(level)];
  }
  std::size_t num_meshes() const { return ranges_.size() / kMeshLevels; }
  // Attributes of the vertices, and of instances a number each from `instances`.
  VertexArray vertex_array(GLuint instances) const;

 private:
  std::vector<Range> ranges_;
  GlBuffer vertices_, index_;
};

// From where one looks, for culling and the level of detail.
struct CullView {
  glm::mat4 clip_from_world{1};
  glm::vec3 eye{0};
  float pixels = 1;  // of a length 1 at distance 1; parallel: anywhere
  bool parallel = false;
  std::uint32_t only = 0;  // ShapeFlags that a shape must have
  bool all_transparent = false;
  int fixed_level = -1;     // -1: by size
  bool everything = false;  // no culling
};

// What a cull pass reads.
struct CullInput {
  GLuint frames = 0, shapes = 0;
  std::uint32_t num_worlds = 0, num_frames = 0, num_shapes = 0, grid_side = 1;
  float grid_spacing = 0;
  std::span<const std::uint32_t> visible;  // shapes
  std::span<const std::uint32_t> mesh_of_shape;
};

class DrawList {
 public:
  explicit DrawList(const MeshStore& meshes) : meshes_(meshes) {}
  void build(const Program& cull, const CullInput& input, const CullView& view);
  void draw_opaque() const { draw(0); }
  void draw_transparent() const { draw(1); }

  // Of the lists' memory, for each shape of each world: a number in all lists that it may go to.
  static constexpr std::int64_t kBytesAShape = 2 * kMeshLevels * sizeof(std::uint32_t);

  // As glMultiDrawElementsIndirect reads it.
  struct Command {
    std::uint32_t count, instance_count, first_index;
    std::int32_t base_vertex;
    std::uint32_t base_instance;
  };
  std::size_t num_commands() const { return commands_.size(); }
  GLuint command_buffer() const { return command_buffer_.get(); }

 private:
  void draw(int half) const;
  const MeshStore& meshes_;
  std::vector<Command> commands_;  // [opaque, transparent][meshes][levels]
  StreamBuffer command_buffer_, visible_;
  GlBuffer instances_;
  VertexArray vertex_array_;
};

}  // namespace hotloop
