#include "viz/scene/draw_list.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

namespace hotloop {
namespace {

// Planes of the volume that is seen, pointing inward (Gribb and Hartmann 2001: sums of the matrix's rows).
std::array<glm::vec4, 6> planes_of(const CullView& view) {
  std::array<glm::vec4, 6> planes;
  if (view.everything) {
    planes.fill(glm::vec4(0, 0, 0, 1e30f));
    return planes;
  }
  const glm::mat4 rows = glm::transpose(view.clip_from_world);
  for (int k = 0; k < 3; ++k) {
    // depth is 0 to 1, the others are -1 to 1
    planes[static_cast<std::size_t>(2 * k)] = k == 2 ? rows[2] : rows[3] + rows[k];
    planes[static_cast<std::size_t>(2 * k + 1)] = rows[3] - rows[k];
  }
  for (glm::vec4& plane : planes) plane /= std::max(glm::length(glm::vec3(plane)), 1e-12f);
  return planes;
}

}  // namespace

MeshStore::MeshStore(const VisualModel& model) {
  std::vector<MeshVertex> vertices;
  std::vector<std::uint32_t> index;
  const auto add = [&](const MeshData& mesh) {
    ranges_.push_back({static_cast<std::uint32_t>(mesh.index.size()), static_cast<std::uint32_t>(index.size()),
                       static_cast<std::int32_t>(vertices.size())});
    vertices.insert(vertices.end(), mesh.vertices.begin(), mesh.vertices.end());
    index.insert(index.end(), mesh.index.begin(), mesh.index.end());
  };
  for (std::uint8_t kind = 0; kind < static_cast<std::uint8_t>(UnitMesh::count); ++kind)
    for (int level = 0; level < kMeshLevels; ++level) add(unit_mesh(static_cast<UnitMesh>(kind), level));
  for (const VisualMesh& mesh : model.meshes)
    for (int level = 0; level < kMeshLevels; ++level) add(model_mesh(mesh, level));
  vertices_ = GlBuffer(vertices.size() * sizeof(MeshVertex), 0, vertices.data());
  index_ = GlBuffer(index.size() * sizeof(std::uint32_t), 0, index.data());
}

VertexArray MeshStore::vertex_array(GLuint instances) const {
  VertexArray array = make_vertex_array();
  const GLuint name = array.get();
  glVertexArrayElementBuffer(name, index_.get());
  glVertexArrayVertexBuffer(name, 0, vertices_.get(), 0, sizeof(MeshVertex));
  glVertexArrayVertexBuffer(name, 1, instances, 0, sizeof(std::uint32_t));
  glVertexArrayBindingDivisor(name, 1, 1);
  const auto floats = [&](GLuint location, GLint count, std::size_t offset) {
    glEnableVertexArrayAttrib(name, location);
    glVertexArrayAttribFormat(name, location, count, GL_FLOAT, GL_FALSE, static_cast<GLuint>(offset));
    glVertexArrayAttribBinding(name, location, 0);
  };
  floats(0, 3, offsetof(MeshVertex, pos));
  floats(1, 3, offsetof(MeshVertex, normal));
  floats(2, 2, offsetof(MeshVertex, uv));
  glEnableVertexArrayAttrib(name, 3);
  glVertexArrayAttribIFormat(name, 3, 1, GL_UNSIGNED_INT, 0);
  glVertexArrayAttribBinding(name, 3, 1);
  return array;
}

void DrawList::build(const Program& cull, const CullInput& input, const CullView& view) {
  const std::size_t meshes = meshes_.num_meshes();
  std::vector<std::uint32_t> uses(meshes);
  for (const std::uint32_t shape : input.visible) ++uses[input.mesh_of_shape[shape]];
  // each list has room for all: which level a shape goes to is known on the GPU only
  commands_.clear();
  std::uint32_t room = 0;
  for (int half = 0; half < 2; ++half)
    for (std::size_t mesh = 0; mesh < meshes; ++mesh)
      for (int level = 0; level < kMeshLevels; ++level) {
        const MeshStore::Range& range = meshes_.range(mesh, level);
        commands_.push_back({range.count, 0, range.first_index, range.base_vertex, room});
        room += uses[mesh] * input.num_worlds;
      }
  if (instances_.bytes() < room * sizeof(std::uint32_t) || instances_.get() == 0) {
    instances_ = GlBuffer(std::max<std::size_t>(room, 1) * sizeof(std::uint32_t), 0);
    vertex_array_ = meshes_.vertex_array(instances_.get());
  }
  command_buffer_.write(std::span<const Command>(commands_));
  const auto visible = static_cast<std::uint32_t>(input.visible.size());
  if (visible == 0 || input.num_worlds == 0) return;
  visible_.write(input.visible);

  cull.use();
  const std::array<glm::vec4, 6> planes = planes_of(view);
  cull.set("planes", planes);
  cull.set("num_worlds", input.num_worlds);
  cull.set("num_frames", input.num_frames);
  cull.set("num_shapes", input.num_shapes);
  cull.set("num_visible", visible);
  cull.set("num_meshes", static_cast<unsigned>(meshes));
  cull.set("grid_side", input.grid_side);
  cull.set("grid_spacing", input.grid_spacing);
  cull.set("eye", view.eye);
  cull.set("pixels", view.pixels);
  cull.set("parallel", view.parallel ? 1 : 0);
  cull.set("only", view.only);
  cull.set("all_transparent", view.all_transparent ? 1 : 0);
  cull.set("fixed_level", view.fixed_level);
  const GLuint buffers[] = {input.frames, input.shapes, visible_.get(), command_buffer_.get(), instances_.get()};
  for (GLuint i = 0; i < 5; ++i) glBindBufferBase(GL_SHADER_STORAGE_BUFFER, i, buffers[i]);
  const std::uint32_t groups = (input.num_worlds * visible + 63) / 64;
  glDispatchCompute(std::min(groups, 32768u), (groups + 32767) / 32768, 1);
  glMemoryBarrier(GL_COMMAND_BARRIER_BIT | GL_VERTEX_ATTRIB_ARRAY_BARRIER_BIT | GL_BUFFER_UPDATE_BARRIER_BIT);
}

void DrawList::draw(int half) const {
  glBindVertexArray(vertex_array_.get());
  glBindBuffer(GL_DRAW_INDIRECT_BUFFER, command_buffer_.get());
  const std::size_t count = commands_.size() / 2, first = count * static_cast<std::size_t>(half) * sizeof(Command);
  glMultiDrawElementsIndirect(GL_TRIANGLES, GL_UNSIGNED_INT, reinterpret_cast<const void*>(first),
                              static_cast<GLsizei>(count), 0);
}

}  // namespace hotloop
