// Tables that follow from a model's topology: which dofs move a body, kinematic trees, and the moments of actuators and
// tendons sorted by dof, so that each lane sums the forces on its own dof.
#include <algorithm>
#include <numeric>

#include "sim/mujoco/model_data.h"
#include "sim/mujoco/sweep_order.h"

namespace hotloop {
namespace {

// Sorts entries 0 ... n - 1 by the dof they act on: entries of dof i are list[adr[i]] ... list[adr[i] + num[i] - 1].
void sort_by_dof(const std::vector<int>& dof_of, int nv, std::vector<int>& adr, std::vector<int>& num,
                 std::vector<int>& list) {
  adr.assign(nv, 0);
  num.assign(nv, 0);
  list.clear();
  for (int i = 0; i < nv; ++i) {
    adr[i] = static_cast<int>(list.size());
    for (int e = 0; e < static_cast<int>(dof_of.size()); ++e)
      if (dof_of[e] == i) list.push_back(e);
    num[i] = static_cast<int>(list.size()) - adr[i];
  }
}

void tree_tables(ModelData& d) {
  d.body_dofmask.assign(4 * d.nbody, 0);
  for (int b = 0; b < d.nbody; ++b)
    for (int i = d.body_lastdof[b]; i >= 0; i = d.dof_parentid[i])
      d.body_dofmask[4 * b + i / 32] |= static_cast<int>(1U << (i % 32));
  d.root_bodyid.clear();
  d.root_end.clear();
  for (int b = 1; b < d.nbody; ++b) {
    if (d.body_parentid[b] == 0) {
      d.root_bodyid.push_back(b);
      d.root_end.push_back(b);
    }
    d.root_end.back() = b + 1;
  }
  d.nroot = static_cast<int>(d.root_bodyid.size());
}

// Moments are constant: a scalar joint's is its gear, a fixed tendon's its coefficients, and those of ball and free
// joints their gear in the joint's own frame.
void actuator_tables(ModelData& d) {
  d.actuator_momadr.clear();
  d.actuator_momnum.clear();
  d.mom_actid.clear();
  d.mom_dofid.clear();
  d.mom_coef.clear();
  const auto add = [&](int actuator, int dof, double coef) {
    d.mom_actid.push_back(actuator);
    d.mom_dofid.push_back(dof);
    d.mom_coef.push_back(coef);
  };
  for (int u = 0; u < d.nu; ++u) {
    d.actuator_momadr.push_back(static_cast<int>(d.mom_actid.size()));
    const int id = d.actuator_trnid[u];
    const double* gear = &d.actuator_gear[6 * u];
    if (d.actuator_trntype[u] == static_cast<int>(Transmission::tendon)) {
      for (int k = d.tendon_adr[id]; k < d.tendon_adr[id] + d.tendon_num[id]; ++k)
        add(u, d.wrap_dofid[k], gear[0] * d.wrap_coef[k]);
    } else {
      const auto type = static_cast<JointType>(d.jnt_type[id]);
      const int dofs = type == JointType::free ? 6 : type == JointType::ball ? 3 : 1;
      d.actuator_trntype[u] = static_cast<int>(type == JointType::free   ? Transmission::free_joint
                                               : type == JointType::ball ? Transmission::ball
                                                                         : Transmission::joint);
      for (int k = 0; k < dofs; ++k) add(u, d.jnt_dofadr[id] + k, gear[k]);
    }
    d.actuator_momnum.push_back(static_cast<int>(d.mom_actid.size()) - d.actuator_momadr[u]);
  }
  d.nmom = static_cast<int>(d.mom_actid.size());
  sort_by_dof(d.mom_dofid, d.nv, d.dof_momadr, d.dof_momnum, d.dof_mom);
}

// One row of solver parameters, brought into range as mj_makeImpedance does. friction: no stiffness.
void add_solver_row(ModelData& d, const double* solref, const double* solimp, bool friction) {
  constexpr double kMinImp = 1e-4, kMaxImp = 0.9999, kTinyValue = 1e-15;
  double ref0 = solref[0], ref1 = solref[1];
  if ((ref0 > 0) != (ref1 > 0)) {  // mixed formats: MuJoCo takes the default
    ref0 = 0.02;
    ref1 = 1;
  }
  if (d.safe_ref && ref0 > 0) ref0 = std::max(ref0, 2 * d.timestep);
  const double low = std::clamp(solimp[0], kMinImp, kMaxImp), high = std::clamp(solimp[1], kMinImp, kMaxImp);
  const double stiffness = ref0 > 0 ? 1 / std::max(kTinyValue, high * high * ref0 * ref0 * ref1 * ref1)
                                    : -ref0 / std::max(kTinyValue, high * high);
  const double damping = ref1 > 0 ? 2 / std::max(kTinyValue, high * ref0) : -ref1 / std::max(kTinyValue, high);
  const double power = std::max(solimp[4], 1.0);
  d.has_powers = d.has_powers || (power != 1 && power != 2);
  for (const double value : {low, high, std::max(solimp[2], 0.0), std::clamp(solimp[3], kMinImp, kMaxImp), power,
                             friction ? 0 : stiffness, damping, 0.0})
    d.sol.push_back(value);
}

void solver_rows(ModelData& d) {
  d.sol.clear();
  d.has_powers = false;
  const auto add = [&](int count, const std::vector<double>& solref, const std::vector<double>& solimp, bool friction) {
    for (int i = 0; i < count; ++i) add_solver_row(d, &solref[2 * i], &solimp[5 * i], friction);
  };
  add(d.njnt, d.jnt_solref, d.jnt_solimp, false);
  add(d.npair, d.pair_solref, d.pair_solimp, false);
  add(d.nv, d.dof_solref, d.dof_solimp, true);
  add(d.ntendon, d.tendon_solref_lim, d.tendon_solimp_lim, false);
  add(d.ntendon, d.tendon_solref_fri, d.tendon_solimp_fri, true);
  d.nsol = static_cast<int>(d.sol.size()) / 8;
}

void find_features(ModelData& d) {
  const auto round = [](int kind) {
    const auto k = static_cast<PairKind>(kind);
    return k == PairKind::plane_sphere || k == PairKind::plane_capsule || k == PairKind::sphere_sphere ||
           k == PairKind::sphere_capsule || k == PairKind::capsule_capsule;
  };
  d.has_polytopes = !std::all_of(d.pair_kind.begin(), d.pair_kind.end(), round);
  d.has_tendon_forces = d.has_tendon_rows = false;
  for (int t = 0; t < d.ntendon; ++t) {
    d.has_tendon_forces = d.has_tendon_forces || d.tendon_stiffness[t] != 0 || d.tendon_damping[t] != 0;
    d.has_tendon_rows = d.has_tendon_rows || d.tendon_limited[t] != 0 || d.tendon_frictionloss[t] > 0;
  }
  for (const int type : d.actuator_trntype)
    d.has_tendon_forces = d.has_tendon_forces || type == static_cast<int>(Transmission::tendon);
  d.pair_kinds = 0;
  for (const int kind : d.pair_kind) d.pair_kinds |= 1 << kind;
  d.has_affine = d.has_ball_springs = d.has_ball_limits = false;
  for (int u = 0; u < d.nu; ++u) {
    const double *gain = &d.actuator_gainprm[3 * u], *bias = &d.actuator_biasprm[3 * u];
    d.has_affine = d.has_affine || gain[1] != 0 || gain[2] != 0 || bias[0] != 0 || bias[1] != 0 || bias[2] != 0;
  }
  for (const int j : d.quat_jntid) {
    const bool ball = d.jnt_type[j] == static_cast<int>(JointType::ball);
    d.has_ball_limits = d.has_ball_limits || (ball && d.jnt_limited[j] != 0);
    d.has_ball_springs = d.has_ball_springs || (d.has_springs && d.jnt_stiffness[j] != 0);
  }
}

}  // namespace

void finish_tables(ModelData& d) {
  tree_tables(d);
  actuator_tables(d);
  d.wrap_tendonid.assign(d.nwrap, 0);
  for (int t = 0; t < d.ntendon; ++t)
    for (int k = d.tendon_adr[t]; k < d.tendon_adr[t] + d.tendon_num[t]; ++k) d.wrap_tendonid[k] = t;
  sort_by_dof(d.wrap_dofid, d.nv, d.dof_wrapadr, d.dof_wrapnum, d.dof_wrap);
  solver_rows(d);
  find_features(d);
}

// The orders depend only on the number of edges: the stream starts anew in every solution.
void fill_sweep_orders(ModelData& d) {
  d.pgs_orders.clear();
  for (int n = 1; n <= d.max_edges; ++n) {
    SweepRandom random;
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    for (int sweep = 0; sweep < d.pgs_sweeps; ++sweep) {
      shuffle_order(order.data(), random, n);
      d.pgs_orders.insert(d.pgs_orders.end(), order.begin(), order.end());
    }
  }
  d.npgs_order = static_cast<int>(d.pgs_orders.size());
}

}  // namespace hotloop
