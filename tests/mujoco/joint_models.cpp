// Joints, what acts within them, and their limits.
#include "tests/mujoco/feature_models.h"

namespace hotloop {
namespace {

const std::string kTwoLimited =
    "<joint type='hinge' axis='0 1 0' limited='true' range='-20 15' margin='2' ATTRIBUTES/>";

std::string with(const std::string& attributes) {
  std::string joint = kTwoLimited;
  return joint.replace(joint.find("ATTRIBUTES"), 10, attributes);
}

std::string body(const std::string& joints, const std::string& inside = "") {
  return "<body pos='0 0 1'>" + joints +
         "<geom type='capsule' fromto='0 0 0 .3 .1 -.2' size='.05' contype='0' conaffinity='0'/>"
         "<geom type='box' pos='.1 .2 .1' size='.1 .05 .2' contype='0' conaffinity='0'/>" +
         inside + "</body>";
}

}  // namespace

std::string mjcf(const std::string& option, const std::string& world, const std::string& rest) {
  return "<mujoco>" + option + "<worldbody>" + world + "</worldbody>" + rest + "</mujoco>";
}

std::string chain(int n, const std::string& joint, const std::string& geom_attributes) {
  std::string text, end;
  for (int i = 0; i < n; ++i) {
    text += "<body pos='" + std::string(i == 0 ? "0 0 1.5" : ".3 .02 -.05") + "' euler='" + std::to_string(10 * i) +
            " 5 0'>" + joint + "<geom type='capsule' fromto='0 0 0 .3 .02 -.05' size='.04' " + geom_attributes + "/>";
    end += "</body>";
  }
  return text + end;
}

std::vector<FeatureModel> joint_models() {
  const std::string free = "<freejoint/>", ball = "<joint type='ball' pos='.02 -.01 .03'/>",
                    hinge = "<joint type='hinge' axis='1 2 .5' pos='.1 0 .05'/>",
                    slide = "<joint type='slide' axis='.3 -1 .5'/>";
  return {
      {"free", mjcf("", body(free))},
      {"ball", mjcf("", body(ball))},
      {"hinge", mjcf("", body(hinge))},
      {"slide", mjcf("", body(slide))},
      {"free_carries_all", mjcf("", body(free, body(ball, body(hinge, body(slide)))))},
      {"three_hinges_a_body", mjcf("", body("<joint axis='1 0 0' pos='0 0 .1'/><joint axis='0 1 0' ref='20'/>"
                                            "<joint axis='.2 .1 1' pos='.1 .1 0'/>"))},
      {"slides_and_hinges_a_body", mjcf("", body("<joint type='slide' axis='1 0 0'/><joint axis='0 1 0' pos='0 0 .1'/>"
                                                 "<joint type='slide' axis='0 .3 1' ref='.1'/>",
                                                 body(hinge)))},
      {"slides_then_ball",
       mjcf("", body("<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>" + ball))},
      {"ball_carries_ball", mjcf("", body(ball, body(ball)))},
      {"hinge_then_ball", mjcf("", body(hinge + ball, body(slide)))},
      {"ball_chain", mjcf("", chain(4, "<joint type='ball' damping='.02'/>"))},
      {"hinge_chain", mjcf("", chain(8, "<joint axis='0 1 .3' damping='.01' armature='.01'/>"))},
      {"armature", mjcf("", body("<joint axis='0 1 0' armature='.5'/>", body("<joint type='ball' armature='.1'/>")))},
      {"free_armature", mjcf("", body("<joint type='free' armature='.3'/>", body(hinge)))},
      {"damping", mjcf("", body("<joint type='free' damping='.5'/>", body("<joint axis='0 1 0' damping='2'/>")))},
      {"stiffness",
       mjcf("", body("<joint axis='0 1 0' stiffness='20'/>", body("<joint type='slide' stiffness='300'/>")))},
      {"springref", mjcf("", body("<joint axis='0 1 0' stiffness='20' springref='30' ref='10'/>"))},
      {"ball_stiffness", mjcf("", body("<joint type='ball' stiffness='30' damping='.1'/>"))},
      {"free_stiffness", mjcf("", body("<joint type='free' stiffness='50' damping='.2'/>"))},
      {"springdamper", mjcf("", body("<joint axis='0 1 0' springdamper='.1 1'/>"))},
      {"frictionloss",
       mjcf("", body("<joint axis='0 1 0' frictionloss='.7'/>", body("<joint type='ball' frictionloss='.1'/>")))},
      {"free_frictionloss", mjcf("<option gravity='0 0 0'/>", body("<joint type='free' frictionloss='.3'/>"))},
      {"frictionloss_solref", mjcf("", body("<joint axis='0 1 0' frictionloss='2' solreffriction='.05 1.5' "
                                            "solimpfriction='.5 .8 .01 .3 3'/>"))},
      {"limits", mjcf("", chain(3, with("")), "")},
      {"limits_slide", mjcf("", body("<joint type='slide' limited='true' range='-.1 .05'/>", body(with(""))))},
      {"limits_negative_solref", mjcf("", chain(3, with("solreflimit='-500 -20'")))},
      {"limits_mixed_solref", mjcf("", chain(3, with("solreflimit='.03 -1'")))},
      {"limits_short_timeconst", mjcf("", chain(3, with("solreflimit='.001 1'")))},
      {"limits_refsafe_off",
       mjcf("<option timestep='.001'><flag refsafe='disable'/></option>", chain(3, with("solreflimit='.0015 1'")))},
      {"limits_power_1", mjcf("", chain(3, with("solimplimit='.2 .9 .1 .5 1'")))},
      {"limits_power_2", mjcf("", chain(3, with("solimplimit='.2 .9 .1 .3 2'")))},
      {"limits_power_3", mjcf("", chain(3, with("solimplimit='.2 .99 .1 .7 3'")))},
      {"limits_power_fractional", mjcf("", chain(3, with("solimplimit='.1 .95 .2 .6 2.5'")))},
      {"limits_constant_impedance", mjcf("", chain(3, with("solimplimit='.9 .9 .01'")))},
      {"limits_no_width", mjcf("", chain(3, with("solimplimit='.3 .9 0'")))},
      {"limits_both_ends_near", mjcf("", chain(3, "<joint axis='0 1 0' limited='true' range='-2 2' margin='5'/>"))},
      {"ball_limit", mjcf("", chain(2, "<joint type='ball' limited='true' range='0 30' damping='.02'/>")), 2},
      {"ball_limit_margin", mjcf("", chain(3, "<joint type='ball' limited='true' range='0 20' margin='4'/>")), 2},
      {"ball_and_hinge_limits",
       mjcf("", chain(2,
                      "<joint axis='0 1 0' pos='-.2 0 0' limited='true' range='-5 5'/>"
                      "<joint type='ball' limited='true' range='0 10'/>")),
       2},
      {"several_trees", mjcf("", body(free) + body(hinge, body(ball)) + chain(2, slide) + body(ball))},
      {"welded_bodies", mjcf("", body(hinge, body("", body("", body(ball)))) + body("", body(hinge)))},
      {"static_bodies_between", mjcf("", body("", body("", body(hinge))))},
      {"offset_inertia", mjcf("",
                              "<body pos='0 0 1' euler='20 30 40'><freejoint/>"
                              "<inertial pos='.1 -.05 .02' mass='2' fullinertia='.05 .06 .07 .01 -.005 .002'/>"
                              "<body pos='.2 0 0' euler='0 0 90'><joint axis='0 1 1'/>"
                              "<inertial pos='.3 0 0' euler='10 20 30' mass='.5' diaginertia='.01 .02 .015'/>"
                              "</body></body>")},
      {"spinning_fast", mjcf("<option integrator='RK4' timestep='.01'/>", body(free, body(ball))), 15},
      // a step's turn is up to 200 degrees
      {"spinning_beyond_pi", mjcf("<option integrator='RK4' timestep='.02'/>", body("<joint type='ball'/>")), 100},
      {"spinning_fast_euler", mjcf("<option timestep='.005'/>", body(free, body(ball))), 15},
      {"rk4_every_joint",
       mjcf("<option integrator='RK4' timestep='.005'/>", body(free, body(ball, body(hinge, body(slide))))), 3},
      {"displaced", mjcf("", body(free, body(ball, body(hinge, body(slide))))), 1, 2},
  };
}

}  // namespace hotloop
