// Triangles of the unit shapes, at levels of detail from coarse to fine, and coarser versions of a model's meshes.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/core/visual.h"

namespace hotloop {

constexpr int kMeshLevels = 5;

struct MeshVertex {
  float pos[3], normal[3];
  float uv[2];  // of round shapes: u is 1 in the upper half and -1 in the lower, which a capsule moves apart
};

struct MeshData {
  std::vector<MeshVertex> vertices;
  std::vector<std::uint32_t> index;  // counter-clockwise from outside
};

// Of size 1: radius, half length.
enum class UnitMesh : std::uint8_t { plane, sphere, capsule, cylinder, box, cone, count };

MeshData unit_mesh(UnitMesh kind, int level);

// A mesh of the model: the finest level is the mesh itself, the coarser ones have its vertices joined in cells.
MeshData model_mesh(const VisualMesh& mesh, int level);

}  // namespace hotloop
