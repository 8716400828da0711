// Numbers that no simulation survives, refused by element before the first step.
#include <cmath>
#include <sstream>

#include "sim/core/error.h"
#include "sim/mujoco/read_model.h"

namespace hotloop {
namespace {

// Beyond this single precision has no room left for products; MuJoCo itself resets states above 1e10.
constexpr double kMost = 1e12;

std::string number(double x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

// The element that row `row` of the array `name` belongs to.
std::string owner(const mjModel* m, const ModelData& d, const std::string& name, int row) {
  const auto starts = [&](const char* prefix) { return name.rfind(prefix, 0) == 0; };
  if (starts("body_")) return element_name(m, mjOBJ_BODY, row);
  if (starts("jnt_")) return element_name(m, mjOBJ_JOINT, row);
  if (starts("dof_")) return element_name(m, mjOBJ_JOINT, m->dof_jntid[row]);
  if (starts("geom_")) return element_name(m, mjOBJ_GEOM, row);
  if (starts("site_")) return element_name(m, mjOBJ_SITE, row);
  if (starts("tendon_")) return element_name(m, mjOBJ_TENDON, row);
  if (starts("actuator_")) return element_name(m, mjOBJ_ACTUATOR, row);
  if (starts("pair_"))
    return element_name(m, mjOBJ_GEOM, d.pair_geom1[row]) + " and " + element_name(m, mjOBJ_GEOM, d.pair_geom2[row]);
  return "option";
}

void check_array(const mjModel* m, const ModelData& d, const std::string& name, int columns,
                 const std::vector<double>& values) {
  if (name == "jnt_actfrcrange") return;  // infinite where there is none
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!(std::abs(values[i]) <= kMost))
      throw Error(d.path + ": " + owner(m, d, name, static_cast<int>(i) / columns) + ": " + name + " is " +
                  number(values[i]) + "; accepted: finite numbers up to " + number(kMost));
}

void require(const ModelData& d, bool good, const char* name, double value, const char* accepted) {
  if (!good) throw Error(d.path + ": option: " + name + " is " + number(value) + "; accepted: " + accepted);
}

void check_options(const ModelData& d) {
  require(d, d.timestep >= 1e-9 && d.timestep <= 1, "timestep", d.timestep, "1e-9 to 1 s");
  require(d, d.iterations >= 0 && d.iterations <= 10000, "iterations", d.iterations, "0 to 10000");
  require(d, d.ls_iterations >= 0 && d.ls_iterations <= 10000, "ls_iterations", d.ls_iterations, "0 to 10000");
  require(d, d.tolerance >= 0 && d.tolerance <= 1, "tolerance", d.tolerance, "0 to 1");
  require(d, d.impratio > 0 && d.impratio <= kMost, "impratio", d.impratio, "numbers above 0");
  require(d, d.density >= 0 && d.density <= kMost, "density", d.density, "0 to 1e12 kg/m^3");
  require(d, d.viscosity >= 0 && d.viscosity <= kMost, "viscosity", d.viscosity, "0 to 1e12 Pa s");
  for (const double w : d.wind) require(d, std::abs(w) <= kMost, "wind", w, "finite numbers up to 1e12 m/s");
}

}  // namespace

void check_values(const mjModel* m, const ModelData& data) {
  check_options(data);
#define HOTLOOP_CHECK(name, rows, columns) check_array(m, data, #name, columns, data.name);
  HOTLOOP_MODEL_REALS(HOTLOOP_CHECK)
  HOTLOOP_MODEL_FIELDS(HOTLOOP_CHECK)
#undef HOTLOOP_CHECK
  require(data, data.meaninertia > 0 && data.meaninertia <= kMost, "meaninertia", data.meaninertia, "numbers above 0");
  for (std::size_t k = 0; k < data.key_qpos.size(); ++k)
    for (const auto* values : {&data.key_qpos[k], &data.key_qvel[k]})
      for (const double x : *values)
        if (!(std::abs(x) <= kMost))
          throw Error(data.path + ": " + element_name(m, mjOBJ_KEY, static_cast<int>(k)) + ": " + number(x) +
                      "; accepted: finite numbers up to " + number(kMost));
}

}  // namespace hotloop
