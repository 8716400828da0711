#include "sim/mujoco/read_model.h"

#include <algorithm>
#include <limits>

namespace hotloop {
namespace {

bool disabled(const mjModel* m, int flag) { return (m->opt.disableflags & flag) != 0; }

bool any_nonzero(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double x) { return x != 0; });
}

bool any_positive(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double x) { return x > 0; });
}

// The first `columns` of each row of an array whose rows are `stride` long.
template <class To, class From>
void copy(std::vector<To>& to, const From* from, mjtSize rows, int columns = 1, int stride = 0) {
  if (stride == 0) stride = columns;
  to.resize(static_cast<std::size_t>(rows) * columns);
  for (mjtSize r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) to[r * columns + c] = static_cast<To>(from[r * stride + c]);
}

void read_sizes(const mjModel* m, ModelData& d) {
  const auto size = [](mjtSize n) { return static_cast<int>(n); };
  d.nq = size(m->nq);
  d.nv = size(m->nv);
  d.nu = size(m->nu);
  d.nbody = size(m->nbody);
  d.njnt = size(m->njnt);
  d.ngeom = size(m->ngeom);
  d.nsite = size(m->nsite);
  d.ntendon = size(m->ntendon);
  d.nwrap = size(m->nwrap);
}

void read_bodies(const mjModel* m, ModelData& d) {
  copy(d.body_parentid, m->body_parentid, m->nbody);
  copy(d.body_rootid, m->body_rootid, m->nbody);
  copy(d.body_weldid, m->body_weldid, m->nbody);
  copy(d.body_jntnum, m->body_jntnum, m->nbody);
  copy(d.body_jntadr, m->body_jntadr, m->nbody);
  copy(d.body_simple, m->body_simple, m->nbody);
  d.body_lastdof.assign(d.nbody, -1);
  for (int b = 1; b < d.nbody; ++b)
    d.body_lastdof[b] =
        m->body_dofnum[b] > 0 ? m->body_dofadr[b] + m->body_dofnum[b] - 1 : d.body_lastdof[m->body_parentid[b]];
  copy(d.body_pos, m->body_pos, m->nbody, 3);
  copy(d.body_quat, m->body_quat, m->nbody, 4);
  copy(d.body_iquat, m->body_iquat, m->nbody, 4);
  copy(d.body_mass, m->body_mass, m->nbody);
  copy(d.body_inertia, m->body_inertia, m->nbody, 3);
  copy(d.body_ipos, m->body_ipos, m->nbody, 3);
  copy(d.body_subtreemass, m->body_subtreemass, m->nbody);
  copy(d.body_invweight0, m->body_invweight0, m->nbody, 2);
  std::vector<int> parent = d.body_parentid;
  for (int& p : parent)
    if (p == 0) p = -1;
  d.bodies = make_tree(std::move(parent));
}

void read_joints(const mjModel* m, ModelData& d) {
  copy(d.qpos0, m->qpos0, m->nq);
  copy(d.qpos_spring, m->qpos_spring, m->nq);
  copy(d.jnt_type, m->jnt_type, m->njnt);
  copy(d.jnt_qposadr, m->jnt_qposadr, m->njnt);
  copy(d.jnt_dofadr, m->jnt_dofadr, m->njnt);
  copy(d.jnt_bodyid, m->jnt_bodyid, m->njnt);
  copy(d.jnt_limited, m->jnt_limited, m->njnt);
  for (int j = 0; j < d.njnt; ++j)
    if (m->jnt_type[j] == mjJNT_FREE || m->jnt_type[j] == mjJNT_BALL) d.quat_jntid.push_back(j);
  copy(d.jnt_pos, m->jnt_pos, m->njnt, 3);
  copy(d.jnt_axis, m->jnt_axis, m->njnt, 3);
  copy(d.jnt_range, m->jnt_range, m->njnt, 2);
  copy(d.jnt_margin, m->jnt_margin, m->njnt);
  copy(d.jnt_solref, m->jnt_solref, m->njnt, mjNREF);
  copy(d.jnt_solimp, m->jnt_solimp, m->njnt, mjNIMP);
  copy(d.jnt_stiffness, m->jnt_stiffness, m->njnt);
  copy(d.jnt_actfrcrange, m->jnt_actfrcrange, m->njnt, 2);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (int j = 0; j < d.njnt; ++j)
    if (!m->jnt_actfrclimited[j]) {
      d.jnt_actfrcrange[2 * j] = -kInfinity;
      d.jnt_actfrcrange[2 * j + 1] = kInfinity;
    }
}

void read_dofs(const mjModel* m, ModelData& d) {
  copy(d.dof_bodyid, m->dof_bodyid, m->nv);
  copy(d.dof_jntid, m->dof_jntid, m->nv);
  copy(d.dof_parentid, m->dof_parentid, m->nv);
  d.dof_before = d.dof_parentid;
  d.dof_fixed_axis.assign(d.nv, 0);
  for (int j : d.quat_jntid) {
    int first = m->jnt_dofadr[j];
    if (m->jnt_type[j] == mjJNT_FREE) {
      for (int k = 0; k < 3; ++k) d.dof_fixed_axis[first + k] = 1;
      first += 3;
    }
    for (int k = 0; k < 3; ++k) d.dof_before[first + k] = m->dof_parentid[first];
  }
  copy(d.dof_solref, m->dof_solref, m->nv, mjNREF);
  copy(d.dof_solimp, m->dof_solimp, m->nv, mjNIMP);
  copy(d.dof_armature, m->dof_armature, m->nv);
  copy(d.dof_damping, m->dof_damping, m->nv);
  copy(d.dof_frictionloss, m->dof_frictionloss, m->nv);
  for (int i = 0; i < d.nv; ++i)
    if (m->dof_frictionloss[i] > 0) d.friction_dofid.push_back(i);
  copy(d.dof_invweight0, m->dof_invweight0, m->nv);
  d.dofs = make_tree(d.dof_parentid);
}

void read_geoms_and_sites(const mjModel* m, ModelData& d) {
  copy(d.geom_type, m->geom_type, m->ngeom);
  copy(d.geom_bodyid, m->geom_bodyid, m->ngeom);
  copy(d.geom_size, m->geom_size, m->ngeom, 3);
  for (int g = 0; g < d.ngeom; ++g) {  // MuJoCo keeps what the file says beyond the sizes that the type has
    const int sizes = m->geom_type[g] == mjGEOM_SPHERE                                          ? 1
                      : m->geom_type[g] == mjGEOM_CAPSULE || m->geom_type[g] == mjGEOM_CYLINDER ? 2
                                                                                                : 3;
    std::fill_n(d.geom_size.begin() + 3 * g + sizes, 3 - sizes, 0.0);
  }
  copy(d.geom_pos, m->geom_pos, m->ngeom, 3);
  copy(d.geom_quat, m->geom_quat, m->ngeom, 4);
  copy(d.geom_rbound, m->geom_rbound, m->ngeom);
  copy(d.geom_friction, m->geom_friction, m->ngeom, 1, 3);
  copy(d.site_bodyid, m->site_bodyid, m->nsite);
  copy(d.site_pos, m->site_pos, m->nsite, 3);
  copy(d.site_quat, m->site_quat, m->nsite, 4);
}

void read_tendons(const mjModel* m, ModelData& d) {
  copy(d.tendon_adr, m->tendon_adr, m->ntendon);
  copy(d.tendon_num, m->tendon_num, m->ntendon);
  copy(d.tendon_limited, m->tendon_limited, m->ntendon);
  copy(d.tendon_range, m->tendon_range, m->ntendon, 2);
  copy(d.tendon_margin, m->tendon_margin, m->ntendon);
  copy(d.tendon_solref_lim, m->tendon_solref_lim, m->ntendon, mjNREF);
  copy(d.tendon_solimp_lim, m->tendon_solimp_lim, m->ntendon, mjNIMP);
  copy(d.tendon_solref_fri, m->tendon_solref_fri, m->ntendon, mjNREF);
  copy(d.tendon_solimp_fri, m->tendon_solimp_fri, m->ntendon, mjNIMP);
  copy(d.tendon_lengthspring, m->tendon_lengthspring, m->ntendon, 2);
  copy(d.tendon_stiffness, m->tendon_stiffness, m->ntendon);
  copy(d.tendon_damping, m->tendon_damping, m->ntendon);
  copy(d.tendon_frictionloss, m->tendon_frictionloss, m->ntendon);
  copy(d.tendon_invweight0, m->tendon_invweight0, m->ntendon);
  copy(d.wrap_coef, m->wrap_prm, m->nwrap);
  d.wrap_dofid.resize(d.nwrap);
  d.wrap_qposid.resize(d.nwrap);
  for (int w = 0; w < d.nwrap; ++w) {
    d.wrap_dofid[w] = m->jnt_dofadr[m->wrap_objid[w]];
    d.wrap_qposid[w] = m->jnt_qposadr[m->wrap_objid[w]];
  }
}

void read_actuators(const mjModel* m, ModelData& d) {
  d.actuator_trntype.resize(d.nu);
  for (int i = 0; i < d.nu; ++i) d.actuator_trntype[i] = m->actuator_trntype[i] == mjTRN_TENDON ? 1 : 0;
  copy(d.actuator_trnid, m->actuator_trnid, m->nu, 1, 2);
  copy(d.actuator_ctrllimited, m->actuator_ctrllimited, m->nu);
  copy(d.actuator_forcelimited, m->actuator_forcelimited, m->nu);
  copy(d.actuator_gear, m->actuator_gear, m->nu, 6);
  copy(d.actuator_ctrlrange, m->actuator_ctrlrange, m->nu, 2);
  copy(d.actuator_forcerange, m->actuator_forcerange, m->nu, 2);
  copy(d.actuator_gainprm, m->actuator_gainprm, m->nu, 3, mjNGAIN);
  copy(d.actuator_biasprm, m->actuator_biasprm, m->nu, 3, mjNBIAS);
  // parameters that the type does not read count as zero, so that one formula serves all
  for (int i = 0; i < d.nu; ++i) {
    if (m->actuator_gaintype[i] == mjGAIN_FIXED) d.actuator_gainprm[3 * i + 1] = d.actuator_gainprm[3 * i + 2] = 0;
    if (m->actuator_biastype[i] == mjBIAS_NONE) std::fill_n(d.actuator_biasprm.begin() + 3 * i, 3, 0.0);
  }
}

void read_options(const mjModel* m, ModelData& d) {
  const mjOption& o = m->opt;
  d.integrator = o.integrator == mjINT_RK4 ? Integrator::rk4 : Integrator::euler;
  d.solver = o.solver == mjSOL_PGS ? SolverType::pgs : SolverType::newton;
  d.iterations = o.iterations;
  d.ls_iterations = o.ls_iterations;
  const bool constrained = !disabled(m, mjDSBL_CONSTRAINT);
  const auto some = [](const std::vector<int>& flags) {
    return std::any_of(flags.begin(), flags.end(), [](int f) { return f != 0; });
  };
  d.has_contacts = constrained && !disabled(m, mjDSBL_CONTACT);
  d.has_limits = constrained && !disabled(m, mjDSBL_LIMIT) && (some(d.jnt_limited) || some(d.tendon_limited));
  d.has_friction = constrained && !disabled(m, mjDSBL_FRICTIONLOSS) &&
                   (!d.friction_dofid.empty() || any_positive(d.tendon_frictionloss));
  const bool springs = !disabled(m, mjDSBL_SPRING), dampers = !disabled(m, mjDSBL_DAMPER);
  d.has_springs = springs && (any_nonzero(d.jnt_stiffness) || any_nonzero(d.tendon_stiffness));
  d.has_dampers = dampers && (any_nonzero(d.dof_damping) || any_nonzero(d.tendon_damping));
  d.has_warmstart = !disabled(m, mjDSBL_WARMSTART);
  d.has_actuation = m->nu > 0 && !disabled(m, mjDSBL_ACTUATION);
  d.clamps_ctrl = !disabled(m, mjDSBL_CLAMPCTRL);
  d.safe_ref = !disabled(m, mjDSBL_REFSAFE);
  d.implicit_damping = dampers && !disabled(m, mjDSBL_EULERDAMP) && any_positive(d.dof_damping);
  // without springs and without dampers MuJoCo leaves out every passive force
  d.has_fluid = (springs || dampers) && (o.density > 0 || o.viscosity > 0);
  d.timestep = o.timestep;
  d.density = o.density;
  d.viscosity = o.viscosity;
  d.tolerance = o.tolerance;
  d.impratio = o.impratio;
  d.meaninertia = m->stat.meaninertia;
  std::copy_n(o.wind, 3, d.wind);
  d.gravity.assign(o.gravity, o.gravity + 3);
  if (disabled(m, mjDSBL_GRAVITY)) d.gravity.assign(3, 0.0);
}

std::vector<std::string> names(const mjModel* m, mjtObj type, mjtSize count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) {
    const char* name = mj_id2name(m, type, i);
    all.emplace_back(name ? name : "");
  }
  return all;
}

}  // namespace

std::string element_name(const mjModel* m, mjtObj type, int id) {
  const char* name = mj_id2name(m, type, id);
  const std::string kind = mju_type2Str(type);
  return name && *name ? kind + " '" + name + "'" : kind + " #" + std::to_string(id);
}

void read_arrays(const mjModel* m, ModelData& data) {
  read_sizes(m, data);
  read_bodies(m, data);
  read_joints(m, data);
  read_dofs(m, data);
  read_geoms_and_sites(m, data);
  read_tendons(m, data);
  read_actuators(m, data);
  read_options(m, data);
  data.body_names = names(m, mjOBJ_BODY, m->nbody);
  data.jnt_names = names(m, mjOBJ_JOINT, m->njnt);
  data.geom_names = names(m, mjOBJ_GEOM, m->ngeom);
  data.site_names = names(m, mjOBJ_SITE, m->nsite);
  data.actuator_names = names(m, mjOBJ_ACTUATOR, m->nu);
  data.key_names = names(m, mjOBJ_KEY, m->nkey);
  for (mjtSize k = 0; k < m->nkey; ++k) {
    data.key_qpos.emplace_back(m->key_qpos + k * m->nq, m->key_qpos + (k + 1) * m->nq);
    data.key_qvel.emplace_back(m->key_qvel + k * m->nv, m->key_qvel + (k + 1) * m->nv);
  }
}

}  // namespace hotloop
