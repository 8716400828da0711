#include "sim/mujoco/features.h"

#include <mujoco/mujoco.h>

#include <algorithm>
#include <sstream>

#include "sim/core/error.h"

namespace hotloop {

const std::vector<Collision>& collisions() {
  static const std::vector<Collision> all = {
      {PairKind::plane_sphere, mjGEOM_PLANE, mjGEOM_SPHERE},
      {PairKind::plane_capsule, mjGEOM_PLANE, mjGEOM_CAPSULE},
      {PairKind::plane_cylinder, mjGEOM_PLANE, mjGEOM_CYLINDER},
      {PairKind::plane_box, mjGEOM_PLANE, mjGEOM_BOX},
      {PairKind::sphere_sphere, mjGEOM_SPHERE, mjGEOM_SPHERE},
      {PairKind::sphere_capsule, mjGEOM_SPHERE, mjGEOM_CAPSULE},
      {PairKind::sphere_cylinder, mjGEOM_SPHERE, mjGEOM_CYLINDER},
      {PairKind::sphere_box, mjGEOM_SPHERE, mjGEOM_BOX},
      {PairKind::capsule_capsule, mjGEOM_CAPSULE, mjGEOM_CAPSULE},
      {PairKind::capsule_cylinder, mjGEOM_CAPSULE, mjGEOM_CYLINDER},
      {PairKind::capsule_box, mjGEOM_CAPSULE, mjGEOM_BOX},
      {PairKind::box_box, mjGEOM_BOX, mjGEOM_BOX},
  };
  return all;
}

const char* geom_type_name(int type) {
  static const char* names[] = {"plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf"};
  return type >= 0 && type < 9 ? names[type] : "?";
}

std::string collisions_text() {
  std::string text;
  int type1 = -1;
  for (const Collision& c : collisions()) {
    if (c.type1 != type1) text += std::string(type1 < 0 ? "" : "; ") + geom_type_name(c.type1) + " with ";
    if (c.type1 == type1) text += ", ";
    text += geom_type_name(c.type2);
    type1 = c.type1;
  }
  return text;
}

void check_features(const mjModel* m, const std::string& path) {
  for (const Feature& f : features()) {
    if (!f.find) continue;
    if (const std::optional<Finding> found = f.find(m))
      throw Error(path + ": " + found->element + ": " + found->value + " is not supported; accepted: " + f.accepted);
  }
}

std::string features_markdown() {
  std::ostringstream out;
  out << "| | stepped | read, without effect | refused |\n|---|---|---|---|\n";
  std::vector<std::string> groups;
  for (const Feature& f : features())
    if (std::find(groups.begin(), groups.end(), f.group) == groups.end()) groups.emplace_back(f.group);
  for (const std::string& group : groups) {
    std::string cells[3];
    for (const Feature& f : features()) {
      if (f.group != group) continue;
      std::string& cell = cells[static_cast<int>(f.support)];
      cell += (cell.empty() ? "" : "; ") + std::string(f.name);
    }
    if (group == "contacts") cells[0] += "; " + collisions_text();
    out << "| " << group << " | " << cells[0] << " | " << cells[1] << " | " << cells[2] << " |\n";
  }
  return out.str();
}

}  // namespace hotloop
