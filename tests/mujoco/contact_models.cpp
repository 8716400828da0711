// Collision pairs, and what decides whether and how two geoms touch.
#include "tests/mujoco/feature_models.h"

namespace hotloop {
namespace {

const std::string kFloor = "<geom name='floor' type='plane' size='5 5 .1' conaffinity='3'/>";

// Boxes and cylinders touch planes and round geoms, not each other.
std::string geom_of(const std::string& type) {
  const std::string round = "contype='1' conaffinity='3' ", edged = "contype='2' conaffinity='0' ";
  if (type == "sphere") return "<geom " + round + "type='sphere' size='.1'/>";
  if (type == "capsule") return "<geom " + round + "type='capsule' size='.06 .12'/>";
  if (type == "cylinder") return "<geom " + edged + "type='cylinder' size='.1 .07'/>";
  return "<geom " + edged + "type='box' size='.1 .08 .06'/>";
}

std::string thing(const std::string& geom, const std::string& pose, const std::string& joint = "<freejoint/>") {
  return "<body " + pose + ">" + joint + geom + "</body>";
}

// Several of one type dropped on the floor, turned differently.
FeatureModel on_plane(const std::string& type) {
  std::string world = kFloor;
  const char* turns[] = {"0 0 0", "90 0 20", "40 30 0", "10 85 5"};
  for (int i = 0; i < 4; ++i)
    world += thing(geom_of(type), "pos='" + std::to_string(i) + " 0 .12' euler='" + turns[i] + "'");
  return {"plane_" + type, mjcf("", world)};
}

// Two types pushed against each other without gravity by springs of slide joints.
FeatureModel pair_of(const std::string& type1, const std::string& type2) {
  const std::string joints =
      "<joint type='slide' axis='1 0 0' stiffness='100'/><joint type='slide' axis='0 1 0' stiffness='60'/>"
      "<joint type='slide' axis='0 0 1' stiffness='80'/><joint type='ball' damping='.001'/>";
  std::string world;
  for (int i = 0; i < 3; ++i) {
    const std::string at = std::to_string(2 * i);
    world += thing(geom_of(type1), "pos='" + at + " 0 0' euler='" + std::to_string(40 * i) + " 20 0'", joints) +
             thing(geom_of(type2), "pos='" + at + " .02 .12' euler='15 " + std::to_string(50 * i) + " 30'", joints);
  }
  return {type1 + "_" + type2, mjcf("<option gravity='0 0 0'/>", world), 2};
}

// A pile on a floor: flat, turned, and with an edge on a face.
FeatureModel boxes() {
  const auto box = [](const std::string& size, const std::string& pose) {
    return thing("<geom type='box' size='" + size + "'/>", pose);
  };
  return {"boxes", mjcf("", kFloor + box(".1 .12 .05", "pos='0 0 .05'") + box(".1 .1 .05", "pos='.01 .02 .15'") +
                                box(".07 .08 .03", "pos='0 0 .23' euler='0 0 35'") +
                                box(".15 .03 .03", "pos='.22 0 .12' euler='0 -40 7'") +
                                box(".04 .03 .05", "pos='-.02 .01 .36' euler='40 35 10'"))};
}

// Box against box by springs, as pair_of.
FeatureModel box_box() {
  FeatureModel model = pair_of("box", "box");
  const std::string apart = "contype='2' conaffinity='0'";
  for (std::size_t at; (at = model.xml.find(apart)) != std::string::npos;) model.xml.erase(at, apart.size());
  return model;
}

// Two spheres and a capsule on a floor, all with these attributes of geom.
FeatureModel with(const std::string& name, const std::string& attributes, const std::string& option = "",
                  const std::string& rest = "") {
  const std::string ball = "<geom name='NAME' type='sphere' size='.1' " + attributes + "/>";
  const auto named = [&](const std::string& n) {
    std::string text = ball;
    return text.replace(text.find("NAME"), 4, n);
  };
  return {
      name,
      mjcf(option,
           "<geom name='floor' type='plane' size='5 5 .1' friction='.6'/>" +
               thing(named("s1"), "name='b1' pos='0 0 .1'") + thing(named("s2"), "name='b2' pos='.19 0 .11'") +
               "<body name='b3' pos='.1 .15 .1'><freejoint/><geom name='c' type='capsule' size='.05 .1' euler='80 0 "
               "0' " +
               attributes + "/><body name='b4' pos='0 0 .12'><joint axis='1 0 0'/>" + named("s3") + "</body></body>",
           rest)};
}

FeatureModel flag(const std::string& name, const std::string& flags) {
  return {"flag_" + name,
          mjcf("<option><flag " + flags + "/></option>",
               kFloor +
                   chain(4,
                         "<joint axis='0 1 0' damping='.5' stiffness='3' limited='true' range='-20 20' "
                         "frictionloss='.05'/>",
                         "") +
                   thing(geom_of("capsule"), "pos='0 1 .06' euler='0 88 0'"),
               "<actuator><motor joint='j' gear='5' ctrllimited='true' ctrlrange='-.3 .3'/></actuator>")};
}

FeatureModel with_named_joint(FeatureModel model) {
  const std::size_t at = model.xml.find("<joint axis");
  model.xml.replace(at, 6, "<joint name='j'");
  return model;
}

}  // namespace

std::vector<FeatureModel> contact_models() {
  std::vector<FeatureModel> all;
  for (const char* type : {"sphere", "capsule", "cylinder", "box"}) all.push_back(on_plane(type));
  for (const char* type : {"sphere", "capsule", "cylinder", "box"}) all.push_back(pair_of("sphere", type));
  for (const char* type : {"capsule", "cylinder", "box"}) all.push_back(pair_of("capsule", type));
  all.push_back(box_box());
  all.push_back(boxes());
  all.push_back({"sphere_on_fixed_box",
                 mjcf("", "<geom type='box' size='.5 .5 .1'/>" + thing(geom_of("sphere"), "pos='.49 0 .2'") +
                              thing(geom_of("capsule"), "pos='0 .1 .16' euler='0 90 0'"))});
  all.push_back({"tilted_plane", mjcf("", "<geom type='plane' size='5 5 1' euler='20 10 0' conaffinity='3'/>" +
                                              thing(geom_of("box"), "pos='0 0 .1' euler='21 9 0'") +
                                              thing(geom_of("cylinder"), "pos='0 1 -.2' euler='22 8 30'"))});
  all.push_back({"sizes_beyond_the_type",
                 mjcf("", kFloor + thing("<geom type='sphere' size='.1 .2 .3'/>", "pos='0 0 .1'") +
                              thing("<geom type='capsule' size='.05 .1 .3'/>", "pos='.12 0 .15' euler='80 0 0'"))});
  all.push_back(with("friction", "friction='.3'"));
  all.push_back(with("friction_small", "friction='.03' priority='1'"));
  all.push_back(with("condim_1", "condim='1'", "", "<default/>"));
  all.push_back(with("priority", "friction='.9' priority='1' solref='.05 .7' condim='1'"));
  all.push_back(with("solmix", "solmix='3' solref='.04 1.2' solimp='.5 .95 .02 .4 3'"));
  all.push_back(with("solmix_zero", "solmix='0' solref='.04 1.2'"));
  all.push_back(with("solref_negative", "solref='-2000 -40'"));
  all.push_back(with("margin", "margin='.02'"));
  all.push_back(with("gap", "margin='.03' gap='.02'"));
  all.push_back(with("masks", "contype='2' conaffinity='1'"));
  all.push_back(with("excludes", "", "",
                     "<contact><exclude body1='b1' body2='b2'/><exclude body1='b3' body2='world'/>"
                     "</contact>"));
  all.push_back(with("pairs", "contype='0' conaffinity='0'", "",
                     "<contact><pair geom1='s1' geom2='floor' condim='3' friction='.8 .4' margin='.01'/>"
                     "<pair geom1='s1' geom2='s2' condim='1' solref='.03 .8'/>"
                     "<pair geom1='floor' geom2='c' gap='.01' margin='.02' solimp='.7 .9 .01 .5 1'/>"
                     "<pair geom1='floor' geom2='s2'/></contact>"));
  all.push_back(with("pairs_besides_masks", "", "",
                     "<contact><pair geom1='s2' geom2='s1' friction='.1 .7'/><pair geom1='c' geom2='s3'/></contact>"));
  all.push_back(with("impratio", "", "<option impratio='10'/>"));
  for (const char* f : {"constraint", "frictionloss", "limit", "contact", "spring", "damper", "gravity", "clampctrl",
                        "warmstart", "filterparent", "actuation", "refsafe", "midphase", "eulerdamp", "island"})
    all.push_back(with_named_joint(flag(f, std::string(f) + "='disable'")));
  all.push_back(with_named_joint(flag("spring_and_damper", "spring='disable' damper='disable'")));
  all.push_back(with_named_joint(flag("constraint_and_gravity", "constraint='disable' gravity='disable'")));
  return all;
}

std::vector<FeatureModel> slippery_models() {
  std::vector<FeatureModel> all;
  for (const char* friction : {"0", ".001", ".005", ".01"})
    all.push_back(with(std::string("friction_") + friction, std::string("priority='1' friction='") + friction + "'"));
  return all;
}

std::vector<FeatureModel> solver_models() {
  const std::string heap =
      kFloor + thing(geom_of("sphere"), "pos='0 0 .1'") + thing(geom_of("capsule"), "pos='.15 0 .1' euler='0 60 0'") +
      thing(geom_of("box"), "pos='0 .2 .1' euler='5 0 0'") + thing(geom_of("cylinder"), "pos='-.25 0 .08'") +
      chain(3, "<joint axis='0 1 0' limited='true' range='-5 5' frictionloss='.1' damping='.1'/>", "");
  const auto option = [](const std::string& attributes) { return "<option " + attributes + "/>"; };
  const auto tree = kFloor +
                    "<body pos='0 0 .3'><freejoint/><geom type='capsule' fromto='0 -.2 0 0 .2 0' size='.07'/>"
                    "<body pos='.1 .2 0'><joint axis='0 1 0' limited='true' range='-30 30' armature='.01' "
                    "damping='.1'/><geom type='capsule' fromto='0 0 0 0 0 -.3' size='.05'/></body>"
                    "<body pos='.1 -.2 0'><joint axis='0 1 0' limited='true' range='-30 30' armature='.01' "
                    "frictionloss='.3'/><geom type='capsule' fromto='0 0 0 0 0 -.3' size='.05'/></body></body>";
  return {
      {"newton_euler", mjcf(option("solver='Newton'"), heap)},
      {"newton_rk4", mjcf(option("solver='Newton' integrator='RK4'"), heap)},
      {"pgs_euler", mjcf(option("solver='PGS' iterations='50'"), heap)},
      {"pgs_rk4", mjcf(option("solver='PGS' integrator='RK4' iterations='30'"), heap)},
      {"pgs_one_tree", mjcf(option("solver='PGS' iterations='50'"), tree)},
      {"pgs_one_tree_rk4", mjcf(option("solver='PGS' iterations='50' integrator='RK4'"), tree)},
      {"pgs_no_warmstart", mjcf("<option solver='PGS' iterations='30'><flag warmstart='disable'/></option>", tree)},
      {"pgs_impratio", mjcf(option("solver='PGS' iterations='30' impratio='5'"), tree)},
      {"pgs_ball_limits",
       mjcf(option("solver='PGS' iterations='20'"),
            chain(3,
                  "<joint type='slide' axis='1 0 0' limited='true' range='-.01 .01'/>"
                  "<joint type='ball' limited='true' range='0 10' margin='5' frictionloss='.01'/>")),
       2},
      {"newton_one_tree_rk4", mjcf(option("integrator='RK4' timestep='.004'"), tree)},
  };
}

}  // namespace hotloop
