#include "viz/scene/unit_meshes.h"

#include <algorithm>
#include <cmath>
#include <glm/glm.hpp>
#include <map>
#include <tuple>

namespace hotloop {
namespace {

constexpr float kPi = 3.14159265f;
constexpr int kRings[kMeshLevels] = {1, 2, 4, 8, 16};        // from the pole of a half sphere to its equator
constexpr int kSegments[kMeshLevels] = {6, 10, 16, 32, 64};  // around a cylinder

void add_vertex(MeshData& mesh, const glm::vec3& pos, const glm::vec3& normal, float u, float v = 0) {
  mesh.vertices.push_back({{pos.x, pos.y, pos.z}, {normal.x, normal.y, normal.z}, {u, v}});
}

void add_triangle(MeshData& mesh, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  mesh.index.insert(mesh.index.end(), {a, b, c});
}

float surface(const MeshData& mesh) {
  const auto at = [&](std::size_t i) {
    const float* p = mesh.vertices[mesh.index[i]].pos;
    return glm::vec3(p[0], p[1], p[2]);
  };
  float sum = 0;
  for (std::size_t i = 0; i < mesh.index.size(); i += 3)
    sum += glm::length(glm::cross(at(i + 1) - at(i), at(i + 2) - at(i))) / 2;
  return sum;
}

// Ring k of a half sphere has 4 k vertices, so that the triangles have about the same size.
std::uint32_t ring_start(std::uint32_t k) { return k == 0 ? 0 : 1 + 2 * k * (k - 1); }

void add_half(MeshData& mesh, std::uint32_t n, float side) {
  const auto base = static_cast<std::uint32_t>(mesh.vertices.size());
  for (std::uint32_t k = 0; k <= n; ++k)
    for (std::uint32_t i = 0; i < std::max(4 * k, 1u); ++i) {
      const float theta = kPi / 2 * static_cast<float>(k) / static_cast<float>(n);
      const float phi = k == 0 ? 0 : 2 * kPi * static_cast<float>(i) / static_cast<float>(4 * k);
      const glm::vec3 p(std::sin(theta) * std::cos(phi), std::sin(theta) * std::sin(phi), side * std::cos(theta));
      add_vertex(mesh, p, p, side);
    }
  const auto id = [&](std::uint32_t k, std::uint32_t i) { return base + ring_start(k) + (k == 0 ? 0 : i % (4 * k)); };
  const auto triangle = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    side > 0 ? add_triangle(mesh, a, b, c) : add_triangle(mesh, a, c, b);
  };
  for (std::uint32_t k = 0; k < n; ++k)
    for (std::uint32_t quarter = 0; quarter < 4; ++quarter)
      for (std::uint32_t j = 0; j <= k; ++j) {
        const std::uint32_t inner = quarter * k + j, outer = quarter * (k + 1) + j;
        triangle(id(k, inner), id(k + 1, outer), id(k + 1, outer + 1));
        if (j < k) triangle(id(k, inner), id(k + 1, outer + 1), id(k, inner + 1));
      }
}

// Two half spheres; of a capsule with the band between them, which has no width yet.
MeshData round_mesh(int level, bool band) {
  const auto n = static_cast<std::uint32_t>(kRings[level]);
  MeshData mesh;
  add_half(mesh, n, 1);
  const auto half = static_cast<std::uint32_t>(mesh.vertices.size());
  add_half(mesh, n, -1);
  // Cauchy: seen from all sides, a convex body shows a quarter of its surface on average, and a convex outline has its
  // length over pi for width. So enlarged, a coarse ball or a coarse tube covers as many pixels as the true one.
  const float angle = kPi / static_cast<float>(4 * n);
  const float scale = band ? angle / std::sin(angle) : std::sqrt(4 * kPi / surface(mesh));
  for (MeshVertex& v : mesh.vertices)
    for (float& x : v.pos) x *= scale;
  for (std::uint32_t i = 0; band && i < 4 * n; ++i) {
    const std::uint32_t next = (i + 1) % (4 * n), up = ring_start(n), down = half + up;
    add_triangle(mesh, up + i, down + i, down + next);
    add_triangle(mesh, up + i, down + next, up + next);
  }
  return mesh;
}

// A cylinder, or with `tip` a cone from z = -1 to its tip at 1.
MeshData turned_mesh(int level, bool tip) {
  const auto n = static_cast<std::uint32_t>(kSegments[level]);
  const float step = 2 * kPi / static_cast<float>(n);
  const float radius = step / 2 / std::sin(step / 2);  // the polygon is as long as the circle
  MeshData mesh;
  const float slope = tip ? 0.5f : 0.0f;  // of the cone's normals
  for (std::uint32_t i = 0; i < n; ++i) {
    const float angle = step * static_cast<float>(i);
    const glm::vec3 out(std::cos(angle), std::sin(angle), 0);
    const glm::vec3 normal = glm::normalize(out + glm::vec3(0, 0, slope)), rim = radius * out;
    add_vertex(mesh, rim - glm::vec3(0, 0, 1), normal, 0);
    add_vertex(mesh, (tip ? glm::vec3(0) : rim) + glm::vec3(0, 0, 1), normal, 0);
    add_vertex(mesh, rim - glm::vec3(0, 0, 1), {0, 0, -1}, 0);
    add_vertex(mesh, rim + glm::vec3(0, 0, 1), {0, 0, 1}, 0);
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t a = 4 * i, b = 4 * ((i + 1) % n);
    add_triangle(mesh, a, b, b + 1);
    if (!tip) add_triangle(mesh, a, b + 1, a + 1);
    if (i == 0 || i + 1 == n) continue;  // caps: fans about the first vertex
    add_triangle(mesh, 2, b + 2, a + 2);
    if (!tip) add_triangle(mesh, 3, a + 3, b + 3);
  }
  return mesh;
}

MeshData box_mesh() {
  MeshData mesh;
  for (int axis = 0; axis < 3; ++axis)
    for (const float side : {1.0f, -1.0f}) {
      glm::vec3 normal(0), u(0), v(0);
      normal[axis] = side;
      u[(axis + 1) % 3] = 1;
      v[(axis + 2) % 3] = side;  // keeps the order of the corners
      const auto base = static_cast<std::uint32_t>(mesh.vertices.size());
      for (const auto& [a, b] : {std::pair{-1.f, -1.f}, {1.f, -1.f}, {1.f, 1.f}, {-1.f, 1.f}})
        add_vertex(mesh, normal + a * u + b * v, normal, 0);
      add_triangle(mesh, base, base + 1, base + 2);
      add_triangle(mesh, base, base + 2, base + 3);
    }
  return mesh;
}

MeshData plane_mesh() {
  MeshData mesh;
  for (const auto& [x, y] : {std::pair{-1.f, -1.f}, {1.f, -1.f}, {1.f, 1.f}, {-1.f, 1.f}})
    add_vertex(mesh, {x, y, 0}, {0, 0, 1}, 0);
  mesh.index = {0, 1, 2, 0, 2, 3};
  return mesh;
}

MeshData whole_mesh(const VisualMesh& source) {
  MeshData mesh;
  mesh.index = source.index;
  for (std::size_t i = 0; i * 3 < source.position.size(); ++i) {
    const float *p = &source.position[3 * i], *n = &source.normal[3 * i];
    const bool has_uv = 2 * i + 1 < source.texcoord.size();
    add_vertex(mesh, {p[0], p[1], p[2]}, {n[0], n[1], n[2]}, has_uv ? source.texcoord[2 * i] : 0,
               has_uv ? source.texcoord[2 * i + 1] : 0);
  }
  return mesh;
}

}  // namespace

MeshData unit_mesh(UnitMesh kind, int level) {
  switch (kind) {
    case UnitMesh::sphere:
      return round_mesh(level, false);
    case UnitMesh::capsule:
      return round_mesh(level, true);
    case UnitMesh::cylinder:
      return turned_mesh(level, false);
    case UnitMesh::cone:
      return turned_mesh(level, true);
    case UnitMesh::box:
      return box_mesh();
    default:
      return plane_mesh();
  }
}

MeshData model_mesh(const VisualMesh& source, int level) {
  const MeshData whole = whole_mesh(source);
  constexpr int kCells[kMeshLevels] = {3, 6, 16, 48, 0};  // along the longest side
  if (level == kMeshLevels - 1 || whole.vertices.empty() || whole.index.size() < 60) return whole;
  glm::vec3 low(1e30f), high(-1e30f);
  for (const MeshVertex& v : whole.vertices)
    for (int k = 0; k < 3; ++k) {
      low[k] = std::min(low[k], v.pos[k]);
      high[k] = std::max(high[k], v.pos[k]);
    }
  const float cell =
      std::max({high.x - low.x, high.y - low.y, high.z - low.z, 1e-9f}) / static_cast<float>(kCells[level]);
  // vertices of a cell become one, those that face other sides another; triangles that lose a corner go
  MeshData mesh;
  std::map<std::tuple<int, int, int, int>, std::uint32_t> joined;
  std::vector<std::uint32_t> of(whole.vertices.size());
  std::vector<float> members;
  for (std::size_t i = 0; i < whole.vertices.size(); ++i) {
    const MeshVertex& v = whole.vertices[i];
    const auto at = [&](int k) { return static_cast<int>((v.pos[k] - low[k]) / cell); };
    const int facing = (v.normal[0] > 0 ? 1 : 0) + (v.normal[1] > 0 ? 2 : 0) + (v.normal[2] > 0 ? 4 : 0);
    const auto [entry, is_new] = joined.try_emplace({at(0), at(1), at(2), facing}, mesh.vertices.size());
    of[i] = entry->second;
    if (is_new) {
      mesh.vertices.push_back(v);
      members.push_back(1);
      continue;
    }
    MeshVertex& sum = mesh.vertices[of[i]];
    const float weight = 1 / ++members[of[i]];  // running mean
    for (int k = 0; k < 3; ++k) {
      sum.pos[k] += (v.pos[k] - sum.pos[k]) * weight;
      sum.normal[k] += (v.normal[k] - sum.normal[k]) * weight;
    }
  }
  for (std::size_t i = 0; i < whole.index.size(); i += 3) {
    const std::uint32_t a = of[whole.index[i]], b = of[whole.index[i + 1]], c = of[whole.index[i + 2]];
    if (a != b && b != c && c != a) add_triangle(mesh, a, b, c);
  }
  return mesh;
}

}  // namespace hotloop
