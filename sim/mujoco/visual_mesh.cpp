#include "sim/mujoco/visual_mesh.h"

#include <cmath>
#include <map>

namespace hotloop {
namespace {

void append(std::vector<float>& to, const float* from, int count) { to.insert(to.end(), from, from + count); }

// A vertex; returns its number.
std::uint32_t add_vertex(VisualMesh& mesh, const Float3& pos, const Float3& normal) {
  append(mesh.position, pos.data(), 3);
  append(mesh.normal, normal.data(), 3);
  return static_cast<std::uint32_t>(mesh.position.size() / 3 - 1);
}

void add_quad(VisualMesh& mesh, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  for (const std::uint32_t k : {a, b, c, a, c, d}) mesh.index.push_back(k);
}

// The grid of a height field in its own frame.
struct Grid {
  const float* data;
  int rows, columns;
  float half_x, half_y, top, bottom;

  float x(int c) const { return half_x * (2.0f * static_cast<float>(c) / static_cast<float>(columns - 1) - 1); }
  float y(int r) const { return half_y * (2.0f * static_cast<float>(r) / static_cast<float>(rows - 1) - 1); }
  float z(int r, int c) const { return top * data[r * columns + c]; }
  Float3 at(int r, int c) const { return {x(c), y(r), z(r, c)}; }
  Float3 below(int r, int c) const { return {x(c), y(r), -bottom}; }
  // By differences of the neighbours.
  Float3 normal(int r, int c) const {
    const int left = c > 0 ? c - 1 : c, right = c + 1 < columns ? c + 1 : c;
    const int front = r > 0 ? r - 1 : r, back = r + 1 < rows ? r + 1 : r;
    const float dx = (z(r, right) - z(r, left)) / (x(right) - x(left));
    const float dy = (z(back, c) - z(front, c)) / (y(back) - y(front));
    const float s = 1 / std::sqrt(dx * dx + dy * dy + 1);
    return {-dx * s, -dy * s, s};
  }
};

void add_surface(VisualMesh& mesh, const Grid& grid) {
  const auto index = [&](int r, int c) { return static_cast<std::uint32_t>(r * grid.columns + c); };
  for (int r = 0; r < grid.rows; ++r)
    for (int c = 0; c < grid.columns; ++c) add_vertex(mesh, grid.at(r, c), grid.normal(r, c));
  for (int r = 0; r + 1 < grid.rows; ++r)
    for (int c = 0; c + 1 < grid.columns; ++c)
      add_quad(mesh, index(r, c), index(r, c + 1), index(r + 1, c + 1), index(r + 1, c));
}

// One piece of a wall, from grid point to grid point, seen from outside left to right.
void add_wall(VisualMesh& mesh, const Grid& grid, int r0, int c0, int r1, int c1, const Float3& normal) {
  const std::uint32_t a = add_vertex(mesh, grid.below(r0, c0), normal),
                      b = add_vertex(mesh, grid.below(r1, c1), normal);
  const std::uint32_t c = add_vertex(mesh, grid.at(r1, c1), normal), d = add_vertex(mesh, grid.at(r0, c0), normal);
  add_quad(mesh, a, b, c, d);
}

}  // namespace

VisualMesh read_mesh(const mjModel* m, int mesh) {
  VisualMesh out;
  const char* name = mj_id2name(m, mjOBJ_MESH, mesh);
  out.name = name ? name : "";
  const float* vert = m->mesh_vert + 3ll * m->mesh_vertadr[mesh];
  const float* normal = m->mesh_normal + 3ll * m->mesh_normaladr[mesh];
  const bool textured = m->mesh_texcoordadr[mesh] >= 0;
  const float* texcoord = textured ? m->mesh_texcoord + 2ll * m->mesh_texcoordadr[mesh] : nullptr;
  // corners of faces name position, normal and texture coordinate each by a number of its own
  std::map<std::array<int, 3>, std::uint32_t> known;
  const long long first = 3ll * m->mesh_faceadr[mesh], last = first + 3ll * m->mesh_facenum[mesh];
  for (long long k = first; k < last; ++k) {
    const std::array<int, 3> corner = {m->mesh_face[k], m->mesh_facenormal[k], textured ? m->mesh_facetexcoord[k] : 0};
    const auto [at, fresh] = known.try_emplace(corner, static_cast<std::uint32_t>(known.size()));
    if (fresh) {
      append(out.position, vert + 3ll * corner[0], 3);
      append(out.normal, normal + 3ll * corner[1], 3);
      if (textured) append(out.texcoord, texcoord + 2ll * corner[2], 2);
    }
    out.index.push_back(at->second);
  }
  return out;
}

VisualMesh read_height_field(const mjModel* m, int field) {
  VisualMesh out;
  const char* name = mj_id2name(m, mjOBJ_HFIELD, field);
  out.name = name ? name : "";
  const mjtNum* size = m->hfield_size + 4ll * field;
  const auto number = [&](int k) { return static_cast<float>(size[k]); };
  const Grid grid{m->hfield_data + m->hfield_adr[field],
                  m->hfield_nrow[field],
                  m->hfield_ncol[field],
                  number(0),
                  number(1),
                  number(2),
                  number(3)};
  add_surface(out, grid);
  const int rows = grid.rows, columns = grid.columns;
  for (int c = 0; c + 1 < columns; ++c) {
    add_wall(out, grid, 0, c, 0, c + 1, {0, -1, 0});
    add_wall(out, grid, rows - 1, c + 1, rows - 1, c, {0, 1, 0});
  }
  for (int r = 0; r + 1 < rows; ++r) {
    add_wall(out, grid, r + 1, 0, r, 0, {-1, 0, 0});
    add_wall(out, grid, r, columns - 1, r + 1, columns - 1, {1, 0, 0});
  }
  const Float3 down = {0, 0, -1};
  add_quad(out, add_vertex(out, grid.below(0, 0), down), add_vertex(out, grid.below(rows - 1, 0), down),
           add_vertex(out, grid.below(rows - 1, columns - 1), down), add_vertex(out, grid.below(0, columns - 1), down));
  return out;
}

}  // namespace hotloop
