// Everything of one step, from MuJoCo's data or from our stages, and how two of them compare.
#pragma once
#include <mujoco/mujoco.h>

#include <vector>

#include "tests/mujoco/oracle.h"
#include "tests/mujoco/stepper.h"

namespace hotloop {

struct ContactKey {
  int geom1, geom2;
  double dist, margin;
};

struct Snapshot {
  std::array<std::vector<double>, kQuantities> values;
  std::vector<ContactKey> contacts;
  int rows = 0;
  bool solved = true;    // Newton's gradient is zero
  bool swapped = false;  // some contacts had another order
};

// After a forward evaluation; without the next state.
Snapshot snapshot(const mjModel* m, const mjData* d);
template <class Real>
Snapshot snapshot(Stepper<Real>& stepper);

bool needs_contacts(int quantity);
bool needs_solution(int quantity);

enum class ContactsDiffer { no, on_margin, yes };

// Contacts of one pair in the order of the other's nearest ones: where MuJoCo iterates, theirs is arbitrary.
void match_contacts(Snapshot& ours, const Snapshot& theirs);

using StepErrors = std::array<double, kQuantities>;  // -1: cannot be compared

// Scaled errors of what can be compared. Contacts: the same pairs in the same order, or differences that lie on the
// edge of the margin, or more.
ContactsDiffer compare(const Snapshot& ours, const Snapshot& theirs, StepErrors& errors);

double largest_of(const std::vector<double>& values);

}  // namespace hotloop
