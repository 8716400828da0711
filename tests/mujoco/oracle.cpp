#include "tests/mujoco/oracle.h"

#include <fmt/format.h>
#include <mujoco/mujoco.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include "tests/mujoco/snapshot.h"

namespace hotloop {
namespace {

// Of every number of the perturbed states and models, relative.
constexpr double kPerturbation = 4 * 5.9604645e-8;

// Of every number of the state that MuJoCo's own sensitivity is measured with, relative: a few ulps, as many as the
// rounding of a stage amounts to. And how many such states are tried.
constexpr double kSensitivityProbe = 8 * 1.1102230246251565e-16;
constexpr int kSensitivityProbes = 16;

// MuJoCo would write its warnings into a file in the working folder.
void be_quiet(const mjLogMessage* message) {
  if (message->level != mjLOG_ERROR) return;
  fmt::print(stderr, "MuJoCo: {}\n", message->subject);
  std::abort();
}

struct DataDeleter {
  void operator()(mjData* data) const { mj_deleteData(data); }
};

class Run {
 public:
  Run(const LoadedModel& model, const OracleOptions& options)
      : options_(options),
        reference_(mj_copyModel(nullptr, model.mujoco())),
        data_(mj_makeData(reference_.get())),
        in_double_(model.data()),
        in_float_(model.data()),
        random_(options.seed) {
    report_.model = model.data().path;
    for (unsigned k = 0; k < 2; ++k)
      perturbed_.push_back(
          std::make_unique<Stepper<double>>(perturbed_model(model, options.seed + 17 * k, kPerturbation)));
    // converged solutions on both sides; PGS by number of iterations
    mjOption& opt = reference_->opt;
    opt.tolerance = pgs() ? 0 : 1e-16;  // of zero, every line search of Newton's would run to its last iteration
    opt.ccd_tolerance = 1e-13;
    opt.ccd_iterations = 200;
    // MuJoCo finds these contacts by iteration, which ends some 1e-8 before ours, whatever its tolerance
    const std::vector<int>& kinds = model.data().pair_kind;
    if (std::count(kinds.begin(), kinds.end(), static_cast<int>(PairKind::capsule_cylinder)) > 0) {
      contact_tolerance_ = 1e-5;
      options_.solver = std::max(options_.solver, 3e-4);
    }
    // MuJoCo runs PGS on each island of trees that touch, with a sweep order of its own; we run it on the whole world
    if (pgs() && model.data().nroot > 1) opt.disableflags |= mjDSBL_ISLAND;
    if (!pgs()) opt.iterations = std::max(opt.iterations, 100);
    opt.ls_iterations = std::max(opt.ls_iterations, 100);
    in_float_.model().iterations = opt.iterations;
    if (pgs()) in_float_.model().tolerance = 0;
    for (Stepper<double>* s : {&in_double_, perturbed_[0].get(), perturbed_[1].get()}) {
      s->model().tolerance = 0;
      s->model().iterations = opt.iterations;
      s->model().ls_iterations = opt.ls_iterations;
    }
  }

  OracleReport run() {
    restart();
    for (int i = 0; i < options_.steps; ++i) {
      if (i % 5 == 0) draw_controls();
      one_step(i);
      if (diverged()) {
        restart();
        ++report_.restarts;
      }
    }
    report_.steps = options_.steps;
    return std::move(report_);
  }

 private:
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }

  void restart() {
    const mjModel* m = reference_.get();
    mjData* d = data_.get();
    if (m->nkey > 0)
      mj_resetDataKeyframe(m, d, 0);
    else
      mj_resetData(m, d);
    for (int i = 0; i < m->nv; ++i) d->qvel[i] += uniform(-options_.speed, options_.speed);
    std::vector<double> turn(static_cast<std::size_t>(m->nv));
    for (double& x : turn) x = uniform(-options_.displacement, options_.displacement);
    mj_integratePos(m, d->qpos, turn.data(), 1);
  }

  bool diverged() const {
    const mjData* d = data_.get();
    const auto bad = [](double x) { return !(std::fabs(x) < 1e3); };
    if (std::any_of(d->qacc, d->qacc + reference_->nv, [](double x) { return !(std::fabs(x) < 1e5); })) return true;
    return std::any_of(d->qpos, d->qpos + reference_->nq, bad) || std::any_of(d->qvel, d->qvel + reference_->nv, bad);
  }

  // Sometimes beyond the ranges.
  void draw_controls() {
    for (int u = 0; u < reference_->nu; ++u) {
      const bool limited = reference_->actuator_ctrllimited[u] != 0;
      const double low = limited ? reference_->actuator_ctrlrange[2 * u] : -1;
      const double high = limited ? reference_->actuator_ctrlrange[2 * u + 1] : 1;
      const double middle = 0.5 * (low + high), half = 0.6 * (high - low);
      data_->ctrl[u] = uniform(middle - half, middle + half);
    }
  }

  struct State {
    std::vector<double> qpos, qvel, warmstart, ctrl;
  };

  State perturbed(State s, double relative) {
    for (std::vector<double>* v : {&s.qpos, &s.qvel, &s.ctrl})
      for (double& x : *v) x += x * uniform(-relative, relative);
    perturb_quaternions(s.qpos, relative);
    return s;
  }

  template <class Real>
  Snapshot ours(Stepper<Real>& s, const State& state) {
    const auto set = [&] {
      s.set_state(state.qpos.data(), state.qvel.data(), state.warmstart.data(), state.ctrl.data());
    };
    set();
    s.forward();
    Snapshot shot = snapshot(s);
    order_open_ = capsule_on_cylinder(s);
    set();
    s.step();
    order_open_ = order_open_ || capsule_on_cylinder(s);
    const World<Real> w = s.world();
    shot.values[kNextQpos].assign(w.qpos(), w.qpos() + s.model().nq);
    shot.values[kNextQvel].assign(w.qvel(), w.qvel() + s.model().nv);
    status_ = w.counts()[kStatus];
    return shot;
  }

  template <class Real>
  static bool capsule_on_cylinder(Stepper<Real>& s) {
    const World<Real> w = s.world();
    for (int c = 0; c < w.counts()[kContacts]; ++c)
      if (s.model().pair_kind[w.con_pair()[c]] == static_cast<int>(PairKind::capsule_cylinder)) return true;
    return false;
  }

  // Relative to their length: a component that is zero is not exact.
  void perturb_quaternions(std::vector<double>& qpos, double size) {
    const mjModel* m = reference_.get();
    for (int j = 0; j < m->njnt; ++j) {
      if (m->jnt_type[j] != mjJNT_FREE && m->jnt_type[j] != mjJNT_BALL) continue;
      const int first = m->jnt_qposadr[j] + (m->jnt_type[j] == mjJNT_FREE ? 3 : 0);
      for (int k = 0; k < 4; ++k) qpos[first + k] += uniform(-size, size);
    }
  }

  void round_state() {
    const auto round = [](std::vector<double>& to, double* from, int n) {
      for (int i = 0; i < n; ++i) from[i] = static_cast<float>(from[i]);
      to.assign(from, from + n);
    };
    mjData* d = data_.get();
    round(state_.qpos, d->qpos, static_cast<int>(reference_->nq));
    round(state_.qvel, d->qvel, static_cast<int>(reference_->nv));
    round(state_.warmstart, d->qacc_warmstart, static_cast<int>(reference_->nv));
    round(state_.ctrl, d->ctrl, static_cast<int>(reference_->nu));
  }

  // MuJoCo's at the state in d, which moves on by one step.
  Snapshot theirs(mjData* d) const {
    const mjModel* m = reference_.get();
    mj_forward(m, d);
    Snapshot s = snapshot(m, d);
    mj_step(m, d);
    s.values[kNextQpos].assign(d->qpos, d->qpos + m->nq);
    s.values[kNextQvel].assign(d->qvel, d->qvel + m->nv);
    s.solved = s.solved || pgs();
    return s;
  }

  // How far MuJoCo's own results move with the last digits of the state.
  struct Sensitivity {
    StepErrors error;
    bool contacts = false;  // their number, pairs or order
  };
  Sensitivity sensitivity(const Snapshot& reference) {
    Sensitivity s;
    s.error.fill(0);
    std::unique_ptr<mjData, DataDeleter> data(mj_makeData(reference_.get()));
    for (int k = 0; k < kSensitivityProbes; ++k) {
      const State state = perturbed(state_, kSensitivityProbe);
      std::copy(state.qpos.begin(), state.qpos.end(), data->qpos);
      std::copy(state.qvel.begin(), state.qvel.end(), data->qvel);
      std::copy(state.warmstart.begin(), state.warmstart.end(), data->qacc_warmstart);
      std::copy(state.ctrl.begin(), state.ctrl.end(), data->ctrl);
      StepErrors error;
      if (compare(theirs(data.get()), reference, error) != ContactsDiffer::no) s.contacts = true;
      for (int q = 0; q < kQuantities; ++q) s.error[q] = std::max(s.error[q], error[q]);
    }
    return s;
  }

  double accepted(int quantity) const {
    if (needs_solution(quantity)) return options_.solver;
    return needs_contacts(quantity) ? std::max(contact_tolerance_, options_.before_solver) : options_.before_solver;
  }

  void fail(const std::string& what) {
    if (report_.failures.size() < 8) report_.failures.push_back(report_.model + ": " + what);
  }

  static void add(const StepErrors& errors, ErrorTable& table) {
    for (int q = 0; q < kQuantities; ++q)
      if (errors[q] >= 0) table[q].add(errors[q]);
  }

  // What ours and MuJoCo's results differ by. PGS depends on the order of the contacts, and that of a capsule's two on
  // a cylinder is open, at every stage of a step.
  ContactsDiffer difference(Snapshot& found, Snapshot& reference, StepErrors& error) {
    if (contact_tolerance_ > 0) match_contacts(found, reference);
    if (found.swapped && pgs()) reference.solved = false;
    const ContactsDiffer contacts = compare(found, reference, error);
    const bool rk4 = reference_->opt.integrator == mjINT_RK4;
    if (pgs() && rk4) error[kMassMatrix] = -1;  // its inverse has taken its place
    if (order_open_ && pgs() && rk4) error[kNextQpos] = error[kNextQvel] = -1;
    return contacts;
  }
  bool pgs() const { return reference_->opt.solver == mjSOL_PGS; }

  // An outlier must be one of MuJoCo's own: its results at this state move by as much, to an order of magnitude (few
  // states are tried), with the last digits.
  void check_double(int step, Snapshot& exact, Snapshot& reference) {
    StepErrors error;
    const ContactsDiffer differ = difference(exact, reference, error);
    add(error, report_.in_double);
    const bool other_rows = differ == ContactsDiffer::no && exact.rows != reference.rows;
    bool outlier = differ == ContactsDiffer::yes || other_rows;
    for (int q = 0; q < kQuantities; ++q) outlier = outlier || error[q] > accepted(q);
    if (!outlier) return;
    ++report_.outliers;
    const Sensitivity own = sensitivity(reference);
    if (differ == ContactsDiffer::yes && !own.contacts)
      fail(fmt::format("step {}: {} contacts, MuJoCo {}", step, exact.contacts.size(), reference.contacts.size()));
    if (other_rows && !own.contacts)
      fail(fmt::format("step {}: {} constraint rows, MuJoCo {}", step, exact.rows, reference.rows));
    for (int q = 0; q < kQuantities; ++q)
      if (error[q] > std::max(accepted(q), 10 * own.error[q]))
        fail(fmt::format("step {}: {} is off by {:.2e}, MuJoCo's own by {:.2e}", step,
                         name_of(static_cast<Quantity>(q)), error[q], own.error[q]));
  }

  void one_step(int step) {
    round_state();
    Snapshot reference = theirs(data_.get());
    if (largest_of(reference.values[kQacc]) > 1e5) return;  // bursts
    if (!reference.solved) ++report_.reference_unsolved;
    report_.contacts += static_cast<long>(reference.contacts.size());
    report_.rows += reference.rows;

    Snapshot exact = ours(in_double_, state_);
    if (status_ != 0 && !diverged()) fail(fmt::format("step {}: status {}", step, status_));
    if (!pgs() && !exact.solved) fail(fmt::format("step {}: not at the minimum", step));
    check_double(step, exact, reference);

    if (!options_.in_float) return;
    StepErrors error;
    Snapshot single = ours(in_float_, state_);
    if (difference(single, reference, error) == ContactsDiffer::yes) ++report_.contacts_in_float;
    add(error, report_.in_float);
    for (auto& p : perturbed_) {
      if (compare(ours(*p, perturbed(state_, kPerturbation)), exact, error) == ContactsDiffer::yes)
        ++report_.contacts_in_floor;
      add(error, report_.floor);
    }
  }

  OracleOptions options_;
  LoadedModel::Handle reference_;
  std::unique_ptr<mjData, DataDeleter> data_;
  Stepper<double> in_double_;
  Stepper<float> in_float_;
  std::vector<std::unique_ptr<Stepper<double>>> perturbed_;
  std::mt19937 random_;
  State state_;
  int status_ = 0;
  bool order_open_ = false;       // a capsule lay on a cylinder in the last step of ours
  double contact_tolerance_ = 0;  // beyond that before the solver
  OracleReport report_;
};

}  // namespace

OracleReport run_oracle(const LoadedModel& model, const OracleOptions& options) {
  mju_setLogHandler(be_quiet);
  return Run(model, options).run();
}

}  // namespace hotloop
