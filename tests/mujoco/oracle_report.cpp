#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tests/mujoco/oracle.h"

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
  outliers += other.outliers;
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

std::string float_complaints(const OracleReport& r, bool with_maximum) {
  std::string text;
  if (r.contacts_in_float > 3 * r.contacts_in_floor + 1 + r.steps / 1000)
    text += fmt::format("{}: contacts differ in {} of {} steps, floor {}\n", r.model, r.contacts_in_float, r.steps,
                        r.contacts_in_floor);
  for (int q = 0; q < kQuantities; ++q)
    for (const double fraction : {0.5, 0.99, 1.0}) {
      if (fraction == 1.0 && !with_maximum) continue;
      const double error = r.in_float[q].quantile(fraction);
      const double floor = std::max(single_precision(q, fraction), r.floor[q].quantile(fraction));
      if (error > 3 * floor)
        text += fmt::format("{}: {} in float, quantile {}: {:.2e}, floor {:.2e}\n", r.model, kNames[q], fraction, error,
                            floor);
    }
  return text;
}

std::string table(const OracleReport& r) {
  std::string text = fmt::format(
      "{}: {} steps, {:.2f} contacts, {:.2f} rows, {} restarts, {} unsolved by MuJoCo, {} outliers; contacts differ {} "
      "({})\n",
      r.model, r.steps, static_cast<double>(r.contacts) / std::max(1, r.steps),
      static_cast<double>(r.rows) / std::max(1, r.steps), r.restarts, r.reference_unsolved, r.outliers,
      r.contacts_in_float, r.contacts_in_floor);
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
