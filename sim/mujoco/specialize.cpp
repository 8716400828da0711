#include "sim/mujoco/specialize.h"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace hotloop {
namespace {

std::string text(int value) { return std::to_string(value); }
std::string text(bool value) { return value ? "true" : "false"; }
// Exact: hexadecimal. Infinite bounds become the largest number.
std::string text(double value) {
  constexpr float kMost = std::numeric_limits<float>::max();
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%af",
                static_cast<double>(std::clamp(static_cast<float>(value), -kMost, kMost)));
  return buffer;
}

template <class T>
std::string list(const std::vector<T>& values) {
  if (values.empty()) return "0";  // arrays of length zero are not allowed
  std::string out;
  for (const T& v : values) out += (out.empty() ? "" : ",") + text(v);
  return out;
}

// "__device__ const TYPE k_NAME[] = {...};"
template <class T>
std::string array(const std::string& type, const std::string& name, const std::vector<T>& values) {
  return "__device__ const " + type + " k_" + name + "[] = {" + list(values) + "};\n";
}

std::string tree_arrays(const std::string& name, const TreeData& tree) {
  return array("int", name + "_parent", tree.parent) + array("int", name + "_jump", tree.jump) +
         array("int", name + "_level", tree.level) + array("int", name + "_order", tree.order);
}

std::string tree_member(const std::string& name, const TreeData& tree) {
  const std::string k = "k_" + name + "_";
  return "  Tree " + name + "{" + text(tree.n) + ", " + text(tree.rounds) + ", " + text(tree.levels) + ", " + k +
         "parent, " + k + "jump, " + k + "level, " + k + "order};\n";
}

template <class T>
std::string constant(const std::string& type, const std::string& name, T value) {
  return "  static constexpr " + type + " " + name + " = " + text(value) + ";\n";
}

std::string sizes(const ModelData& d) {
  std::string s;
#define HOTLOOP_INT(name) s += constant("int", #name, d.name);
  HOTLOOP_INT(nq)
  HOTLOOP_INT(nv)
  HOTLOOP_INT(nu)
  HOTLOOP_INT(nbody)
  HOTLOOP_INT(njnt)
  HOTLOOP_INT(ngeom)
  HOTLOOP_INT(nsite)
  HOTLOOP_INT(ntendon)
  HOTLOOP_INT(nwrap)
  HOTLOOP_INT(npair)
  HOTLOOP_INT(nsol)
  HOTLOOP_INT(max_edges)
  HOTLOOP_INT(pair_kinds)
  HOTLOOP_INT(nquat)
      HOTLOOP_INT(nfriction) HOTLOOP_INT(nroot) HOTLOOP_INT(nmom) HOTLOOP_INT(max_contacts) HOTLOOP_INT(max_blocks)
          HOTLOOP_INT(max_rows) HOTLOOP_INT(row) HOTLOOP_INT(bound) HOTLOOP_INT(iterations) HOTLOOP_INT(ls_iterations)
#undef HOTLOOP_INT
#define HOTLOOP_BOOL(name) s += constant("bool", #name, d.name);
              HOTLOOP_BOOL(rk4) HOTLOOP_BOOL(pgs) HOTLOOP_BOOL(has_fluid) HOTLOOP_BOOL(has_polytopes)
                  HOTLOOP_BOOL(has_powers) HOTLOOP_BOOL(has_affine) HOTLOOP_BOOL(has_tendon_forces)
                      HOTLOOP_BOOL(has_tendon_rows) HOTLOOP_BOOL(has_ball_springs) HOTLOOP_BOOL(has_ball_limits)
                          HOTLOOP_BOOL(has_contacts) HOTLOOP_BOOL(has_limits) HOTLOOP_BOOL(has_friction)
                              HOTLOOP_BOOL(has_springs) HOTLOOP_BOOL(has_dampers) HOTLOOP_BOOL(has_warmstart)
                                  HOTLOOP_BOOL(has_actuation) HOTLOOP_BOOL(clamps_ctrl) HOTLOOP_BOOL(safe_ref)
                                      HOTLOOP_BOOL(implicit_damping)
#undef HOTLOOP_BOOL
#define HOTLOOP_REAL(name) s += constant("float", #name, d.name);
                                          HOTLOOP_REAL(timestep) HOTLOOP_REAL(density) HOTLOOP_REAL(viscosity)
                                              HOTLOOP_REAL(tolerance) HOTLOOP_REAL(impratio)
#undef HOTLOOP_REAL
                                                  return s +
      "  float wind[3] = {" + list(std::vector<double>(d.wind, d.wind + 3)) + "};\n";
}

std::string layout_source(const WorldLayout& at) {
  std::string s = "struct SpecialLayout {\n";
#define HOTLOOP_OFFSET(name, elements, from, to, keep) s += constant("int", #name, at.name);
  HOTLOOP_WORLD_REALS(HOTLOOP_OFFSET)
  HOTLOOP_WORLD_INTS(HOTLOOP_OFFSET)
#undef HOTLOOP_OFFSET
  return s + constant("int", "reals", at.reals) + "};\n";
}

}  // namespace

std::string special_source(const ModelData& d, const WorldLayout& layout) {
  std::string arrays = tree_arrays("bodies", d.bodies) + tree_arrays("dofs", d.dofs);
  std::string members = tree_member("bodies", d.bodies) + tree_member("dofs", d.dofs);
#define HOTLOOP_ARRAY(name, rows, columns) \
  arrays += array("int", #name, d.name);   \
  members += "  const int* " #name " = k_" #name ";\n";
  HOTLOOP_MODEL_INTS(HOTLOOP_ARRAY)
#undef HOTLOOP_ARRAY
#define HOTLOOP_ARRAY(name, rows, columns) \
  arrays += array("float", #name, d.name); \
  members += "  const float* " #name " = k_" #name ";\n";
  HOTLOOP_MODEL_REALS(HOTLOOP_ARRAY)
#undef HOTLOOP_ARRAY
#define HOTLOOP_ARRAY(name, rows, columns) \
  arrays += array("float", #name, d.name); \
  members += "  Field<float> " #name "{k_" #name ", 0};\n";
  HOTLOOP_MODEL_FIELDS(HOTLOOP_ARRAY)
#undef HOTLOOP_ARRAY
  return "namespace hotloop {\n" + arrays + "struct SpecialModel {\n  using Real = float;\n" + sizes(d) + members +
         "};\n" + layout_source(layout) + "}  // namespace hotloop\n";
}

}  // namespace hotloop
