#include "tests/mujoco/snapshot.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace hotloop {

double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (const double x : values) largest = std::max(largest, std::fabs(x));
  return largest;
}

namespace {

// Is M qacc the sum of all forces? stiffest: the largest D of a constraint, whose force is D times a rounded residual.
bool at_minimum(const std::vector<double>& mass, const std::vector<double>& qacc, const std::vector<double>& smooth,
                const std::vector<double>& constraint, double stiffest) {
  double largest = 0, scale = 1;
  const std::size_t nv = qacc.size();
  for (std::size_t i = 0; i < nv; ++i) {
    double sum = -smooth[i] - constraint[i];
    for (std::size_t j = 0; j < nv; ++j) sum += mass[i * nv + j] * qacc[j];
    largest = std::max(largest, std::fabs(sum));
    scale = std::max({scale, std::fabs(smooth[i]), std::fabs(constraint[i])});
  }
  return largest < 1e-8 * scale + 1e-15 * stiffest * largest_of(qacc);
}

template <class From>
void assign(std::vector<double>& to, const From* from, int n) {
  to.assign(from, from + n);
}

template <class From>
void append(std::vector<double>& to, const From* from, int n) {
  to.insert(to.end(), from, from + n);
}

}  // namespace

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
  const double stiffest = largest_of({d->efc_D, d->efc_D + d->nefc});
  s.solved = at_minimum(s.values[kMassMatrix], s.values[kQacc], smooth, s.values[kQfrcConstraint], stiffest);
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
  const double stiffest = largest_of({w.block_D(), w.block_D() + w.counts()[kBlocks]});
  s.solved = at_minimum(s.values[kMassMatrix], s.values[kQacc], smooth, s.values[kQfrcConstraint], stiffest);
  return s;
}

namespace {

double scaled_error(const std::vector<double>& ours, const std::vector<double>& theirs, double least_scale) {
  const double largest = std::max(least_scale, largest_of(theirs));
  double error = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const double difference = std::fabs(ours[i] - theirs[i]);
    if (!(difference <= error)) error = std::isfinite(difference) ? difference : 1e30;
  }
  return error / largest;
}

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

}  // namespace

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

ContactsDiffer compare(const Snapshot& ours, const Snapshot& theirs, StepErrors& errors) {
  const ContactsDiffer contacts = contacts_differ(ours, theirs);
  const bool same = contacts == ContactsDiffer::no;
  errors.fill(-1);
  for (int q = 0; q < kQuantities; ++q) {
    if (theirs.values[q].empty()) continue;
    if (needs_contacts(q) && !same) continue;
    if (needs_solution(q) && (!same || ours.rows != theirs.rows || !theirs.solved)) continue;
    // M is what remains of inertias about the centre of mass of the whole tree
    const double least_scale = q == kMassMatrix ? std::max(1.0, largest_of(theirs.values[kCinert])) : 1.0;
    errors[q] = scaled_error(ours.values[q], theirs.values[q], least_scale);
  }
  return contacts;
}

template Snapshot snapshot(Stepper<float>&);
template Snapshot snapshot(Stepper<double>&);

}  // namespace hotloop
