// Tendons, actuators, fluid, gravity.
#include "tests/mujoco/feature_models.h"

namespace hotloop {
namespace {

// Two hinges and a slide with names, for tendons and actuators.
std::string arm(const std::string& first = "", const std::string& root = "<joint name='a' axis='0 1 0' FIRST/>") {
  std::string text = "<body pos='0 0 1'>" + root +
                     "<geom type='capsule' fromto='0 0 0 .4 0 0' size='.05' contype='0' conaffinity='0'/>"
                     "<body pos='.4 0 0'><joint name='b' axis='0 1 .4' damping='.1'/>"
                     "<geom type='capsule' fromto='0 0 0 .3 0 .1' size='.04' contype='0' conaffinity='0'/>"
                     "<body pos='.3 0 .1'><joint name='c' type='slide' axis='1 0 0' damping='.2'/>"
                     "<geom type='box' size='.05 .06 .07' contype='0' conaffinity='0'/></body></body></body>";
  const std::size_t at = text.find("FIRST");
  if (at != std::string::npos) text.replace(at, 5, first);
  return text;
}

std::string tendon(const std::string& attributes) {
  return "<tendon><fixed name='t' " + attributes +
         "><joint joint='a' coef='.5'/><joint joint='b' coef='-1'/><joint joint='c' coef='2'/></fixed></tendon>";
}

std::string actuators(const std::string& elements) { return "<actuator>" + elements + "</actuator>"; }

FeatureModel fluid(const std::string& name, const std::string& option, const std::string& integrator = "") {
  const std::string boxes =
      "<body pos='0 0 1'><freejoint/><geom type='box' size='.1 .2 .05' density='300' contype='0' conaffinity='0'/>"
      "<body pos='.1 0 0'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 .3 .1 0' size='.03' contype='0' "
      "conaffinity='0'/><body pos='.3 0 0'><geom type='sphere' size='.05' contype='0' conaffinity='0'/></body></body>"
      "</body>";
  return {name, mjcf("<option " + option + " " + integrator + "/>", boxes), 3};
}

}  // namespace

std::vector<FeatureModel> force_models() {
  const std::string free_root = "<joint name='a' type='free'/>", ball_root = "<joint name='a' type='ball'/>";
  const std::string pair = "<joint joint='b' coef='-1'/><joint joint='c' coef='2'/>";
  return {
      {"tendon_spring", mjcf("", arm(), tendon("stiffness='30'"))},
      {"tendon_deadband", mjcf("", arm(), tendon("stiffness='30' springlength='-.1 .1'")), 2},
      {"tendon_springlength", mjcf("", arm(), tendon("stiffness='30' springlength='.3'"))},
      {"tendon_damper", mjcf("", arm(), tendon("damping='3'"))},
      {"tendon_limit", mjcf("", arm(), tendon("limited='true' range='-.2 .1' margin='.02'"))},
      {"tendon_limit_both_ends", mjcf("", arm(), tendon("limited='true' range='-.01 .01' margin='.05'"))},
      {"tendon_limit_solver", mjcf("", arm(),
                                   tendon("limited='true' range='-.2 .1' solreflimit='-300 -10' "
                                          "solimplimit='.3 .9 .1 .4 3'"))},
      {"tendon_friction", mjcf("", arm(), tendon("frictionloss='.5'"))},
      {"tendon_friction_solver", mjcf("", arm(),
                                      tendon("frictionloss='2' solreffriction='.1 2' "
                                             "solimpfriction='.5 .7 .01'"))},
      {"tendons_and_joints", mjcf("", arm("frictionloss='.2' limited='true' range='-10 10'"),
                                  "<tendon><fixed limited='true' range='-.1 .1' frictionloss='.1'>" + pair +
                                      "</fixed><fixed frictionloss='.3' stiffness='5'>" + pair +
                                      "</fixed><fixed limited='true' range='-.3 0'>" + pair + "</fixed></tendon>")},
      {"motors", mjcf("", arm(),
                      actuators("<motor joint='a' gear='3'/><motor joint='b' gear='-2' ctrllimited='true' "
                                "ctrlrange='-.5 .7'/><motor joint='c' gear='10'/>"))},
      {"two_motors_a_joint", mjcf("", arm(),
                                  actuators("<motor joint='a' gear='3'/><motor joint='a' gear='-1'/>"
                                            "<motor joint='c' gear='5'/>"))},
      {"position", mjcf("", arm(),
                        actuators("<position joint='a' kp='20' ctrlrange='-1 1' ctrllimited='true'/>"
                                  "<position joint='b' kp='5' kv='.5' gear='2'/>"))},
      {"velocity", mjcf("", arm(), actuators("<velocity joint='a' kv='2'/><velocity joint='c' kv='10' gear='.5'/>"))},
      {"general_affine", mjcf("", arm(),
                              actuators("<general joint='a' gaintype='affine' gainprm='3 .5 -.2' "
                                        "biastype='affine' biasprm='.1 -4 -.3' gear='1.5'/>"
                                        "<general joint='c' gainprm='4' biastype='affine' "
                                        "biasprm='1 0 -2'/>"))},
      {"general_unused_parameters", mjcf("", arm(),
                                         actuators("<general joint='a' gainprm='3 9 9' biastype='none' "
                                                   "biasprm='5 5 5'/>"))},
      {"forcerange", mjcf("", arm(),
                          actuators("<motor joint='a' gear='3' forcelimited='true' forcerange='-.2 .3'/>"
                                    "<position joint='b' kp='40' forcerange='-1 1' forcelimited='true'/>"))},
      {"actuatorfrcrange", mjcf("", arm("actuatorfrclimited='true' actuatorfrcrange='-.4 1'"),
                                actuators("<motor joint='a' gear='3'/><motor joint='a' gear='2'/>"
                                          "<position joint='b' kp='10'/>"))},
      {"motor_on_ball", mjcf("", arm("", ball_root), actuators("<motor joint='a' gear='.2 .5 -.3'/>"))},
      {"position_on_ball", mjcf("", arm("", ball_root), actuators("<position joint='a' kp='3' gear='.2 .5 -.3'/>")), 2},
      {"motor_on_free", mjcf("", arm("", free_root), actuators("<motor joint='a' gear='5 -3 20 .1 .2 -.3'/>"))},
      {"velocity_on_free",
       mjcf("", arm("", free_root), actuators("<velocity joint='a' kv='3' gear='0 0 1 .1 .2 0'/>"))},
      {"motor_on_tendon", mjcf("", arm(), tendon("") + actuators("<motor tendon='t' gear='3'/>"))},
      {"position_on_tendon", mjcf("", arm(),
                                  tendon("damping='.1'") + actuators("<position tendon='t' kp='30' gear='2' "
                                                                     "forcerange='-8 8'/>"))},
      fluid("fluid_density", "density='500'"),
      fluid("fluid_viscosity", "viscosity='.5'"),
      fluid("fluid_both", "density='900' viscosity='.9'"),
      fluid("fluid_wind", "density='200' viscosity='.1' wind='3 -1 .5'"),
      fluid("fluid_rk4", "density='900' viscosity='.9'", "integrator='RK4' timestep='.01'"),
      {"gravity_sideways", mjcf("<option gravity='3 -2 1'/>", arm("", free_root))},
      {"gravity_off", mjcf("<option gravity='0 0 0'/>", arm("", free_root))},
      {"keyframe", mjcf("", arm("stiffness='3'"), "<keyframe><key qpos='.5 -1 .2' qvel='1 2 3'/></keyframe>")},
  };
}

}  // namespace hotloop
