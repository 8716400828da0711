#include <fmt/format.h>

#include "tests/mujoco/feature_models.h"

namespace hotloop {
namespace {

using fmt::format;

std::string joint(const std::string& name, const std::string& axis, const std::string& range,
                  const std::string& more = "") {
  return "<joint name='" + name + "' axis='" + axis + "' range='" + range + "' " + more + "/>";
}

std::string limb(const std::string& to, const std::string& size) {
  return "<geom type='capsule' fromto='0 0 0 " + to + "' size='" + size + "'/>";
}

// side: -1 right, 1 left. Names end in `id`.
std::string leg(const std::string& id, int side) {
  return format("<body pos='0 {} -.05'>", 0.1 * side) +
         joint("hip_x" + id, format("{} 0 0", side), "-25 8", "class='strong'") +
         joint("hip_z" + id, format("0 0 {}", side), "-55 35", "class='strong'") +
         joint("hip_y" + id, "0 1 0", "-110 25", "class='strong'") + limb("0 0 -.34", ".06") + "<body pos='0 0 -.4'>" +
         joint("knee" + id, "0 -1 0", "-150 0") + limb("0 0 -.3", ".048") + "<body pos='0 0 -.38'>" +
         joint("ankle_y" + id, "0 1 0", "-45 45", "stiffness='5'") +
         joint("ankle_x" + id, "1 0 .4", "-40 40", "stiffness='3'") +
         "<geom type='capsule' fromto='-.07 -.01 -.02 .14 -.03 -.02' size='.026'/>"
         "<geom type='capsule' fromto='-.07 .01 -.02 .14 .03 -.02' size='.026'/></body></body></body>";
}

std::string arm(const std::string& id, int side) {
  return format("<body pos='0 {} .06'>", 0.17 * side) + joint("shoulder1" + id, format("2 {} 1", side), "-80 60") +
         joint("shoulder2" + id, format("0 {} 1", -side), "-80 60") + limb(format(".15 {} -.15", 0.15 * side), ".041") +
         format("<body pos='.17 {} -.17'>", 0.17 * side) +
         joint("elbow" + id, format("0 {} 1", -side), "-100 50", "stiffness='2'") +
         limb(format(".15 {} .15", -0.15 * side), ".032") +
         format("<geom type='sphere' pos='.17 {} .17' size='.042'/></body></body>", -0.17 * side);
}

std::string person(const std::string& id, double x) {
  return "<body pos='" + std::to_string(x) + " 0 1.28'><freejoint/>" +
         "<geom type='capsule' fromto='0 -.07 0 0 .07 0' size='.07'/><geom type='sphere' pos='0 0 .19' size='.09'/>"
         "<geom type='capsule' fromto='-.01 -.06 -.12 -.01 .06 -.12' size='.06'/><body pos='-.01 0 -.26'>" +
         joint("waist_z" + id, "0 0 1", "-45 45", "class='strong'") +
         joint("waist_y" + id, "0 1 0", "-75 30", "class='strong'") +
         "<geom type='capsule' fromto='0 -.06 0 0 .06 0' size='.06'/><body pos='0 0 -.165'>" +
         joint("waist_x" + id, "1 0 0", "-35 35", "class='strong'") +
         "<geom type='capsule' fromto='-.02 -.07 0 -.02 .07 0' size='.09'/>" + leg("_r" + id, -1) + leg("_l" + id, 1) +
         "</body></body>" + arm("_r" + id, -1) + arm("_l" + id, 1) + "</body>";
}

}  // namespace

FeatureModel humanoid_model(int copies) {
  std::string world = "<geom type='plane' size='10 10 .1' condim='3'/>", motors;
  const char* joints[] = {"waist_z",     "waist_y",     "waist_x",   "hip_x_r",     "hip_z_r",     "hip_y_r",
                          "knee_r",      "ankle_y_r",   "ankle_x_r", "hip_x_l",     "hip_z_l",     "hip_y_l",
                          "knee_l",      "ankle_y_l",   "ankle_x_l", "shoulder1_r", "shoulder2_r", "elbow_r",
                          "shoulder1_l", "shoulder2_l", "elbow_l"};
  for (int i = 0; i < copies; ++i) {
    const std::string id = std::to_string(i);
    world += person(id, 0.35 * i);
    for (const char* name : joints) motors += "<motor joint='" + (name + id) + "' gear='40'/>";
  }
  const std::string defaults =
      "<option timestep='.005'/><default><geom condim='1' friction='.7' solref='.015 1' solimp='.9 .99 .003'/>"
      "<joint type='hinge' damping='.5' stiffness='1' armature='.01' limited='true' solimplimit='0 .99 .01'/>"
      "<motor ctrllimited='true' ctrlrange='-1 1'/>"
      "<default class='strong'><joint damping='4' stiffness='10' armature='.02'/></default></default>";
  return {"humanoid_x" + std::to_string(copies), mjcf(defaults, world, "<actuator>" + motors + "</actuator>")};
}

}  // namespace hotloop
