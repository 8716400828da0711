// The working set of one world: every quantity that a physics step holds, named as in MuJoCo's mjData; root_com is
// subtree_com of the tree's root body, kept for that body's index. It lies in one block of memory (shared memory on the
// GPU, the cache on the CPU); arrays whose lives do not overlap share space.
#pragma once
#include "sim/mujoco/model.h"

namespace hotloop {

// The parts of a step, in order: an array lives from the part that writes it first to the part that reads it last.
enum StepPart : int {
  kKinematics,  // poses, centres of mass, inertias, dof axes
  kCollision,
  kVelocity,  // bias, passive and actuator forces
  kInertia,   // the mass matrix
  kConstraint,
  kSolve,
  kIntegrate,
  kFinish,  // what tasks, sensors and taps read after a step
};

// Quantities that someone wants to read after the step.
enum Keep : unsigned {
  kKeepPose = 1,        // xpos, xquat of bodies
  kKeepCom = 2,         // xipos, root_com
  kKeepInertia = 4,     // cinert
  kKeepVelocity = 8,    // dof_vel (cvel), cdof
  kKeepForce = 16,      // qfrc_actuator, qfrc_constraint
  kKeepContact = 32,    // contacts and their forces (cfrc_ext)
  kKeepGeoms = 64,      // geom_xpos, geom_xquat
  kKeepPosition = 128,  // xpos of bodies
  kKeepTap = 256,       // nothing by itself: there is a tap (tap.h), which needs kKeepContact
  kKeepAll = ~0u,
};

// A contact: position, distance, normal (from geom 1 to geom 2), friction 1, first tangent, friction 2.
inline constexpr int kContactStride = 12;
// Words of a bit set of dofs.
constexpr int dof_words(int nv) { return (nv + 31) / 32; }

// X(name, elements, first part, last part, Keep bits that hold it until kFinish). dof_vel and dof_acc: spatial velocity
// and bias acceleration of the chain up to and including the dof; the body's cvel is that of its last dof.
#define HOTLOOP_WORLD_REALS(X)                                                                                  \
  X(qpos, s.nq, kKinematics, kFinish, 0)                                                                        \
  X(qvel, s.nv, kKinematics, kFinish, 0)                                                                        \
  X(ctrl, s.nu, kKinematics, kFinish, 0)                                                                        \
  X(qacc_warmstart, s.nv, kKinematics, kFinish, 0)                                                              \
  X(rk_qpos, s.rk4 ? s.nq : 0, kKinematics, kFinish, 0)                                                         \
  X(rk_qvel, s.rk4 ? s.nv : 0, kKinematics, kFinish, 0)                                                         \
  X(rk_dqpos, s.rk4 ? s.nv : 0, kKinematics, kFinish, 0)                                                        \
  X(rk_dqvel, s.rk4 ? s.nv : 0, kKinematics, kFinish, 0)                                                        \
  X(rk_stage, s.rk4 ? s.nv : 0, kKinematics, kFinish, 0)                                                        \
  X(xpos, 3 * s.nbody, kKinematics, kCollision, kKeepPose | kKeepPosition)                                      \
  X(xquat, 4 * s.nbody, kKinematics, kVelocity, kKeepPose)                                                      \
  X(xipos, 3 * s.nbody, kKinematics, kVelocity, kKeepCom)                                                       \
  X(root_com, 3 * s.nbody, kKinematics, kConstraint, kKeepCom | kKeepContact)                                   \
  X(cinert, 10 * s.nbody, kKinematics, kInertia, kKeepInertia)                                                  \
  X(cdof, 6 * s.nv, kKinematics, kConstraint, kKeepVelocity)                                                    \
  X(ten_length, s.ntendon, kKinematics, kConstraint, 0)                                                         \
  X(xanchor, 3 * s.njnt, kKinematics, kKinematics, 0)                                                           \
  X(xaxis, 3 * s.njnt, kKinematics, kKinematics, 0)                                                             \
  X(geom_xpos, 3 * s.ngeom, kKinematics, kCollision, kKeepGeoms)                                                \
  X(geom_xquat, 4 * s.ngeom, kKinematics, kCollision, kKeepGeoms)                                               \
  X(contact, kContactStride* s.max_contacts, kCollision, kConstraint, kKeepContact)                             \
  X(qfrc_actuator, s.nv, kVelocity, kVelocity, kKeepForce)                                                      \
  X(qfrc_passive, s.nv, kVelocity, kVelocity, kKeepForce)                                                       \
  X(qfrc_bias, s.nv, kVelocity, kVelocity, kKeepForce)                                                          \
  X(qfrc_smooth, s.nv, kVelocity, kIntegrate, 0)                                                                \
  X(dof_vel, 6 * s.nv, kVelocity, kConstraint, kKeepVelocity)                                                   \
  X(dof_acc, 6 * s.nv, kVelocity, kVelocity, 0)                                                                 \
  X(cfrc, 6 * s.nbody, kVelocity, kVelocity, 0)                                                                 \
  X(cfluid, s.has_fluid ? 6 * s.nbody : 0, kVelocity, kVelocity, 0)                                             \
  X(ten_velocity, s.ntendon, kVelocity, kVelocity, 0)                                                           \
  X(actuator_force, s.nu, kVelocity, kVelocity, 0)                                                              \
  X(M, s.nv* s.row, kInertia, kIntegrate, 0)                                                                    \
  X(crb, 10 * s.nbody, kVelocity, kInertia, 0)                                                                  \
  X(J, s.max_rows* s.row, kConstraint, kSolve, 0)                                                               \
  X(block_D, s.max_blocks, kConstraint, kSolve, 0)                                                              \
  X(block_res, 3 * s.max_blocks, kConstraint, kSolve, 0)                                                        \
  X(block_dir, 3 * s.max_blocks, kConstraint, kSolve, 0)                                                        \
  X(block_force, 3 * s.max_blocks, kSolve, kSolve, kKeepContact)                                                \
  X(dof_force, s.pgs ? 0 : s.nv, kSolve, kSolve, 0)                                                             \
  X(dof_stiff, s.pgs ? 0 : s.nv, kSolve, kSolve, 0)                                                             \
  X(qacc, s.nv, kSolve, kIntegrate, kKeepForce)                                                                 \
  X(qfrc_constraint, s.nv, kSolve, kIntegrate, kKeepForce)                                                      \
  X(Ma, s.pgs ? 0 : s.nv, kSolve, kSolve, 0)                                                                    \
  X(Mv, s.pgs ? 0 : s.nv, kSolve, kSolve, 0)                                                                    \
  X(search, s.row, kSolve, kIntegrate, 0)                                                                       \
  X(solve_rows, s.pgs&& s.rk4 ? 0 : 4 * (s.bound + 4), kSolve, kIntegrate, 0)                                   \
  X(H, s.pgs&& s.rk4 ? 0 : s.bound > 64 ? s.nv * (s.row + 4) : s.pgs ? s.nv * s.row : 0, kSolve, kIntegrate, 0) \
  X(pgs_space, pgs_space_size(s), kSolve, kSolve, 0)

#define HOTLOOP_WORLD_INTS(X)                                                     \
  X(counts, 8, kKinematics, kFinish, 0)                                           \
  X(con_pair, s.max_contacts, kCollision, kFinish, 0)                             \
  X(candidates, s.npair, kCollision, kCollision, 0)                               \
  X(block_code, s.max_blocks, kConstraint, kFinish, 0)                            \
  X(con_moves, 2 * dof_words(s.nv) * s.max_contacts, kConstraint, kConstraint, 0) \
  X(block_state, s.max_blocks, kConstraint, kSolve, 0)                            \
  X(pgs_first, s.pgs ? s.max_blocks : 0, kSolve, kSolve, 0)

// Entries of `counts`.
enum WorldCount : int { kContacts, kBlocks, kRows, kIterations, kStatus, kContactBlocks, kScalars };
// Bits of counts[kStatus].
enum WorldStatus : int { kContactOverflow = 1, kRowOverflow = 2, kNonfinite = 4 };

// Where each array begins, in Reals; an int takes the place of a Real.
struct WorldLayout {
#define HOTLOOP_DECLARE(name, elements, from, to, keep) int name = 0;
  HOTLOOP_WORLD_REALS(HOTLOOP_DECLARE)
  HOTLOOP_WORLD_INTS(HOTLOOP_DECLARE)
#undef HOTLOOP_DECLARE
  int reals = 0;  // of the whole
  int keep = 0;   // Keep bits that it was made with
};

// The layout for a model of these sizes; keep: Keep bits (world_layout.cpp).
WorldLayout make_layout(const ModelSizes& sizes, unsigned keep);

// Bytes of one world's working set.
template <class Real>
constexpr unsigned long world_bytes(const WorldLayout& at) {
  return sizeof(Real) * at.reals;
}

// One world's view of its working set. Layout is WorldLayout, or a type whose members are compile-time constants.
template <class R, class Layout = WorldLayout>
struct World {
  using Real = R;
  Real* reals;
  const Layout& at;
  int index;  // of the world: selects its row of the model's per-world fields

#define HOTLOOP_ACCESS(name, elements, from, to, keep) \
  SIM_HD Real* name() const { return reals + at.name; }
  HOTLOOP_WORLD_REALS(HOTLOOP_ACCESS)
#undef HOTLOOP_ACCESS
#define HOTLOOP_ACCESS(name, elements, from, to, keep) \
  SIM_HD int* name() const { return reinterpret_cast<int*>(reals + at.name); }
  HOTLOOP_WORLD_INTS(HOTLOOP_ACCESS)
#undef HOTLOOP_ACCESS
};

}  // namespace hotloop
