#include "tests/mujoco/broken_models.h"

#include <algorithm>
#include <fstream>
#include <random>

#include "sim/mujoco/xml_scan.h"

namespace hotloop {
namespace {

constexpr const char* kGood = R"(<mujoco model="good">
  <compiler angle="radian"/>
  <option timestep="0.004" integrator="RK4" gravity="0 0 -9.8"/>
  <default>
    <joint damping="0.1" armature="0.01"/>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1" friction="0.9 0.1 0.1"/>
    <body name="torso" pos="0 0 1">
      <freejoint name="root"/>
      <geom name="trunk" type="capsule" fromto="0 0 0 0 0 0.4" size="0.1" condim="3"/>
      <site name="tip" pos="0 0 0.5"/>
      <body name="leg" pos="0 0 -0.2">
        <inertial mass="1.5" pos="0 0 -0.1" diaginertia="0.1 0.1 0.1"/>
        <joint name="hip" type="hinge" axis="0 1 0" range="-1 1" limited="true" stiffness="2"/>
        <geom name="shin" type="sphere" size="0.08" pos="0 0 -0.3" solref="0.02 1" margin="0.01"/>
        <body name="foot" pos="0 0 -0.4">
          <joint name="ankle" type="hinge" axis="1 0 0" range="-0.5 0.5" limited="true" frictionloss="0.1"/>
          <geom name="sole" type="box" size="0.1 0.05 0.02" mass="0.3"/>
        </body>
      </body>
    </body>
  </worldbody>
  <contact>
    <pair geom1="floor" geom2="sole" condim="3" friction="1 1 0.1 0.1 0.1"/>
    <exclude body1="torso" body2="foot"/>
  </contact>
  <tendon>
    <fixed name="coupling" stiffness="1">
      <joint joint="hip" coef="1"/>
      <joint joint="ankle" coef="-0.5"/>
    </fixed>
  </tendon>
  <actuator>
    <motor name="hip_motor" joint="hip" gear="20" ctrlrange="-1 1" ctrllimited="true"/>
    <position name="ankle_servo" joint="ankle" kp="5" forcerange="-3 3" forcelimited="true"/>
  </actuator>
  <keyframe>
    <key name="home" qpos="0 0 1 1 0 0 0 0 0"/>
  </keyframe>
</mujoco>
)";

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("the good model has no " + from);
  return text.substr(0, at) + to + text.substr(at + from.size());
}

using Cases = std::vector<BrokenModel>;

void add(Cases& cases, const std::string& what, const std::string& says, const std::string& xml) {
  cases.push_back({what, says, {{"model.xml", xml}}});
}

// One place of the good model changed.
void change(Cases& cases, const std::string& from, const std::string& to, const std::string& says) {
  add(cases, from + " -> " + to, says, replaced(kGood, from, to));
}

// Where the start tag `index` of the good model begins.
std::size_t tag_at(const std::vector<XmlTag>& tags, std::size_t index) {
  const std::string text = kGood;
  std::size_t at = 0;
  for (std::size_t i = 0; i <= index; ++i) at = text.find("<" + tags[i].name, i == 0 ? 0 : at + 1);
  return at;
}

void truncations(Cases& cases) {
  const std::string text = kGood;
  for (int k = 1; k <= 50; ++k)
    add(cases, "the first " + std::to_string(k) + "/51", "line", text.substr(0, text.size() * k / 51));
}

void every_tag(Cases& cases) {
  const std::string text = kGood;
  const std::vector<XmlTag> tags = scan_xml(text);
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const std::size_t name = tag_at(tags, i) + 1, end = name + tags[i].name.size();
    add(cases, "unknown attribute of " + tags[i].name, tags[i].name,
        text.substr(0, end) + " flavour=\"1\"" + text.substr(end));
    // a tag without a partner
    add(cases, "no end of " + tags[i].name, "malformed",
        text.substr(0, name - 1) + "<" + tags[i].name + ">" + text.substr(name - 1));
    if (i == 0) continue;
    // an element that the schema does not know
    add(cases, "unknown element before " + tags[i].name, i < 3 || tags[i].parent > 0 ? "wheel" : "",
        text.substr(0, name - 1) + "<wheel/>" + text.substr(name - 1));
  }
}

bool is_number(const std::string& value) {
  return !value.empty() && value.find_first_not_of("0123456789.-e ") == std::string::npos;
}

void every_number(Cases& cases) {
  const std::string text = kGood;
  const std::vector<XmlTag> tags = scan_xml(text);
  for (std::size_t i = 0; i < tags.size(); ++i)
    for (const auto& [key, value] : tags[i].attributes) {
      if (!is_number(value)) continue;
      const std::string attribute = " " + key + "=\"" + value + "\"";
      const std::size_t at = text.find(attribute, tag_at(tags, i));
      for (const std::string wrong : {"x", "1e400", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"})
        add(cases, tags[i].name + " " + key + "='" + wrong + "'", tags[i].name == "default" ? "" : tags[i].name,
            text.substr(0, at) + " " + key + "=\"" + wrong + "\"" + text.substr(at + attribute.size()));
    }
}

void wrong_values(Cases& c) {
  for (const std::string size : {"0", "-1", "nan"}) change(c, "size=\"0.08\"", "size=\"" + size + "\"", "shin");
  change(c, "solref=\"0.02 1\"", "solref=\"nan 1\"", "geom 'shin'");
  change(c, "solref=\"0.02 1\"", "solref=\"0.02\tNaN\"", "geom 'shin'");
  change(c, "mass=\"0.3\"", "mass=\"nan\"", "geom 'sole'");
  for (const std::string key : {"solimp", "solmix"}) change(c, "mass=\"0.3\"", key + "=\"nan\"", "geom 'sole'");
  for (const std::string key : {"solreflimit", "solimplimit", "solreffriction", "solimpfriction"})
    change(c, "frictionloss=\"0.1\"", "frictionloss=\"0.1\" " + key + "=\"nan 0.5\"", "joint 'ankle'");
  change(c, "size=\"0.08\"", "size=\"1e100\"", "");
  change(c, "size=\"0.08\"", "", "shin");
  change(c, "mass=\"1.5\"", "mass=\"0\"", "body 'leg'");
  change(c, "mass=\"1.5\"", "mass=\"-1\"", "leg");
  change(c, "mass=\"1.5\"", "mass=\"1e200\"", "body 'leg'");
  change(c, "mass=\"0.3\"", "mass=\"0\"", "body 'foot'");
  change(c, "mass=\"0.3\"", "mass=\"-0.1\"", "sole");
  change(c, "diaginertia=\"0.1 0.1 0.1\"", "diaginertia=\"0.1 0.1 9\"", "body 'leg'");
  change(c, "diaginertia=\"0.1 0.1 0.1\"", "diaginertia=\"0 0 0\"", "body 'leg'");
  change(c, "diaginertia=\"0.1 0.1 0.1\"", "", "");
  change(c, "axis=\"0 1 0\"", "axis=\"0 0 0\"", "joint 'hip'");
  change(c, "range=\"-1 1\"", "range=\"1 -1\"", "joint 'hip'");
  change(c, "stiffness=\"2\"", "stiffness=\"1e30\"", "joint 'hip'");
  change(c, "timestep=\"0.004\"", "timestep=\"0\"", "option: timestep");
  change(c, "timestep=\"0.004\"", "timestep=\"-0.01\"", "option: timestep");
  change(c, "timestep=\"0.004\"", "timestep=\"1e6\"", "option: timestep");
  change(c, "timestep=\"0.004\"", "timestep=\"nan\"", "option");
  change(c, "gravity=\"0 0 -9.8\"", "gravity=\"0 0 nan\"", "option");
  change(c, "gravity=\"0 0 -9.8\"", "gravity=\"0 0 -1e200\"", "option: gravity");
  change(c, "gravity=\"0 0 -9.8\"", "iterations=\"-5\"", "option: iterations");
  change(c, "gravity=\"0 0 -9.8\"", "iterations=\"2000000000\"", "option: iterations");
  change(c, "gravity=\"0 0 -9.8\"", "density=\"-1\"", "option: density");
  change(c, "gravity=\"0 0 -9.8\"", "impratio=\"0\"", "option: impratio");
  change(c, "gravity=\"0 0 -9.8\"", "tolerance=\"-1\"", "option: tolerance");
  change(c, "integrator=\"RK4\"", "integrator=\"RK5\"", "RK5");
  change(c, "angle=\"radian\"", "angle=\"gradian\"", "gradian");
  change(c, "type=\"box\"", "type=\"cone\"", "cone");
  change(c, "type=\"hinge\"", "type=\"screw\"", "screw");
  change(c, "type=\"box\" size=\"0.1 0.05 0.02\"", "type=\"box\" size=\"0.1\"", "sole");
  change(c, "fromto=\"0 0 0 0 0 0.4\"", "fromto=\"0 0 0 0 0 0\"", "trunk");
  change(c, "qpos=\"0 0 1 1 0 0 0 0 0\"", "qpos=\"0 0 1e300 1 0 0 0 0 0\"", "home");
  change(c, "kp=\"5\"", "kp=\"1e200\"", "actuator 'ankle_servo'");
  change(c, "gear=\"20\"", "gear=\"1e200\"", "actuator 'hip_motor'");
  change(c, "gear=\"20\"", "gear=\"nan\"", "motor 'hip_motor'");
  change(c, "ctrlrange=\"-1 1\"", "ctrlrange=\"1 -1\"", "hip_motor");
  change(c, "forcerange=\"-3 3\"", "forcerange=\"3 -3\"", "ankle_servo");
  change(c, "condim=\"3\"", "condim=\"2\"", "trunk");
  change(c, "<site name=\"tip\" pos=\"0 0 0.5\"/>", "<body name=\"loose\"><freejoint/></body>", "");
}

void wrong_names(Cases& c) {
  for (const std::string kind : {"joint", "geom", "body", "site"}) {
    const std::string first = kind == "joint" ? "hip" : kind == "geom" ? "trunk" : kind == "body" ? "torso" : "tip";
    const std::string twin = "<" + kind + " name=\"" + first + "\"" +
                             (kind == "geom"    ? " size=\"0.1\""
                              : kind == "joint" ? " axis=\"0 0 1\""
                                                : "") +
                             "/>";
    change(c, "<geom name=\"sole\"", twin + "<geom name=\"sole\"", first);
  }
  change(c, "name=\"ankle_servo\"", "name=\"hip_motor\"", "hip_motor");
  change(c, "joint=\"hip\" gear", "joint=\"knee\" gear", "knee");
  change(c, "joint=\"hip\" gear", "gear", "hip_motor");
  change(c, "joint=\"hip\" coef", "joint=\"knee\" coef", "knee");
  change(c, "geom1=\"floor\"", "geom1=\"ceiling\"", "ceiling");
  change(c, "body1=\"torso\"", "body1=\"head\"", "head");
  change(c, "<key name=\"home\"", "<key name=\"home\"/><key name=\"home\"", "home");
  change(c, "<geom name=\"sole\"", "<geom name=\"sole\" material=\"rubber\"", "rubber");
  change(c, "<geom name=\"sole\"", "<geom name=\"sole\" class=\"shoe\"", "shoe");
  change(c, "<geom name=\"sole\"", "<geom name=\"sole\" mesh=\"shoe\"", "shoe");
}

void unsupported_options(Cases& c) {
  for (const std::string integrator : {"implicit", "implicitfast", "discrete"})
    change(c, "integrator=\"RK4\"", "integrator=\"" + integrator + "\"", "option: integrator '" + integrator + "'");
  change(c, "integrator=\"RK4\"", "solver=\"CG\"", "option: solver 'CG'");
  change(c, "integrator=\"RK4\"", "cone=\"elliptic\"", "option: cone 'elliptic'");
  change(c, "integrator=\"RK4\"", "noslip_iterations=\"3\"", "option: noslip_iterations");
  change(c, "integrator=\"RK4\"", "actuatorgroupdisable=\"0\"", "actuator 'hip_motor': group 0");
  for (const std::string flag : {"override", "sleep", "diagexact", "ipc", "speculative"})
    change(c, "gravity=\"0 0 -9.8\"/>", "><flag " + flag + "=\"enable\"/></option>", "");
  for (const std::string flag : {"nativeccd", "multiccd"})
    add(c, flag, "option: flag " + flag,
        replaced(replaced(kGood, "gravity=\"0 0 -9.8\"/>", "><flag " + flag + "=\"disable\"/></option>"),
                 "type=\"box\" size=\"0.1 0.05 0.02\"", "type=\"cylinder\" size=\"0.1 0.05\""));
}

void unsupported_bodies(Cases& c) {
  change(c, "<worldbody>", "<worldbody><body name=\"hand\" mocap=\"true\"/>", "body 'hand': mocap");
  change(c, "<body name=\"leg\"", "<body name=\"leg\" gravcomp=\"1\"", "body 'leg': gravcomp");
  change(c, "stiffness=\"2\"", "stiffness=\"2 1\"", "joint 'hip': stiffness");
  change(c, "frictionloss=\"0.1\"", "damping=\"1 0.5\"", "joint 'ankle': damping");
  change(c, "frictionloss=\"0.1\"", "springyield=\"0.5\"", "ankle");
  change(c, "name=\"sole\"", "name=\"sole\" surfacevel=\"1 0 0 0 0 0\"", "geom 'sole': surfacevel");
  change(c, "name=\"sole\"", "name=\"sole\" adhesion=\"2\"", "geom 'sole': adhesion");
  add(c, "fluidshape", "geom 'sole': fluidshape",
      replaced(replaced(kGood, "integrator=\"RK4\"", "density=\"1000\""), "name=\"sole\"",
               "name=\"sole\" fluidshape=\"ellipsoid\""));
  for (const std::string condim : {"4", "6"})
    change(c, "condim=\"3\"", "condim=\"" + condim + "\"", "condim " + condim);
  change(c, "type=\"sphere\" size=\"0.08\"", "type=\"ellipsoid\" size=\"0.08 0.1 0.1\"", "geom 'shin'");
  change(c, "geom1=\"floor\" geom2=\"sole\"", "geom1=\"shin\" geom2=\"sole\" adhesion=\"1\"", "adhesion");
  for (const std::string type : {"cylinder\" size=\"1 1", "ellipsoid\" size=\"1 1 1"})
    change(c, "type=\"plane\" size=\"5 5 0.1\"", "type=\"" + type + "\"", "geom 'floor'");
  std::string many = "<mujoco><worldbody>";
  for (int i = 0; i < 22; ++i) many += "<body><freejoint/><geom size=\"0.1\"/></body>";
  add(c, "132 dofs", "model: a size of 132 degrees of freedom", many + "</worldbody></mujoco>");
  add(c, "no joints", "model: a model without joints", "<mujoco><worldbody><geom size=\"1\"/></worldbody></mujoco>");
  add(c, "nothing", "model: a model without joints", "<mujoco/>");
}

void unsupported_actuators(Cases& c) {
  const std::string motor =
      "<motor name=\"hip_motor\" joint=\"hip\" gear=\"20\" ctrlrange=\"-1 1\" ctrllimited=\"true\"/>";
  const auto actuator = [&](const std::string& xml, const std::string& says) { change(c, motor, xml, says); };
  const std::string named = "actuator 'a'";
  actuator("<muscle name=\"a\" joint=\"hip\" lengthrange=\"0.1 1\"/>", named);
  actuator("<intvelocity name=\"a\" joint=\"hip\" actrange=\"-1 1\"/>", named);
  actuator("<cylinder name=\"a\" joint=\"hip\"/>", named);
  actuator(
      "<damper name=\"a\" joint=\"hip\" ctrlrange=\"0 1\" kv=\"1\"/><adhesion name=\"b\" body=\"foot\" "
      "ctrlrange=\"0 1\"/>",
      "'b'");
  actuator("<general name=\"a\" joint=\"hip\" dyntype=\"integrator\"/>", named + ": dyntype 'integrator'");
  actuator("<general name=\"a\" joint=\"hip\" dyntype=\"filter\"/>", named + ": dyntype 'filter'");
  actuator("<general name=\"a\" joint=\"hip\" dyntype=\"filterexact\"/>", named + ": dyntype 'filterexact'");
  actuator("<general name=\"a\" joint=\"hip\" dyntype=\"user\"/>", named + ": dyntype 'user'");
  actuator("<general name=\"a\" joint=\"hip\" gaintype=\"user\"/>", named + ": gaintype 'user'");
  actuator("<general name=\"a\" joint=\"hip\" biastype=\"user\"/>", named + ": biastype 'user'");
  actuator("<general name=\"a\" joint=\"hip\" gaintype=\"muscle\" lengthrange=\"0 1\"/>", "'a'");
  actuator("<motor name=\"a\" site=\"tip\"/>", named + ": transmission 'site'");
  actuator("<motor name=\"a\" jointinparent=\"root\"/>", named + ": transmission 'jointinparent'");
  actuator("<motor name=\"a\" cranksite=\"tip\" slidersite=\"tip\" cranklength=\"1\"/>", named);
  actuator("<motor name=\"a\" joint=\"hip\" damping=\"1\"/>", named + ": damping");
  actuator("<motor name=\"a\" joint=\"hip\" armature=\"1\"/>", named + ": armature");
  actuator("<motor name=\"a\" joint=\"hip\" delay=\"0.02\" nsample=\"4\"/>", named);
  actuator("<dcmotor name=\"a\" joint=\"hip\"/>", "'a'");
  actuator("<rotor name=\"a\" joint=\"hip\"/>", "rotor");
  change(c, "<fixed name=\"coupling\"", "<fixed name=\"coupling\" armature=\"1\"", "tendon 'coupling': armature");
  change(c, "<fixed name=\"coupling\"", "<fixed name=\"coupling\" damping=\"1 1\"", "tendon 'coupling': damping");
  change(c, "stiffness=\"1\"", "stiffness=\"1 1\"", "tendon 'coupling': stiffness");
  change(c, "<fixed name=\"coupling\"", "<fixed name=\"coupling\" actuatorfrcrange=\"-1 1\"", "tendon 'coupling'");
  change(c, "<fixed name=\"coupling\"",
         "<spatial name=\"rope\"><site site=\"tip\"/><site site=\"tip\"/></spatial><fixed name=\"coupling\"", "rope");
  change(c, "<joint joint=\"ankle\" coef=\"-0.5\"/>", "<joint joint=\"root\" coef=\"1\"/>", "");
  const auto equality = [&](const std::string& xml) {
    change(c, "<tendon>", "<equality>" + xml + "</equality><tendon>", "equality 'e'");
  };
  equality("<connect name=\"e\" body1=\"torso\" anchor=\"0 0 0\"/>");
  equality("<weld name=\"e\" body1=\"torso\"/>");
  equality("<joint name=\"e\" joint1=\"hip\"/>");
  equality("<joint name=\"e\" joint1=\"hip\" joint2=\"ankle\" active=\"false\"/>");
  equality("<tendon name=\"e\" tendon1=\"coupling\"/>");
  change(c, "<tendon>", "<extension><plugin plugin=\"some.plugin\"/></extension><tendon>", "some.plugin");
}

void files(Cases& c) {
  const auto with = [&](const std::string& what, const std::string& says, const std::string& insert,
                        std::vector<std::pair<std::string, std::string>> others = {}) {
    others.insert(others.begin(), {"model.xml", replaced(kGood, "<worldbody>", insert + "<worldbody>")});
    c.push_back({what, says, std::move(others)});
  };
  for (const std::string file : {"none.stl", "none.obj", "none.msh", "deep/none.stl"})
    with("missing mesh", "mesh 'm'", "<asset><mesh name=\"m\" file=\"" + file + "\"/></asset>");
  with("missing texture", "texture 't'", "<asset><texture name=\"t\" type=\"2d\" file=\"none.png\"/></asset>");
  with("missing field", "hfield 'h'", "<asset><hfield name=\"h\" file=\"none.png\" size=\"1 1 1 1\"/></asset>");
  with("missing skin", "skin 's'", "<asset><skin name=\"s\" file=\"none.skn\"/></asset>");
  with("missing include", "include", "<include file=\"none.xml\"/>");
  for (const std::string file : {"../none.stl", "a/../../none.stl", "/etc/none.stl", "..&#x2f;none.stl"}) {
    with("mesh outside", "outside the model's folder", "<asset><mesh name=\"m\" file=\"" + file + "\"/></asset>");
    with("texture outside", "outside", "<asset><texture name=\"t\" type=\"2d\" file=\"" + file + "\"/></asset>");
    with("include outside", "include: file", "<include file=\"" + file + "\"/>");
    with("model outside", "model 'm'", "<asset><model name=\"m\" file=\"" + file + "\"/></asset>");
  }
  with("meshdir outside", "outside", "<compiler meshdir=\"..\"/><asset><mesh name=\"m\" file=\"a.stl\"/></asset>");
  with("assetdir outside", "outside", "<compiler assetdir=\"/\"/><asset><mesh name=\"m\" file=\"a.stl\"/></asset>");
  for (const std::string name : {"bad.stl", "bad.obj", "bad.msh"})
    with("bad mesh", "m", "<asset><mesh name=\"m\" file=\"" + name + "\"/></asset>", {{name, "no mesh at all"}});
  with("empty mesh", "m", "<asset><mesh name=\"m\" file=\"bad.stl\"/></asset>", {{"bad.stl", ""}});
  with("bad texture", "t", "<asset><texture name=\"t\" type=\"2d\" file=\"bad.png\"/></asset>", {{"bad.png", "x"}});
  with("includes itself", "includes itself", "<include file=\"model.xml\"/>");
  with("includes in a circle", "includes itself", "<include file=\"a.xml\"/>",
       {{"a.xml", "<mujoco><include file=\"b.xml\"/></mujoco>"},
        {"b.xml", "<mujoco><include file=\"a.xml\"/></mujoco>"}});
  with("includes twice", "included twice", "<include file=\"a.xml\"/><include file=\"a.xml\"/>",
       {{"a.xml", "<mujoco><size nuser_body=\"1\"/></mujoco>"}});
  with("attaches itself", "includes itself", "<asset><model name=\"m\" file=\"model.xml\"/></asset>");
  with("broken include", "include", "<include file=\"a.xml\"/>", {{"a.xml", "<mujoco><option"}});
  with("empty include", "include", "<include file=\"a.xml\"/>", {{"a.xml", ""}});
  with("include of a folder", "include", "<include file=\"deep\"/>", {{"deep/a.xml", "<mujoco/>"}});
}

void huge(Cases& c) {
  const auto body = [&](const std::string& what, const std::string& says, const std::string& xml) {
    add(c, what, says, replaced(kGood, "<body name=\"torso\"", xml + "<body name=\"torso\""));
  };
  const std::string one = "<body><geom size=\"0.1\"/></body></replicate>";
  body("a thousand million", "replicate: count", "<replicate count=\"1000000000\" offset=\"1 0 0\">" + one);
  body("a thousand thousand", "replicate: count",
       "<replicate count=\"1000\"><replicate count=\"1000\">" + one + "</replicate>");
  body("not a number", "replicate", "<replicate count=\"nan\">" + one);
  body("composite", "composite", "<composite type=\"cable\" count=\"100000 100000 1\"/>");
  body("flex", "flexcomp", "<flexcomp name=\"f\" type=\"grid\" count=\"1000 1000 1000\" spacing=\"1 1 1\"/>");
  add(c, "field", "hfield 'h': nrow",
      replaced(kGood, "<worldbody>",
               "<asset><hfield name=\"h\" nrow=\"1000000\" ncol=\"1000000\" size=\"1 1 1 1\"/>"
               "</asset><worldbody>"));
  add(c, "texture", "texture 't': width",
      replaced(kGood, "<worldbody>",
               "<asset><texture name=\"t\" builtin=\"flat\" width=\"1000000\" height=\"1000000\"/>"
               "</asset><worldbody>"));
  add(c, "numeric", "numeric 'n': size",
      replaced(kGood, "<worldbody>", "<custom><numeric name=\"n\" size=\"2000000000\"/></custom><worldbody>"));
  add(c, "keys", "size: nkey", replaced(kGood, "<worldbody>", "<size nkey=\"2000000000\"/><worldbody>"));
  add(c, "user data", "size: nuser_body",
      replaced(kGood, "<worldbody>", "<size nuser_body=\"2000000000\"/><worldbody>"));
  std::string deep = "<mujoco><worldbody>", end;
  for (int i = 0; i < 5000; ++i) {
    deep += "<body>";
    end += "</body>";
  }
  add(c, "5000 levels", "", deep + end + "</worldbody></mujoco>");
}

void no_models(Cases& c) {
  std::mt19937 rng(7);
  for (int k = 0; k < 12; ++k) {
    std::string noise;
    for (int i = 0; i < 1 << k; ++i) noise += static_cast<char>(rng());
    add(c, "noise", "", noise);
  }
  for (int k = 0; k < 12; ++k) {  // noise in the middle of a good model
    std::string text = kGood;
    text[text.size() / 14 * (k + 1) - 1] = '<';
    for (int i = 0; i < 40; ++i) text[text.size() / 14 * (k + 1) + i] = static_cast<char>(rng() % 31 + 1);
    add(c, "noise in the middle", "", text);
  }
  add(c, "empty", "is empty", "");
  add(c, "a space", "", " ");
  add(c, "words", "", "This is no model.\n");
  add(c, "JSON", "", "{\"model\": 1}");
  add(c, "other XML", "html", "<html><body/></html>");
  add(c, "no element", "", "<?xml version=\"1.0\"?>");
  add(c, "comment", "", "<!-- nothing -->");
  add(c, "zeros", "", std::string(1000, '\0'));
  add(c, "UTF-16", "", std::string("\xff\xfe<\0m\0u\0", 8));
  const std::string link = "<robot name=\"r\"><link name=\"a\"/>",
                    inertia =
                        "<inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" "
                        "iyz=\"0\"/></inertial>";
  add(c, "URDF without joints", "model: a model without joints", link + "</robot>");
  add(c, "URDF, no child", "", link + "<joint name=\"j\" type=\"revolute\"><parent link=\"a\"/></joint></robot>");
  add(c, "URDF, unknown link", "joint 'j'",
      link + "<joint name=\"j\" type=\"revolute\"><parent link=\"a\"/><child link=\"b\"/></joint></robot>");
  add(c, "URDF, joint type", "joint 'j'",
      link + "<link name=\"b\">" + inertia +
          "</link><joint name=\"j\" type=\"screw\"><parent link=\"a\"/>"
          "<child link=\"b\"/></joint></robot>");
  add(c, "URDF, twice a", "a", link + "<link name=\"a\"/></robot>");
  add(c, "URDF, mesh outside", "outside",
      link + "<link name=\"b\">" + inertia +
          "<collision><geometry><mesh filename=\"package://../x.stl\"/></geometry>"
          "</collision></link></robot>");
}

}  // namespace

std::string good_model() { return kGood; }

std::vector<BrokenModel> broken_models() {
  Cases cases;
  truncations(cases);
  every_tag(cases);
  every_number(cases);
  wrong_values(cases);
  wrong_names(cases);
  unsupported_options(cases);
  unsupported_bodies(cases);
  unsupported_actuators(cases);
  files(cases);
  huge(cases);
  no_models(cases);
  return cases;
}

std::vector<std::pair<std::filesystem::path, std::string>> broken_files(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  const fs::path inner = folder / "inner";
  fs::create_directories(inner / "folder.xml");
  const auto write = [](const fs::path& path, const std::string& text) { std::ofstream(path) << text; };
  write(folder / "outside.xml", "<mujoco/>");
  fs::create_symlink(folder / "outside.xml", inner / "link.xml");
  write(inner / "through_link.xml", "<mujoco><include file=\"link.xml\"/></mujoco>");
  fs::create_symlink(inner / "nowhere.xml", inner / "dangling.xml");
  write(inner / "unreadable_include.xml", "<mujoco><include file=\"folder.xml\"/></mujoco>");
  return {{inner / "none.xml", "no such file"},
          {inner / "folder.xml", "is a folder"},
          {inner / "dangling.xml", "no such file"},
          {inner / "through_link.xml", "outside the model's folder"},
          {inner / "unreadable_include.xml", "include"},
          {"/dev/null", "no regular file"},
          {"", "no such file"}};
}

}  // namespace hotloop
