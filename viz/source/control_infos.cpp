#include "viz/source/control_infos.h"

#include <cmath>

namespace hotloop {

std::vector<ControlInfo> control_infos(const EnvEntry& env, const EnvOptions& options) {
  const ActionSpace action = spec_with_options(env, options).action;
  std::vector<std::string> names;
  if (env.robot != nullptr) names = env.robot(options).actuator_names;
  std::vector<ControlInfo> controls;
  for (std::size_t k = 0; k < static_cast<std::size_t>(action.dim()); ++k) {
    ControlInfo c;
    c.name = k < names.size() && !names[k].empty() ? names[k] : "action " + std::to_string(k);
    if (!action.is_box()) {
      c.choices = static_cast<int>(action.nvec[k]);
    } else if (std::isfinite(action.low[k]) && std::isfinite(action.high[k])) {
      c.low = action.low[k];
      c.high = action.high[k];
    }
    controls.push_back(std::move(c));
  }
  return controls;
}

double control_period(const EnvEntry& env, const EnvOptions& options) {
  constexpr double kWithoutUnits = 0.02;
  const double period =
      env.robot != nullptr ? env.robot(options).control_period : spec_with_options(env, options).control_period;
  return period > 0 ? period : kWithoutUnits;
}

}  // namespace hotloop
