// MuJoCo's library beside our stages: from identical states (rounded to single precision), one step at a time.
//
// Errors are scaled: the largest difference of a quantity over the largest of its absolute values, or over 1 where all
// are smaller. The floor of single precision is what our stages in double make of the same state with every real
// number of the state and the model off by at most two ulps of a float, and the diagonal of M by itself: that moves M
// as far as MuJoCo's own single-precision build is off (3e-7).
#pragma once
#include <array>
#include <string>
#include <vector>

#include "sim/mujoco/load.h"

namespace hotloop {

enum Quantity : int {
  kXpos,
  kXquat,
  kXipos,
  kCinert,
  kCdof,
  kCvel,
  kMassMatrix,
  kQfrcBias,
  kQfrcPassive,
  kQfrcActuator,
  kContactDist,
  kContactPos,
  kContactFrame,
  kQacc,
  kQfrcConstraint,
  kNextQpos,
  kNextQvel,
  kQuantities,
};
const char* name_of(Quantity quantity);

// One number a step.
class Errors {
 public:
  void add(double error) { samples_.push_back(error); }
  void add(const Errors& other);
  bool empty() const { return samples_.empty(); }
  std::size_t count() const { return samples_.size(); }
  // 0 where there are none; fraction 1: the maximum.
  double quantile(double fraction) const;

 private:
  std::vector<double> samples_;
};
using ErrorTable = std::array<Errors, kQuantities>;

struct OracleOptions {
  int steps = 100;
  unsigned seed = 1;
  bool in_float = true;
  double speed = 0.5;                          // of the first state's random velocities
  double displacement = 0;                     // of its positions
  double before_solver = 1e-9, solver = 1e-6;  // accepted in double
};

struct OracleReport {
  std::string model;
  int steps = 0, restarts = 0;
  int reference_unsolved = 0;  // steps whose solution by MuJoCo's Newton is no minimum: ours must be one there
  int outliers = 0;  // steps beyond what is accepted in double: MuJoCo's own results move as much with the last digits
  long contacts = 0, rows = 0;
  ErrorTable in_double, in_float, floor;
  // steps whose contacts differ from MuJoCo's by more than contacts on the edge of the margin
  int contacts_in_float = 0, contacts_in_floor = 0;
  std::vector<std::string> failures;  // in double, and what is wrong whatever the precision
  void add(const OracleReport& other);
};

OracleReport run_oracle(const LoadedModel& model, const OracleOptions& options);

// "" where p50, p99 and (with_maximum) the maximum of every quantity are within three times the floor; else what is
// not.
std::string float_complaints(const OracleReport& report, bool with_maximum = true);

// p50, p99 and maximum by quantity, one line each: double, float, floor.
std::string table(const OracleReport& report);

}  // namespace hotloop
