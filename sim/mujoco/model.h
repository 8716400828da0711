// The model as our stages read it: sizes, options and pointers to constant arrays, all named and ordered as in MuJoCo's
// mjModel (https://mujoco.readthedocs.io, "mjModel") unless said otherwise. One list below declares every array;
// loading, uploading and run-time specialisation walk that list. Lengths in metres, angles in radians, SI units
// throughout.
#pragma once
#include "sim/core/group.h"

namespace hotloop {

enum class JointType : int { free, ball, slide, hinge };                                 // mjtJoint
enum class GeomType : int { plane, hfield, sphere, capsule, ellipsoid, cylinder, box };  // mjtGeom
enum class Integrator : int { euler, rk4 };
enum class Transmission : int { joint, tendon, ball, free_joint };
enum class SolverType : int { newton, pgs };

// What can collide with what; the order of a pair's geoms is by type, as in MuJoCo's table of functions.
enum class PairKind : int {
  plane_sphere,
  plane_capsule,
  plane_cylinder,
  plane_box,
  sphere_sphere,
  sphere_capsule,
  sphere_cylinder,
  sphere_box,
  capsule_capsule,
  capsule_cylinder,
  capsule_box,
  box_box,
};

// The most dofs of a model, and the bounds that the stages are instantiated with.
inline constexpr int kMaxDofs = 128;
constexpr int dof_bound(int nv) { return nv <= 16 ? 16 : nv <= 32 ? 32 : kMaxDofs; }
// Lanes that work on a world: the next power of two >= nv, at most a warp.
constexpr int lanes_for(int bound) { return bound < 32 ? bound : 32; }

// Sizes. Everything that decides the layout of a world is here.
struct ModelSizes {
  int nq = 0, nv = 0, nu = 0, nbody = 0, njnt = 0, ngeom = 0, nsite = 0, ntendon = 0, nwrap = 0;
  int pair_kinds = 0;  // bit set of the PairKinds that occur
  int nsol = 0;        // rows of solver parameters: joints, pairs, dofs, tendons' limits, tendons' frictions
  int npair = 0;       // pairs of geoms that can collide
  int nquat = 0;       // free and ball joints
  int nfriction = 0;   // dofs with friction loss
  int nroot = 0;       // kinematic trees: bodies whose parent is the world
  int nmom = 0;        // non-zero entries of the actuators' moments
  int max_contacts = 0;
  int max_blocks = 0;  // constraints: limits, friction losses, contacts
  int max_rows = 0;    // of them, rows of the constraint Jacobian that are stored (contacts: 1 or 3 each)
  int row = 0;         // elements from one row of M or J to the next: nv rounded up to a multiple of 4
  int max_edges = 0;   // PGS: constraints (MuJoCo's nefc) up to which it holds the matrix A
  int pgs_sweeps = 0, npgs_order = 0;  // PGS: sweeps in the table of orders, entries of the table
  int bound = 0;                       // the compile-time bound on nv that the stages are instantiated with
  bool rk4 = false, pgs = false, has_fluid = false;
  bool has_polytopes = false;      // some pair has a box or cylinder
  bool has_powers = false;         // some impedance has a power other than 1 and 2
  bool has_tendon_forces = false;  // some tendon has a spring, a damper or an actuator
  bool has_tendon_rows = false;    // some tendon has a limit or friction
  bool has_affine = false;         // some actuator's force depends on its length or velocity
  bool has_ball_limits = false;    // some ball joint has a limit
  bool has_ball_springs = false;   // some free or ball joint has a spring
};

inline constexpr double kMinFriction = 1e-5;  // of a contact: MuJoCo's mjMINMU

// Where the friction of a pair comes from: a <pair> element, one of its geoms (priority), or the larger of both.
enum class FrictionMix : int { pair, geom1, geom2, larger };

// Columns of `sol`: the impedance's parameters in range, and stiffness and damping that follow from solref (MuJoCo
// documentation, "Solver parameters").
enum SolverRow : int { kSolLow, kSolHigh, kSolWidth, kSolMiddle, kSolPower, kSolStiffness, kSolDamping };

// X(type, name, rows, columns): one array each. Real arrays carry the precision of the model.
#define HOTLOOP_MODEL_INTS(X)                                                                                        \
  X(body_parentid, nbody, 1)                                                                                         \
  X(body_rootid, nbody, 1)                                                                                           \
  X(body_weldid, nbody, 1)                                                                                           \
  X(body_jntnum, nbody, 1)                                                                                           \
  X(body_jntadr, nbody, 1)                                                                                           \
  X(body_simple, nbody, 1)  /* 2: the body slides along axes of its own and never turns */                           \
  X(body_lastdof, nbody, 1) /* last dof of the body or of its nearest ancestor that has one; -1: none */             \
  X(body_dofmask, nbody, 4) /* bit i: dof i moves the body */                                                        \
  X(root_bodyid, nroot, 1)  /* first body of each tree */                                                            \
  X(root_end, nroot, 1)     /* one past its last body: bodies are in depth-first order */                            \
  X(jnt_type, njnt, 1)                                                                                               \
  X(jnt_qposadr, njnt, 1)                                                                                            \
  X(jnt_dofadr, njnt, 1)                                                                                             \
  X(jnt_bodyid, njnt, 1)                                                                                             \
  X(jnt_limited, njnt, 1)                                                                                            \
  X(quat_jntid, nquat, 1) /* free and ball joints */                                                                 \
  X(dof_bodyid, nv, 1)                                                                                               \
  X(dof_jntid, nv, 1)                                                                                                \
  X(dof_parentid, nv, 1)                                                                                             \
  X(dof_before, nv, 1) /* the dof whose velocity this one's axis moves with: -1 none; ball: that before all three */ \
  X(dof_fixed_axis, nv, 1) /* 1: translation of a free joint, whose axis does not move */                            \
  X(friction_dofid, nfriction, 1)                                                                                    \
  X(geom_type, ngeom, 1)                                                                                             \
  X(geom_bodyid, ngeom, 1)                                                                                           \
  X(site_bodyid, nsite, 1)                                                                                           \
  X(pair_geom1, npair, 1)                                                                                            \
  X(pair_geom2, npair, 1)                                                                                            \
  X(pair_kind, npair, 1)                                                                                             \
  X(pair_condim, npair, 1)                                                                                           \
  X(pair_frictionmix, npair, 1) /* FrictionMix */                                                                    \
  X(tendon_adr, ntendon, 1)                                                                                          \
  X(tendon_num, ntendon, 1)                                                                                          \
  X(tendon_limited, ntendon, 1)                                                                                      \
  X(wrap_dofid, nwrap, 1)                                                                                            \
  X(wrap_qposid, nwrap, 1)                                                                                           \
  X(wrap_tendonid, nwrap, 1)                                                                                         \
  X(dof_wrapadr, nv, 1) /* entries of dof_wrap that act on the dof */                                                \
  X(dof_wrapnum, nv, 1)                                                                                              \
  X(dof_wrap, nwrap, 1)                                                                                              \
  X(actuator_trntype, nu, 1) /* Transmission */                                                                      \
  X(actuator_trnid, nu, 1)                                                                                           \
  X(actuator_momadr, nu, 1) /* the actuator's moment: rows of mom_* */                                               \
  X(actuator_momnum, nu, 1)                                                                                          \
  X(mom_actid, nmom, 1)                                                                                              \
  X(mom_dofid, nmom, 1)                                                                                              \
  X(dof_momadr, nv, 1) /* entries of dof_mom that act on the dof */                                                  \
  X(dof_momnum, nv, 1)                                                                                               \
  X(dof_mom, nmom, 1)                                                                                                \
  X(pgs_orders, npgs_order, 1) /* the orders in which sweeps visit n edges: order_index() */                         \
  X(actuator_ctrllimited, nu, 1)                                                                                     \
  X(actuator_forcelimited, nu, 1)

#define HOTLOOP_MODEL_REALS(X)                                        \
  X(qpos0, nq, 1)                                                     \
  X(sol, nsol, 8) /* SolverRow */                                     \
  X(qpos_spring, nq, 1)                                               \
  X(body_pos, nbody, 3)                                               \
  X(body_quat, nbody, 4)                                              \
  X(body_iquat, nbody, 4)                                             \
  X(jnt_pos, njnt, 3)                                                 \
  X(jnt_axis, njnt, 3)                                                \
  X(jnt_range, njnt, 2)                                               \
  X(jnt_margin, njnt, 1)                                              \
  X(jnt_actfrcrange, njnt, 2) /* infinite where the joint has none */ \
  X(geom_size, ngeom, 3)                                              \
  X(geom_pos, ngeom, 3)                                               \
  X(geom_quat, ngeom, 4)                                              \
  X(geom_rbound, ngeom, 1)                                            \
  X(site_pos, nsite, 3)                                               \
  X(site_quat, nsite, 4)                                              \
  X(pair_margin, npair, 1)                                            \
  X(pair_gap, npair, 1)                                               \
  X(tendon_range, ntendon, 2)                                         \
  X(tendon_margin, ntendon, 1)                                        \
  X(tendon_lengthspring, ntendon, 2)                                  \
  X(wrap_coef, nwrap, 1)                                              \
  X(mom_coef, nmom, 1)                                                \
  X(actuator_gear, nu, 6)                                             \
  X(actuator_ctrlrange, nu, 2)                                        \
  X(actuator_forcerange, nu, 2)

// Arrays that may differ from world to world (world_fields.h). Those below the line are derived from the others: by
// MuJoCo for the model, by set_const.h for worlds that differ.
#define HOTLOOP_MODEL_FIELDS(X)                              \
  X(gravity, 1, 3)                                           \
  X(body_mass, nbody, 1)                                     \
  X(body_inertia, nbody, 3)                                  \
  X(body_ipos, nbody, 3)                                     \
  X(jnt_stiffness, njnt, 1)                                  \
  X(dof_armature, nv, 1)                                     \
  X(dof_damping, nv, 1)                                      \
  X(dof_frictionloss, nv, 1)                                 \
  X(tendon_stiffness, ntendon, 1)                            \
  X(tendon_damping, ntendon, 1)                              \
  X(tendon_frictionloss, ntendon, 1)                         \
  X(pair_friction, npair, 2) /* sliding, the two tangents */ \
  X(actuator_gainprm, nu, 3)                                 \
  X(actuator_biasprm, nu, 3)                                 \
  /* derived */                                              \
  X(body_subtreemass, nbody, 1)                              \
  X(body_invweight0, nbody, 2)                               \
  X(dof_invweight0, nv, 1)                                   \
  X(tendon_invweight0, ntendon, 1)

// One array of a field: shared by all worlds (stride 0) or one row a world.
template <class Real>
struct Field {
  const Real* data = nullptr;
  int stride = 0;  // elements from one world's row to the next
  SIM_HD const Real* of(int world) const { return data + static_cast<long long>(world) * stride; }
};

// Options of the whole model, and what it does without: disable flags, and features that no element of it uses.
template <class Real>
struct ModelOptions {
  Integrator integrator = Integrator::euler;
  SolverType solver = SolverType::newton;
  int iterations = 100, ls_iterations = 50;
  bool has_contacts = true, has_limits = true, has_friction = true, has_springs = true, has_dampers = true,
       has_warmstart = true, has_actuation = true, clamps_ctrl = true;
  bool safe_ref = true;           // solref time constants are at least two time steps
  bool implicit_damping = false;  // Euler treats joint damping implicitly (and some dof has damping)
  Real timestep = 0, density = 0, viscosity = 0, tolerance = 0, impratio = 1, meaninertia = 1;
  Real wind[3] = {0, 0, 0};
};

template <class R>
struct Model : ModelSizes, ModelOptions<R> {
  using Real = R;
  Tree bodies = {}, dofs = {};
#define HOTLOOP_DECLARE(name, rows, columns) const int* name = nullptr;
  HOTLOOP_MODEL_INTS(HOTLOOP_DECLARE)
#undef HOTLOOP_DECLARE
#define HOTLOOP_DECLARE(name, rows, columns) const Real* name = nullptr;
  HOTLOOP_MODEL_REALS(HOTLOOP_DECLARE)
#undef HOTLOOP_DECLARE
#define HOTLOOP_DECLARE(name, rows, columns) Field<Real> name;
  HOTLOOP_MODEL_FIELDS(HOTLOOP_DECLARE)
#undef HOTLOOP_DECLARE
  Field<Real> xfrc_applied = {};  // [nbody][6] force and torque from outside; stride 0: there are none
};

}  // namespace hotloop
