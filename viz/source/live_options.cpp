#include "viz/source/live_options.h"

#include <cmath>

#include "sim/core/error.h"
#include "sim/core/value.h"

namespace hotloop {

LiveOptions::LiveOptions(ModelBatch& batch)
    : batch_(batch),
      start_(batch.fields().options()),
      gravity_(batch.model().data().gravity.begin(), batch.model().data().gravity.end()) {}

std::vector<LiveOptions::Entry> LiveOptions::entries() const {
  std::vector<Entry> all;
  const auto add = [&](const char* name, const char* help, double low, double high, auto get, auto set) {
    WorldSource::PhysicsOption shown;
    shown.name = name;
    shown.help = help;
    shown.low = low;
    shown.high = high;
    all.push_back({std::move(shown), get, set});
  };
#define HOTLOOP_NUMBER(member, name, help, low, high)                                               \
  add(                                                                                              \
      name, help, low, high,                                                                        \
      [](const LiveOptions& o) { return static_cast<double>(o.batch_.fields().options().member); }, \
      [](LiveOptions& o, const Exec&, double value) {                                               \
        auto& to = o.batch_.fields().options().member;                                              \
        to = static_cast<std::decay_t<decltype(to)>>(value);                                        \
      })
#define HOTLOOP_GRAVITY(axis, name)                                               \
  add(                                                                            \
      name, "gravity along an axis of the world [m/s^2]", -100, 100,              \
      [](const LiveOptions& o) { return static_cast<double>(o.gravity_[axis]); }, \
      [](LiveOptions& o, const Exec& exec, double value) {                        \
        o.gravity_[axis] = static_cast<float>(value);                             \
        o.write_gravity(exec);                                                    \
      })
// A part of the physics, where the model has it.
#define HOTLOOP_FLAG(member, name, help)      \
  if (start_.member) {                        \
    HOTLOOP_NUMBER(member, name, help, 0, 1); \
    all.back().shown.is_flag = true;          \
  }
  HOTLOOP_NUMBER(timestep, "timestep", "time step [s]", 1e-5, 0.1);
  HOTLOOP_GRAVITY(0, "gravity x");
  HOTLOOP_GRAVITY(1, "gravity y");
  HOTLOOP_GRAVITY(2, "gravity z");
  HOTLOOP_NUMBER(iterations, "iterations", "most iterations of the solver", 1, 1000);
  HOTLOOP_NUMBER(ls_iterations, "ls_iterations", "most iterations of a line search", 1, 1000);
  HOTLOOP_NUMBER(tolerance, "tolerance", "improvement at which the solver stops", 0, 1);
  HOTLOOP_NUMBER(impratio, "impratio", "stiffness of friction over that of the normal direction", 1e-3, 1e3);
  if (batch_.model().data().has_fluid) {
    HOTLOOP_NUMBER(density, "density", "of the medium [kg/m^3]", 0, 1e5);
    HOTLOOP_NUMBER(viscosity, "viscosity", "of the medium [Pa s]", 0, 1e3);
    HOTLOOP_NUMBER(wind[0], "wind x", "velocity of the medium [m/s]", -100, 100);
    HOTLOOP_NUMBER(wind[1], "wind y", "velocity of the medium [m/s]", -100, 100);
    HOTLOOP_NUMBER(wind[2], "wind z", "velocity of the medium [m/s]", -100, 100);
  }
  HOTLOOP_FLAG(has_contacts, "contact", "contacts")
  HOTLOOP_FLAG(has_limits, "limit", "limits of joints and tendons")
  HOTLOOP_FLAG(has_friction, "frictionloss", "dry friction of joints and tendons")
  HOTLOOP_FLAG(has_springs, "spring", "springs of joints and tendons")
  HOTLOOP_FLAG(has_dampers, "damper", "dampers of joints and tendons")
  HOTLOOP_FLAG(has_actuation, "actuation", "actuators")
  HOTLOOP_FLAG(has_warmstart, "warmstart", "the solver starts from the last step's solution")
  HOTLOOP_FLAG(clamps_ctrl, "clampctrl", "controls are limited to their ranges")
  HOTLOOP_FLAG(safe_ref, "refsafe", "time constants of constraints are at least two time steps")
#undef HOTLOOP_FLAG
#undef HOTLOOP_GRAVITY
#undef HOTLOOP_NUMBER
  return all;
}

std::vector<WorldSource::PhysicsOption> LiveOptions::list() const {
  std::vector<WorldSource::PhysicsOption> options;
  for (Entry& entry : entries()) {
    entry.shown.value = entry.get(*this);
    options.push_back(std::move(entry.shown));
  }
  return options;
}

void LiveOptions::set(const Exec& exec, const std::string& name, double value) {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) {
    const WorldSource::PhysicsOption& option = entry.shown;
    names.push_back(option.name);
    if (option.name != name) continue;
    if (!(value >= option.low && value <= option.high))
      throw Error(name + " " + toml_text(value) + ": accepted are numbers in [" + toml_text(option.low) + ", " +
                  toml_text(option.high) + "]");
    entry.set(*this, exec, value);
    ModelOptions<float>& options = batch_.fields().options();
    options.implicit_damping = start_.implicit_damping && options.has_dampers;
    return;
  }
  throw Error(shown(name) + ": no physics option of this model" + suggestion(name, names));
}

void LiveOptions::undo(const Exec& exec) {
  batch_.fields().options() = start_;
  gravity_.assign(batch_.model().data().gravity.begin(), batch_.model().data().gravity.end());
  write_gravity(exec);
}

void LiveOptions::write_gravity(const Exec& exec) {
  std::vector<float> rows;
  for (std::int64_t w = 0; w < batch_.num_worlds(); ++w) rows.insert(rows.end(), gravity_.begin(), gravity_.end());
  batch_.fields().set_rows(exec, "gravity", rows.data(), Device{}, batch_.num_worlds());
}

}  // namespace hotloop
