#include "tests/mujoco/oracle.h"

#include <fmt/format.h>
#include <mujoco/mujoco.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>

#include "tests/mujoco/stepper.h"

namespace hotloop {
namespace {

constexpr const char* kNames[kQuantities] = {
    "xpos",         "xquat",       "xipos",         "cinert",       "cdof",
    "cvel",         "M",           "qfrc_bias",     "qfrc_passive", "qfrc_actuator",
    "contact dist", "contact pos", "contact frame", "qacc",         "qfrc_constraint",
    "next qpos",    "next qvel"};

// What a float computation may always lose, whatever the perturbed states say: p99 of MuJoCo's own single-precision
// build against its double one (xpos, M, qfrc_bias, qacc, qfrc_constraint, qpos, qvel), the others by analogy. A
// maximum over some thousand steps reaches ten times that (one of qacc there a hundred times), and half of all steps a
// quarter.
constexpr double kSingleP99[kQuantities] = {2.7e-7, 2.7e-7, 2.7e-7, 4e-7,   5e-7, 5e-6, 4e-7,   1.5e-5, 1.5e-5,
                                            1.5e-5, 3e-7,   3e-7,   1.5e-6, 1e-4, 3e-4, 7.5e-7, 4e-5};
double single_precision(int quantity, double fraction) {
  return kSingleP99[quantity] * (fraction >= 1 ? 10 : fraction > 0.5 ? 1 : 0.25);
}

// Of every number of the perturbed states and models, relative.
constexpr double kPerturbation = 4 * 5.9604645e-8;

struct ContactKey {
  int geom1, geom2;
  double dist, margin;
};

// Everything of one step.
struct Snapshot {
  std::array<std::vector<double>, kQuantities> values;
  std::vector<ContactKey> contacts;
  int rows = 0;
  bool solved = true;    // Newton's gradient is zero
  bool swapped = false;  // some contacts had another order
};

// Largest entry of M qacc - (all forces), over the largest force.
double gradient(const std::vector<double>& mass, const std::vector<double>& qacc, const std::vector<double>& smooth,
                const std::vector<double>& constraint) {
  double largest = 0, scale = 1;
  const std::size_t nv = qacc.size();
  for (std::size_t i = 0; i < nv; ++i) {
    double sum = -smooth[i] - constraint[i];
    for (std::size_t j = 0; j < nv; ++j) sum += mass[i * nv + j] * qacc[j];
    largest = std::max(largest, std::fabs(sum));
    scale = std::max({scale, std::fabs(smooth[i]), std::fabs(constraint[i])});
  }
  return largest / scale;
}

template <class From>
void assign(std::vector<double>& to, const From* from, int n) {
  to.assign(from, from + n);
}

template <class From>
void append(std::vector<double>& to, const From* from, int n) {
  to.insert(to.end(), from, from + n);
}

Snapshot snapshot(const mjModel* m, const mjData* d) {
  Snapshot s;
  const int nv = static_cast<int>(m->nv), nbody = static_cast<int>(m->nbody);
  assign(s.values[kXpos], d->xpos, 3 * nbody);
  assign(s.values[kXquat], d->xquat, 4 * nbody);
  assign(s.values[kXipos], d->xipos, 3 * nbody);
  assign(s.values[kCinert], d->cinert + 10, 10 * (nbody - 1));
  assign(s.values[kCdof], d->cdof, 6 * nv);
  assign(s.values[kCvel], d->cvel, 6 * nbody);
  s.values[kMassMatrix].resize(static_cast<std::size_t>(nv) * nv);
  mj_fullM(m, d, s.values[kMassMatrix].data());
  assign(s.values[kQfrcBias], d->qfrc_bias, nv);
  assign(s.values[kQfrcPassive], d->qfrc_passive, nv);
  assign(s.values[kQfrcActuator], d->qfrc_actuator, nv);
  for (int c = 0; c < d->ncon; ++c) {
    const mjContact& contact = d->contact[c];
    if (contact.exclude != 0) continue;
    s.contacts.push_back({contact.geom[0], contact.geom[1], contact.dist, contact.includemargin});
    append(s.values[kContactDist], &contact.dist, 1);
    append(s.values[kContactPos], contact.pos, 3);
    append(s.values[kContactFrame], contact.frame, 6);
  }
  assign(s.values[kQacc], d->qacc, nv);
  assign(s.values[kQfrcConstraint], d->qfrc_constraint, nv);
  s.rows = d->nefc;
  const std::vector<double> smooth(d->qfrc_smooth, d->qfrc_smooth + nv);
  s.solved = gradient(s.values[kMassMatrix], s.values[kQacc], smooth, s.values[kQfrcConstraint]) < 1e-8;
  return s;
}

template <class Real>
Snapshot snapshot(Stepper<Real>& stepper) {
  Snapshot s;
  const World<Real> w = stepper.world();
  const Model<Real>& m = stepper.model();
  assign(s.values[kXpos], w.xpos(), 3 * m.nbody);
  assign(s.values[kXquat], w.xquat(), 4 * m.nbody);
  assign(s.values[kXipos], w.xipos(), 3 * m.nbody);
  assign(s.values[kCinert], w.cinert() + 10, 10 * (m.nbody - 1));
  assign(s.values[kCdof], w.cdof(), 6 * m.nv);
  const Real still[6] = {};
  for (int b = 0; b < m.nbody; ++b)
    append(s.values[kCvel], m.body_lastdof[b] < 0 ? still : w.dof_vel() + 6 * m.body_lastdof[b], 6);
  for (int i = 0; i < m.nv; ++i) append(s.values[kMassMatrix], w.M() + i * m.row, m.nv);
  assign(s.values[kQfrcBias], w.qfrc_bias(), m.nv);
  assign(s.values[kQfrcPassive], w.qfrc_passive(), m.nv);
  assign(s.values[kQfrcActuator], w.qfrc_actuator(), m.nv);
  for (int c = 0; c < w.counts()[kContacts]; ++c) {
    const int pair = w.con_pair()[c];
    const Real* contact = w.contact() + kContactStride * c;
    s.contacts.push_back({m.pair_geom1[pair], m.pair_geom2[pair], static_cast<double>(contact[3]),
                          static_cast<double>(m.pair_margin[pair])});
    append(s.values[kContactPos], contact, 3);
    append(s.values[kContactDist], contact + 3, 1);
    append(s.values[kContactFrame], contact + 4, 3);
    append(s.values[kContactFrame], contact + 8, 3);
  }
  assign(s.values[kQacc], w.qacc(), m.nv);
  assign(s.values[kQfrcConstraint], w.qfrc_constraint(), m.nv);
  s.rows = stepper.constraint_rows();
  const std::vector<double> smooth(w.qfrc_smooth(), w.qfrc_smooth() + m.nv);
  s.solved = gradient(s.values[kMassMatrix], s.values[kQacc], smooth, s.values[kQfrcConstraint]) < 1e-8;
  return s;
}

double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (const double x : values) largest = std::max(largest, std::fabs(x));
  return largest;
}

double scaled_error(const std::vector<double>& ours, const std::vector<double>& theirs, double least_scale) {
  const double largest = std::max(least_scale, largest_of(theirs));
  double error = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const double difference = std::fabs(ours[i] - theirs[i]);
    if (!(difference <= error)) error = std::isfinite(difference) ? difference : 1e30;
  }
  return error / largest;
}

enum class ContactsDiffer { no, on_margin, yes };

// The same pairs in the same order; or differences that lie on the edge of the margin.
ContactsDiffer contacts_differ(const Snapshot& ours, const Snapshot& theirs) {
  const auto same_pair = [](const ContactKey& a, const ContactKey& b) {
    return a.geom1 == b.geom1 && a.geom2 == b.geom2;
  };
  if (std::equal(ours.contacts.begin(), ours.contacts.end(), theirs.contacts.begin(), theirs.contacts.end(), same_pair))
    return ContactsDiffer::no;
  std::map<std::pair<int, int>, std::array<int, 2>> balance;  // contacts more than the other's, those on the margin
  const auto count = [&](const Snapshot& s, int sign) {
    for (const ContactKey& c : s.contacts) {
      balance[{c.geom1, c.geom2}][0] += sign;
      if (std::fabs(c.dist - c.margin) < 1e-6) ++balance[{c.geom1, c.geom2}][1];
    }
  };
  count(ours, 1);
  count(theirs, -1);
  bool only_order = true;
  for (const auto& [pair, n] : balance) {
    if (std::abs(n[0]) > n[1]) return ContactsDiffer::yes;
    only_order = only_order && n[0] == 0;
  }
  return only_order ? ContactsDiffer::yes : ContactsDiffer::on_margin;
}

// Contacts of one pair in the order of the other's nearest ones: where MuJoCo iterates, theirs is arbitrary.
void match_contacts(Snapshot& ours, const Snapshot& theirs) {
  const std::vector<double>&to = theirs.values[kContactPos], &from = ours.values[kContactPos];
  if (ours.contacts.size() != theirs.contacts.size()) return;
  const auto distance = [&](std::size_t a, std::size_t b) {
    return std::hypot(from[3 * a] - to[3 * b], from[3 * a + 1] - to[3 * b + 1], from[3 * a + 2] - to[3 * b + 2]);
  };
  for (std::size_t c = 0; c + 1 < theirs.contacts.size(); ++c) {
    const ContactKey &a = ours.contacts[c], &b = ours.contacts[c + 1];
    if (a.geom1 != b.geom1 || a.geom2 != b.geom2 || distance(c, c) <= distance(c + 1, c)) continue;
    const auto swap = [&](Quantity quantity, std::size_t n) {
      double* first = ours.values[quantity].data() + n * c;
      std::swap_ranges(first, first + n, first + n);
    };
    std::swap(ours.contacts[c], ours.contacts[c + 1]);
    swap(kContactDist, 1);
    swap(kContactPos, 3);
    swap(kContactFrame, 6);
    ours.swapped = true;
  }
}

bool needs_contacts(int quantity) { return quantity >= kContactDist && quantity <= kContactFrame; }
bool needs_solution(int quantity) { return quantity >= kQacc; }

// Adds the errors of what can be compared; returns how the contacts compare.
ContactsDiffer compare(const Snapshot& ours, const Snapshot& theirs, ErrorTable& table,
                       std::array<double, kQuantities>* last = nullptr) {
  const ContactsDiffer contacts = contacts_differ(ours, theirs);
  const bool same = contacts == ContactsDiffer::no;
  for (int q = 0; q < kQuantities; ++q) {
    if (theirs.values[q].empty()) continue;
    if (needs_contacts(q) && !same) continue;
    if (needs_solution(q) && (!same || ours.rows != theirs.rows || !theirs.solved)) continue;
    // M is what remains of inertias about the centre of mass of the whole tree
    const double least_scale = q == kMassMatrix ? std::max(1.0, largest_of(theirs.values[kCinert])) : 1.0;
    const double error = scaled_error(ours.values[q], theirs.values[q], least_scale);
    table[q].add(error);
    if (last != nullptr) (*last)[q] = error;
  }
  return contacts;
}

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
          std::make_unique<Stepper<double>>(perturbed_model(model.data(), options.seed + 17 * k, kPerturbation)));
    // converged solutions on both sides; PGS by number of iterations
    mjOption& opt = reference_->opt;
    opt.tolerance = opt.ls_tolerance = 0;
    opt.ccd_tolerance = 1e-13;
    opt.ccd_iterations = 200;
    const bool pgs = opt.solver == mjSOL_PGS;
    // MuJoCo finds these contacts by iteration, which ends some 1e-8 before ours, whatever its tolerance
    const std::vector<int>& kinds = model.data().pair_kind;
    if (std::count(kinds.begin(), kinds.end(), static_cast<int>(PairKind::capsule_cylinder)) > 0) {
      contact_tolerance_ = 1e-5;
      options_.solver = std::max(options_.solver, 1e-4);
    }
    // MuJoCo runs PGS on each island of trees that touch, with a sweep order of its own; we run it on the whole world
    if (pgs && model.data().nroot > 1) opt.disableflags |= mjDSBL_ISLAND;
    if (pgs && options.pgs_iterations > 0) opt.iterations = options.pgs_iterations;
    if (!pgs) opt.iterations = std::max(opt.iterations, 100);
    opt.ls_iterations = std::max(opt.ls_iterations, 100);
    in_float_.model().iterations = opt.iterations;
    if (pgs) in_float_.model().tolerance = 0;
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

  template <class Real>
  Snapshot ours(Stepper<Real>& s, bool perturb) {
    std::vector<double> state(qpos_);
    std::vector<double> velocity(qvel_), ctrl(ctrl_);
    if (perturb) {
      for (std::vector<double>* v : {&state, &velocity, &ctrl})
        for (double& x : *v) x += x * uniform(-kPerturbation, kPerturbation);
      perturb_quaternions(state);
    }
    s.set_state(state.data(), velocity.data(), warmstart_.data(), ctrl.data());
    s.forward();
    Snapshot shot = snapshot(s);
    s.set_state(state.data(), velocity.data(), warmstart_.data(), ctrl.data());
    s.step();
    const World<Real> w = s.world();
    assign(shot.values[kNextQpos], w.qpos(), s.model().nq);
    assign(shot.values[kNextQvel], w.qvel(), s.model().nv);
    status_ = w.counts()[kStatus];
    return shot;
  }

  // Relative to their length: a component that is zero is not exact.
  void perturb_quaternions(std::vector<double>& qpos) {
    const mjModel* m = reference_.get();
    for (int j = 0; j < m->njnt; ++j) {
      if (m->jnt_type[j] != mjJNT_FREE && m->jnt_type[j] != mjJNT_BALL) continue;
      const int first = m->jnt_qposadr[j] + (m->jnt_type[j] == mjJNT_FREE ? 3 : 0);
      for (int k = 0; k < 4; ++k) qpos[first + k] += uniform(-kPerturbation, kPerturbation);
    }
  }

  void round_state() {
    const auto round = [](std::vector<double>& to, double* from, int n) {
      for (int i = 0; i < n; ++i) from[i] = static_cast<float>(from[i]);
      to.assign(from, from + n);
    };
    mjData* d = data_.get();
    round(qpos_, d->qpos, static_cast<int>(reference_->nq));
    round(qvel_, d->qvel, static_cast<int>(reference_->nv));
    round(warmstart_, d->qacc_warmstart, static_cast<int>(reference_->nv));
    round(ctrl_, d->ctrl, static_cast<int>(reference_->nu));
  }

  Snapshot theirs() {
    mjData* d = data_.get();
    mj_forward(reference_.get(), d);
    Snapshot s = snapshot(reference_.get(), d);
    mj_step(reference_.get(), d);
    assign(s.values[kNextQpos], d->qpos, static_cast<int>(reference_->nq));
    assign(s.values[kNextQvel], d->qvel, static_cast<int>(reference_->nv));
    return s;
  }

  double accepted(int quantity) const {
    if (needs_solution(quantity)) return options_.solver;
    return needs_contacts(quantity) ? std::max(contact_tolerance_, options_.before_solver) : options_.before_solver;
  }

  void fail(const std::string& what) {
    if (report_.failures.size() < 8) report_.failures.push_back(report_.model + ": " + what);
  }

  void one_step(int step) {
    round_state();
    Snapshot reference = theirs();
    if (largest_of(reference.values[kQacc]) > 1e5) return;  // bursts
    const bool newton = reference_->opt.solver == mjSOL_NEWTON;
    reference.solved = reference.solved || !newton;
    if (!reference.solved) ++report_.reference_unsolved;
    report_.contacts += static_cast<long>(reference.contacts.size());
    report_.rows += reference.rows;

    std::array<double, kQuantities> error{};
    Snapshot exact = ours(in_double_, false);
    if (contact_tolerance_ > 0) match_contacts(exact, reference);
    if (exact.swapped && !newton) reference.solved = false;  // PGS depends on the order
    if (status_ != 0 && !diverged()) fail(fmt::format("step {}: status {}", step, status_));
    const ContactsDiffer differ = compare(exact, reference, report_.in_double, &error);
    if (differ == ContactsDiffer::yes)
      fail(fmt::format("step {}: {} contacts, MuJoCo {}", step, exact.contacts.size(), reference.contacts.size()));
    if (differ == ContactsDiffer::no && exact.rows != reference.rows)
      fail(fmt::format("step {}: {} constraint rows, MuJoCo {}", step, exact.rows, reference.rows));
    if (newton && !exact.solved) fail(fmt::format("step {}: not at the minimum", step));
    for (int q = 0; q < kQuantities; ++q)
      if (error[q] > accepted(q)) fail(fmt::format("step {}: {} is off by {:.2e}", step, kNames[q], error[q]));

    if (!options_.in_float) return;
    Snapshot single = ours(in_float_, false);
    if (contact_tolerance_ > 0) match_contacts(single, reference);
    if (single.swapped && !newton) reference.solved = false;
    if (compare(single, reference, report_.in_float) == ContactsDiffer::yes) ++report_.contacts_in_float;
    for (auto& p : perturbed_)
      if (compare(ours(*p, true), exact, report_.floor) == ContactsDiffer::yes) ++report_.contacts_in_floor;
  }

  OracleOptions options_;
  LoadedModel::Handle reference_;
  std::unique_ptr<mjData, DataDeleter> data_;
  Stepper<double> in_double_;
  Stepper<float> in_float_;
  std::vector<std::unique_ptr<Stepper<double>>> perturbed_;
  std::mt19937 random_;
  std::vector<double> qpos_, qvel_, warmstart_, ctrl_;
  int status_ = 0;
  double contact_tolerance_ = 0;  // beyond that before the solver
  OracleReport report_;
};

}  // namespace

const char* name_of(Quantity quantity) { return kNames[quantity]; }

void Errors::add(const Errors& other) { samples_.insert(samples_.end(), other.samples_.begin(), other.samples_.end()); }

double Errors::quantile(double fraction) const {
  if (samples_.empty()) return 0;
  std::vector<double> sorted = samples_;
  const auto at = static_cast<std::ptrdiff_t>(fraction * static_cast<double>(sorted.size() - 1));
  std::nth_element(sorted.begin(), sorted.begin() + at, sorted.end());
  return sorted[static_cast<std::size_t>(at)];
}

void OracleReport::add(const OracleReport& other) {
  steps += other.steps;
  restarts += other.restarts;
  reference_unsolved += other.reference_unsolved;
  contacts += other.contacts;
  rows += other.rows;
  contacts_in_float += other.contacts_in_float;
  contacts_in_floor += other.contacts_in_floor;
  for (int q = 0; q < kQuantities; ++q) {
    in_double[q].add(other.in_double[q]);
    in_float[q].add(other.in_float[q]);
    floor[q].add(other.floor[q]);
  }
  failures.insert(failures.end(), other.failures.begin(), other.failures.end());
}

OracleReport run_oracle(const LoadedModel& model, const OracleOptions& options) {
  mju_setLogHandler(be_quiet);
  return Run(model, options).run();
}

std::string float_complaints(const OracleReport& r, bool with_maximum, double times) {
  std::string text;
  if (r.contacts_in_float > 3 * r.contacts_in_floor + 1 + r.steps / 1000)
    text += fmt::format("{}: contacts differ in {} of {} steps, floor {}\n", r.model, r.contacts_in_float, r.steps,
                        r.contacts_in_floor);
  for (int q = 0; q < kQuantities; ++q)
    for (const double fraction : {0.5, 0.99, 1.0}) {
      if (fraction == 1.0 && !with_maximum) continue;
      const double error = r.in_float[q].quantile(fraction);
      const double floor = std::max(single_precision(q, fraction), r.floor[q].quantile(fraction));
      if (error > times * floor)
        text += fmt::format("{}: {} in float, quantile {}: {:.2e}, floor {:.2e}\n", r.model, kNames[q], fraction, error,
                            floor);
    }
  return text;
}

std::string table(const OracleReport& r) {
  std::string text = fmt::format(
      "{}: {} steps, {:.2f} contacts, {:.2f} rows, {} restarts, {} unsolved by MuJoCo; contacts differ {} ({})\n",
      r.model, r.steps, static_cast<double>(r.contacts) / std::max(1, r.steps),
      static_cast<double>(r.rows) / std::max(1, r.steps), r.restarts, r.reference_unsolved, r.contacts_in_float,
      r.contacts_in_floor);
  for (int q = 0; q < kQuantities; ++q) {
    if (r.in_double[q].empty()) continue;
    text += fmt::format("  {:15}", kNames[q]);
    for (const ErrorTable* t : {&r.in_double, &r.in_float, &r.floor})
      text += fmt::format("  {:.1e} {:.1e} {:.1e}", (*t)[q].quantile(0.5), (*t)[q].quantile(0.99), (*t)[q].quantile(1));
    text += "\n";
  }
  return text;
}

}  // namespace hotloop
