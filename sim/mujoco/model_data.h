// A model in host memory, in double precision: what the loader makes of an mjModel, and what Model<Real> on a device is
// uploaded from. Same arrays, same names as in model.h.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sim/core/device.h"
#include "sim/mujoco/model.h"

namespace hotloop {

// A Tree in host memory.
struct TreeData {
  int n = 0, rounds = 0, levels = 0;
  std::vector<int> parent, jump, level, order;
};
// parent: index of each node's parent, smaller than its own; -1 at a root.
TreeData make_tree(std::vector<int> parent);

struct ModelData : ModelSizes, ModelOptions<double> {
  std::string path;       // for messages
  TreeData bodies, dofs;  // bodies: the world and its children are roots
#define HOTLOOP_DECLARE(name, rows, columns) std::vector<int> name;
  HOTLOOP_MODEL_INTS(HOTLOOP_DECLARE)
#undef HOTLOOP_DECLARE
#define HOTLOOP_DECLARE(name, rows, columns) std::vector<double> name;
  HOTLOOP_MODEL_REALS(HOTLOOP_DECLARE)
  HOTLOOP_MODEL_FIELDS(HOTLOOP_DECLARE)
#undef HOTLOOP_DECLARE
  // as in mjModel; `sol` is made of them
  std::vector<double> jnt_solref, jnt_solimp, dof_solref, dof_solimp, pair_solref, pair_solimp, tendon_solref_lim,
      tendon_solimp_lim, tendon_solref_fri, tendon_solimp_fri;
  std::vector<double> geom_friction;  // [ngeom] sliding; with pair_frictionmix, what pair_friction is made of
  std::vector<std::string> body_names, jnt_names, geom_names, site_names, actuator_names;  // empty: unnamed
  std::vector<std::vector<double>> key_qpos, key_qvel;                                     // keyframes
  std::vector<std::string> key_names;
};

// Sets what follows from the sizes and pairs: nquat, row, and the capacities for contacts, blocks and rows
// (max_contacts: 0 chooses from the model). Called by the loader when all arrays are filled.
void finish_sizes(ModelData& data, int max_contacts);

// Fills the tables that follow from the topology (model_tables.cpp). Called by finish_sizes.
void finish_tables(ModelData& data);

// Fills pgs_orders, after max_edges is known (model_tables.cpp). Called by finish_sizes.
void fill_sweep_orders(ModelData& data);

// Options in another precision.
template <class From, class Real>
void convert_options(const ModelOptions<From>& from, ModelOptions<Real>& to) {
  to.integrator = from.integrator;
  to.solver = from.solver;
  to.iterations = from.iterations;
  to.ls_iterations = from.ls_iterations;
  to.has_contacts = from.has_contacts;
  to.has_limits = from.has_limits;
  to.has_friction = from.has_friction;
  to.has_springs = from.has_springs;
  to.has_dampers = from.has_dampers;
  to.has_warmstart = from.has_warmstart;
  to.has_actuation = from.has_actuation;
  to.clamps_ctrl = from.clamps_ctrl;
  to.safe_ref = from.safe_ref;
  to.implicit_damping = from.implicit_damping;
  to.timestep = static_cast<Real>(from.timestep);
  to.density = static_cast<Real>(from.density);
  to.viscosity = static_cast<Real>(from.viscosity);
  to.tolerance = static_cast<Real>(from.tolerance);
  to.impratio = static_cast<Real>(from.impratio);
  to.meaninertia = static_cast<Real>(from.meaninertia);
  for (int i = 0; i < 3; ++i) to.wind[i] = static_cast<Real>(from.wind[i]);
}

// A Model<Real> on a device: owns the arrays that its pointers name.
template <class Real>
class ModelMemory {
 public:
  ModelMemory(const ModelData& data, Device device);
  const Model<Real>& view() const { return view_; }

 private:
  Memory memory_;
  Model<Real> view_;
};

}  // namespace hotloop
