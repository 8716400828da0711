// The fields that may differ from world to world, and which numbers they refuse.
#include <cmath>

#include "sim/core/error.h"
#include "sim/core/value.h"
#include "sim/mujoco/world_fields.h"

namespace hotloop {

const std::vector<FieldInfo>& field_infos() {
  constexpr bool kSign = true, kZeros = true, kConsts = true, kAdds = true;
  static const std::vector<FieldInfo> all = {
      {"gravity", 3, kSign, false, false, false, 0, "gravity"},
      {"body_mass", 1, false, false, kConsts, false, 1, "mass of each body"},
      {"body_inertia", 3, false, false, kConsts, false, 1, "inertia of each body; takes the draws of body_mass"},
      {"body_ipos", 3, kSign, false, kConsts, kAdds, 2, "centre of mass of each body, added [m]"},
      {"geom_friction", 1, false, false, false, false, 3, "sliding friction of each geom"},
      {"jnt_stiffness", 1, false, kZeros, false, false, 4, "stiffness of each joint"},
      {"dof_armature", 1, false, false, kConsts, false, 5, "armature of each dof"},
      {"dof_damping", 1, false, kZeros, false, false, 6, "damping of each dof"},
      {"dof_frictionloss", 1, false, kZeros, false, false, 7, "dry friction of each dof"},
      {"tendon_stiffness", 1, false, kZeros, false, false, 8, "stiffness of each tendon"},
      {"tendon_damping", 1, false, kZeros, false, false, 9, "damping of each tendon"},
      {"tendon_frictionloss", 1, false, kZeros, false, false, 10, "dry friction of each tendon"},
      {"actuator_gainprm", 3, kSign, kZeros, false, false, 11, "gain of each actuator"},
      {"actuator_biasprm", 3, kSign, kZeros, false, false, 11,
       "bias of each actuator; takes the draws of actuator_gainprm"},
  };
  return all;
}

const FieldInfo& find_field(const std::string& name) {
  std::vector<std::string> names;
  for (const FieldInfo& info : field_infos()) {
    if (info.name == name) return info;
    names.emplace_back(info.name);
  }
  throw Error(shown(name) + ": no field that worlds may differ in" + suggestion(name, names));
}

const std::vector<double>& field_values(const ModelData& data, const std::string& name) {
  if (name == "geom_friction") return data.geom_friction;
#define HOTLOOP_FIND(field, rows, columns) \
  if (name == #field) return data.field;
  HOTLOOP_MODEL_FIELDS(HOTLOOP_FIND)
#undef HOTLOOP_FIND
  throw Error(shown(name) + ": no such field");
}

void WorldFields::check_rows(const FieldInfo& info, const float* values, std::int64_t count,
                             const std::int64_t* worlds) const {
  const std::vector<double>& model = field_values(data_, info.name);
  const auto size = static_cast<std::int64_t>(model.size());
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t world = worlds != nullptr ? worlds[k] : k;
    if (world < 0 || world >= num_worlds_)
      throw Error(std::string(info.name) + ": world " + std::to_string(world) + " is not one of " +
                  std::to_string(num_worlds_));
    for (std::int64_t i = 0; i < size; ++i) {
      const float value = values[k * size + i];
      const bool zero = info.zeros_stay && model[static_cast<std::size_t>(i)] == 0;
      if (std::isfinite(value) && (info.has_sign || value >= 0) && (!zero || value == 0)) continue;
      throw Error(std::string(info.name) + " of element " + std::to_string(i / info.columns) + " in world " +
                  std::to_string(world) + " is " + std::to_string(value) + "; accepted: " +
                  (zero            ? "0, as in the model"
                   : info.has_sign ? "finite numbers"
                                   : "finite numbers, not negative"));
    }
  }
}

}  // namespace hotloop
