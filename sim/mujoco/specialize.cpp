#include "sim/mujoco/specialize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "sim/core/error.h"

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

// One line a member of ModelSizes and ModelOptions.
std::string sizes(const ModelData& d) {
  std::string s;
  s += constant("int", "nq", d.nq);
  s += constant("int", "nv", d.nv);
  s += constant("int", "nu", d.nu);
  s += constant("int", "nbody", d.nbody);
  s += constant("int", "njnt", d.njnt);
  s += constant("int", "ngeom", d.ngeom);
  s += constant("int", "nsite", d.nsite);
  s += constant("int", "ntendon", d.ntendon);
  s += constant("int", "nwrap", d.nwrap);
  s += constant("int", "npair", d.npair);
  s += constant("int", "nsol", d.nsol);
  s += constant("int", "max_edges", d.max_edges);
  s += constant("int", "pgs_sweeps", d.pgs_sweeps);
  s += constant("int", "pair_kinds", d.pair_kinds);
  s += constant("int", "nquat", d.nquat);
  s += constant("int", "nfriction", d.nfriction);
  s += constant("int", "nroot", d.nroot);
  s += constant("int", "nmom", d.nmom);
  s += constant("int", "max_contacts", d.max_contacts);
  s += constant("int", "max_blocks", d.max_blocks);
  s += constant("int", "max_rows", d.max_rows);
  s += constant("int", "row", d.row);
  s += constant("int", "bound", d.bound);
  s += constant("int", "iterations", d.iterations);
  s += constant("int", "ls_iterations", d.ls_iterations);
  s += constant("bool", "rk4", d.rk4);
  s += constant("bool", "pgs", d.pgs);
  s += constant("bool", "has_fluid", d.has_fluid);
  s += constant("bool", "has_polytopes", d.has_polytopes);
  s += constant("bool", "has_powers", d.has_powers);
  s += constant("bool", "has_affine", d.has_affine);
  s += constant("bool", "has_tendon_forces", d.has_tendon_forces);
  s += constant("bool", "has_tendon_rows", d.has_tendon_rows);
  s += constant("bool", "has_ball_springs", d.has_ball_springs);
  s += constant("bool", "has_ball_limits", d.has_ball_limits);
  s += constant("bool", "has_contacts", d.has_contacts);
  s += constant("bool", "has_limits", d.has_limits);
  s += constant("bool", "has_friction", d.has_friction);
  s += constant("bool", "has_springs", d.has_springs);
  s += constant("bool", "has_dampers", d.has_dampers);
  s += constant("bool", "has_warmstart", d.has_warmstart);
  s += constant("bool", "has_actuation", d.has_actuation);
  s += constant("bool", "clamps_ctrl", d.clamps_ctrl);
  s += constant("bool", "safe_ref", d.safe_ref);
  s += constant("bool", "implicit_damping", d.implicit_damping);
  s += constant("float", "timestep", d.timestep);
  s += constant("float", "density", d.density);
  s += constant("float", "viscosity", d.viscosity);
  s += constant("float", "tolerance", d.tolerance);
  s += constant("float", "impratio", d.impratio);
  return s + "  float wind[3] = {" + list(std::vector<double>(d.wind, d.wind + 3)) + "};\n";
}

std::string layout_source(const WorldLayout& at) {
  std::string s = "struct SpecialLayout {\n";
#define HOTLOOP_OFFSET(name, elements, from, to, keep) s += constant("int", #name, at.name);
  HOTLOOP_WORLD_REALS(HOTLOOP_OFFSET)
  HOTLOOP_WORLD_INTS(HOTLOOP_OFFSET)
#undef HOTLOOP_OFFSET
  return s + constant("int", "reals", at.reals) + constant("int", "keep", at.keep) + "};\n";
}

constexpr char kKernelText[] = R"({includes}{model}
namespace hotloop {{
extern __shared__ uint4 special_memory[];
extern "C" __global__ void __launch_bounds__({threads}, {blocks})
    special_kernel(const __grid_constant__ {args} args, long long worlds) {{
  const int group = threadIdx.x / {lanes};
  const long long world = static_cast<long long>(blockIdx.x) * {worlds} + group;
  if (world >= worlds) return;
  const SpecialModel model(args.model);
  const SpecialLayout layout;
  args.run<{bound}>(DeviceGroup<{lanes}>{{static_cast<int>(threadIdx.x % {lanes})}}, world,
                    reinterpret_cast<char*>(special_memory) + group * {bytes}, model, layout);
}}
}}  // namespace hotloop
)";

}  // namespace

std::string special_source(const ModelData& d, const WorldLayout& layout, const Model<float>& model) {
  std::string arrays = tree_arrays("bodies", d.bodies) + tree_arrays("dofs", d.dofs);
  std::string members = tree_member("bodies", d.bodies) + tree_member("dofs", d.dofs);
  std::string worlds;  // what the constructor takes
  const auto table = [&](const std::string& name, const std::vector<int>& values) {
    constexpr std::size_t kMostAsText = 4096;  // a longer one stays in memory: reading it would take the compiler long
    const bool large = values.size() > kMostAsText;
    if (!large) arrays += array("int", name, values);
    members += "  const int* " + name + (large ? ";\n" : " = k_" + name + ";\n");
    if (large) worlds += "    " + name + " = worlds." + name + ";\n";
  };
#define HOTLOOP_ARRAY(name, rows, columns) table(#name, d.name);
  HOTLOOP_MODEL_INTS(HOTLOOP_ARRAY)
#undef HOTLOOP_ARRAY
#define HOTLOOP_ARRAY(name, rows, columns) \
  arrays += array("float", #name, d.name); \
  members += "  const float* " #name " = k_" #name ";\n";
  HOTLOOP_MODEL_REALS(HOTLOOP_ARRAY)
#undef HOTLOOP_ARRAY
  const auto field = [&](const std::string& name, const std::vector<double>& values, int stride) {
    const bool shared = stride == 0;
    if (shared) arrays += array("float", name, values);
    members += "  Field<float> " + name + "{" + (shared ? "k_" + name : "nullptr") + ", " + text(stride) + "};\n";
    if (!shared) worlds += "    " + name + ".data = worlds." + name + ".data;\n";
  };
#define HOTLOOP_ARRAY(name, rows, columns) field(#name, d.name, model.name.stride);
  HOTLOOP_MODEL_FIELDS(HOTLOOP_ARRAY)
#undef HOTLOOP_ARRAY
  members += "  Field<float> xfrc_applied{nullptr, " + text(model.xfrc_applied.stride) + "};\n";
  if (model.xfrc_applied.stride != 0) worlds += "    xfrc_applied.data = worlds.xfrc_applied.data;\n";
  members += "  explicit SpecialModel(const Model<float>&" +
             (worlds.empty() ? std::string(") {}\n") : " worlds) {\n" + worlds + "  }\n");
  return "namespace hotloop {\n" + arrays + "struct SpecialModel {\n  using Real = float;\n" + sizes(d) + members +
         "};\n" + layout_source(layout) + "}  // namespace hotloop\n";
}

std::string special_kernel_code(const std::string& includes, const std::string& model, const std::string& args_type,
                                int bound, const KernelShape& shape) {
  return fmt::format(kKernelText, fmt::arg("includes", includes), fmt::arg("model", model), fmt::arg("args", args_type),
                     fmt::arg("threads", 32 * shape.warps), fmt::arg("blocks", shape.blocks),
                     fmt::arg("lanes", shape.lanes), fmt::arg("worlds", 32 * shape.warps / shape.lanes),
                     fmt::arg("bound", bound), fmt::arg("bytes", shape.bytes));
}

void check_room(const ModelData& data, Device device, std::size_t world_bytes) {
  if (!device.is_cuda()) return;
  const int worlds = 32 / lanes_for(data.bound);
  const std::size_t offered = cuda_device_info(device.index).shared_per_block / worlds / 16 * 16;
  if (world_bytes <= offered) return;
  throw Error(data.path + ": with room for " + std::to_string(data.max_contacts) + " contacts a world takes " +
              std::to_string(world_bytes) + " bytes of shared memory, " + device.str() + " has " +
              std::to_string(offered) + "; take less room (--max-contacts), or --device cpu");
}

}  // namespace hotloop
