#include "tests/mujoco/random_mjcf.h"

#include <fmt/format.h>
#include <mujoco/mujoco.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/mujoco/features.h"

namespace hotloop {
namespace {

using fmt::format;

class Generator {
 public:
  // splitmix64, so that the models do not depend on the standard library
  explicit Generator(unsigned seed) : state_(seed) { state_ = next(); }

  std::string model() {
    const bool crowd = chance(0.2);
    const std::string option = options();
    std::string world;
    if (chance(0.8))
      world += format("<geom name='floor' type='plane' size='9 9 1' {} {}/>\n", masks(mjGEOM_PLANE), contact());
    for (int g = chance(0.3) ? 1 + pick(3) : 0; g > 0; --g)
      world += chance(0.2) ? format("<geom type='plane' size='9 9 1' pos='0 0 -.5' euler='{}' {} {}/>\n", vector(3, 30),
                                    masks(mjGEOM_PLANE), contact())
                           : geom(format("pos='{}'", point(1)), "") + "\n";
    const int trees = crowd ? 3 + pick(3) : 1 + pick(3);
    for (int t = 0; t < trees && dofs_ < 40; ++t) {
      const std::string at = format("pos='{:.3f} {:.3f} {:.3f}'", 0.5 * t, range(-0.3, 0.3), range(0.1, 0.8));
      world += body(at, 0);
    }
    return "<mujoco>" + option + "<worldbody>\n" + world + "</worldbody>" + contacts() + tendons() + actuators() +
           keyframe() + "</mujoco>";
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  double range(double low, double high) { return low + (high - low) * static_cast<double>(next() >> 11) * 0x1.0p-53; }
  int pick(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  bool chance(double probability) { return range(0, 1) < probability; }
  // attribute='number' with this probability
  std::string maybe(double probability, const char* attribute, double low, double high) {
    return chance(probability) ? format(" {}='{:.4g}'", attribute, range(low, high)) : "";
  }
  std::string point(double size) {
    return format("{:.3f} {:.3f} {:.3f}", range(-size, size), range(-size, size), range(-size, size));
  }
  std::string vector(int n, double size) {
    std::string text;
    for (int i = 0; i < n; ++i) text += format("{:.3f} ", range(-size, size));
    return text;
  }

  // solref and solimp, or those of limits and frictions by suffix
  std::string solver(double probability, const char* suffix) {
    std::string text;
    if (chance(probability))
      text += chance(0.3) ? format(" solref{}='{:.4g} {:.4g}'", suffix, -range(50, 2000), -range(1, 60))
                          : format(" solref{}='{:.4g} {:.4g}'", suffix, range(0.002, 0.08), range(0.3, 2));
    if (chance(probability))
      text += format(" solimp{}='{:.3f} {:.3f} {:.3f} {:.3f} {}'", suffix, range(0, 0.9), range(0.5, 0.99),
                     range(0.001, 0.1), range(0.1, 0.9), chance(0.5) ? 2.0 : 1 + 0.5 * pick(5));
    return text;
  }

  std::string options() {
    std::string text = format("<option timestep='{}'", chance(0.5) ? 0.002 : chance(0.5) ? 0.005 : 0.001);
    if (chance(0.3)) text += " integrator='RK4'";
    if (chance(0.25)) text += format(" solver='PGS' iterations='{}'", 1 + pick(30));
    if (chance(0.3)) text += format(" gravity='{}'", point(10));
    text += maybe(0.2, "density", 1, 800) + maybe(0.2, "viscosity", 0.01, 0.8) + maybe(0.2, "impratio", 0.5, 10);
    if (chance(0.2)) text += format(" wind='{}'", point(3));
    text += "><flag";
    for (const char* flag :
         {"constraint", "frictionloss", "limit", "contact", "spring", "damper", "gravity", "clampctrl", "warmstart",
          "filterparent", "actuation", "refsafe", "midphase", "eulerdamp", "island"})
      if (chance(0.03)) text += format(" {}='disable'", flag);
    return text + "/></option>";
  }

  // Types meet where we have a collision function: one bit a type in contype, the partners' bits in conaffinity.
  static std::string masks(int type) {
    int partners = 0;
    for (const Collision& c : collisions()) {
      if (c.type1 == type) partners |= 1 << c.type2;
      if (c.type2 == type) partners |= 1 << c.type1;
    }
    return format("contype='{}' conaffinity='{}'", 1 << type, partners);
  }
  std::string contact() {
    std::string text = chance(0.5) ? " condim='1'" : "";
    text += maybe(0.5, "friction", 0, 1.2) + maybe(0.2, "solmix", 0, 3) + maybe(0.3, "margin", 0, 0.03);
    text += maybe(0.1, "gap", 0, 0.02) + solver(0.2, "");
    if (chance(0.1)) text += format(" priority='{}'", pick(3));
    return text;
  }
  std::string geom(const std::string& placement, const std::string& name) {
    const int types[] = {mjGEOM_SPHERE, mjGEOM_CAPSULE, mjGEOM_CYLINDER, mjGEOM_BOX};
    const char* names[] = {"sphere", "capsule", "cylinder", "box"};
    const int which = chance(0.6) ? pick(2) : pick(4);
    type_ = types[which];
    return format("<geom {} type='{}' size='{:.3f} {:.3f} {:.3f}' euler='{}' density='{:.0f}' {} {} {}/>", name,
                  names[which], range(0.03, 0.12), range(0.03, 0.15), range(0.03, 0.12), vector(3, 90),
                  range(200, 2000), placement, masks(types[which]), contact());
  }
  std::string body_geom() {
    geoms_.push_back(format("g{}", geoms_.size()));
    const std::string text = geom(format("pos='{}'", point(0.08)), format("name='{}'", geoms_.back()));
    geom_types_.push_back(type_);
    return text;
  }

  std::string joint(const char* type) {
    const bool ball = type == std::string("ball"), slide = type == std::string("slide");
    std::string text = format("<joint name='j{}' type='{}'", joints_, type);
    (ball ? balls_ : scalars_).push_back(format("j{}", joints_++));
    if (!ball) text += format(" axis='{}'", vector(3, 1));
    if (chance(0.4)) text += format(" pos='{}'", point(0.1));
    text += maybe(0.4, "damping", 0, slide ? 5 : 0.5) + maybe(0.3, "stiffness", 0, slide ? 100 : 5);
    if (chance(0.05)) text += format(" springdamper='{:.3f} {:.3f}'", range(0.05, 0.5), range(0.2, 2));
    text += maybe(0.3, "armature", 0, 0.1) + maybe(0.15, "frictionloss", 0, slide ? 2 : 0.1);
    if (!ball) text += maybe(0.1, "ref", -0.5, 0.5) + maybe(0.1, "springref", -0.5, 0.5);
    if (chance(0.35)) {
      const double scale = slide ? 0.2 : 60;
      text += " limited='true'";
      text += format(" range='{:.4g} {:.4g}'", ball ? 0 : range(-scale, 0), range(0.05, 1) * scale);
      text += maybe(0.3, "margin", 0, slide ? 0.05 : 10) + solver(0.3, "limit");
    }
    if (!ball && chance(0.1)) text += format(" actuatorfrclimited='true' actuatorfrcrange='{:.3g} 1'", -range(0, 1));
    text += solver(0.1, "friction");
    dofs_ += ball ? 3 : 1;
    return text + "/>";
  }

  std::string joints(int depth) {
    if (depth == 0 && chance(0.5)) {
      dofs_ += 6;
      frees_.push_back(format("j{}", joints_++));
      return format("<joint name='{}' type='free'{}{}{}{}/>", frees_.back(), maybe(0.2, "damping", 0, 1),
                    maybe(0.1, "armature", 0, 0.1), maybe(0.05, "frictionloss", 0, 0.3),
                    maybe(0.05, "stiffness", 0, 20));
    }
    std::string text;
    const int n = chance(0.15) && dofs_ > 0 ? 0 : chance(0.6) ? 1 : 2 + pick(2);
    bool hinged = false, turned = false;  // a ball is the only joint of its body that turns
    for (int i = 0; i < n; ++i) {
      const char* type = turned || chance(0.25) ? "slide" : !hinged && chance(0.25) ? "ball" : "hinge";
      turned = turned || type == std::string("ball");
      hinged = hinged || type == std::string("hinge");
      text += joint(type);
    }
    return text;
  }

  std::string body(const std::string& placement, int depth) {
    bodies_.push_back(format("b{}", bodies_.size()));
    std::string text = format("<body name='{}' {} euler='{}'>\n", bodies_.back(), placement, vector(3, 60));
    text += joints(depth) + "\n";
    if (chance(0.1))
      text += format("<inertial pos='{}' euler='{}' mass='{:.3f}' diaginertia='{:.4f} .012 .015'/>\n", point(0.05),
                     vector(3, 90), range(0.2, 3), range(0.004, 0.026));
    const int geoms = 1 + pick(2);
    for (int g = 0; g < geoms; ++g) text += body_geom() + "\n";
    const int children = depth >= 4 || dofs_ > 30 ? 0 : chance(0.5) ? 1 : chance(0.5) ? 0 : 2;
    for (int c = 0; c < children; ++c) text += body(format("pos='{}'", point(0.3)), depth + 1);
    return text + "</body>\n";
  }

  std::string contacts() {
    std::string text = "<contact>";
    if (bodies_.size() > 2 && chance(0.3)) {
      const int first = pick(static_cast<int>(bodies_.size()) - 1);
      text += format("<exclude body1='{}' body2='{}'/>", bodies_[first], bodies_.back());
      if (chance(0.3)) text += format("<exclude body1='world' body2='{}'/>", bodies_[first]);
    }
    // neighbours in the list, so that no two are the same; masks and parents do not keep them apart
    for (std::size_t g = 0; g + 1 < geoms_.size(); g += 2)
      if (chance(0.08) && collide(geom_types_[g], geom_types_[g + 1])) text += pair(geoms_[g], geoms_[g + 1]);
    return text + "</contact>";
  }
  static bool collide(int type1, int type2) {
    const auto& all = collisions();
    return std::any_of(all.begin(), all.end(), [&](const Collision& c) {
      return (c.type1 == type1 && c.type2 == type2) || (c.type1 == type2 && c.type2 == type1);
    });
  }
  std::string pair(const std::string& geom1, const std::string& geom2) {
    std::string text = format("<pair geom1='{}' geom2='{}' condim='{}'", geom1, geom2, chance(0.5) ? 1 : 3);
    if (chance(0.5)) text += format(" friction='{:.3f} {:.3f}'", range(0, 1.2), range(0, 1.2));
    return text + maybe(0.3, "margin", 0, 0.05) + maybe(0.2, "gap", 0, 0.02) + solver(0.3, "") + "/>";
  }

  // velocities only: positions are displaced anyway
  std::string keyframe() {
    if (!chance(0.1)) return "";
    return format("<keyframe><key qvel='{}'/></keyframe>", vector(dofs_, 2));
  }

  std::string tendons() {
    if (scalars_.size() < 2) return "";
    std::string text = "<tendon>";
    for (int t = pick(3); t > 0; --t) {
      text += format("<fixed name='t{}'", tendons_++);
      text += maybe(0.4, "stiffness", 0, 20) + maybe(0.4, "damping", 0, 1) + maybe(0.3, "frictionloss", 0, 0.3);
      if (chance(0.3)) text += format(" springlength='{:.3f} {:.3f}'", range(-0.3, 0), range(0, 0.3));
      if (chance(0.4))
        text += format(" limited='true' range='{:.3f} {:.3f}'", range(-0.5, 0), range(0.01, 0.5)) +
                maybe(0.3, "margin", 0, 0.05) + solver(0.3, "limit");
      text += solver(0.2, "friction") + ">";
      const std::size_t n = 2 + static_cast<std::size_t>(pick(2)), first = next() % scalars_.size();
      for (std::size_t k = 0; k < n && k < scalars_.size(); ++k)
        text += format("<joint joint='{}' coef='{:.3f}'/>", scalars_[(first + k) % scalars_.size()], range(-2, 2));
      text += "</fixed>";
    }
    return text + "</tendon>";
  }

  std::string target(int& gears) {
    gears = 1;
    if (tendons_ > 0 && chance(0.3)) return format("tendon='t{}'", pick(tendons_));
    const int kind = pick(6);
    const std::vector<std::string>& named = kind == 0 && !frees_.empty()   ? frees_
                                            : kind == 1 && !balls_.empty() ? balls_
                                                                           : scalars_;
    if (named.empty()) return "";
    gears = &named == &frees_ ? 6 : &named == &balls_ ? 3 : 1;
    return format("{}='{}'", &named == &scalars_ && chance(0.2) ? "jointinparent" : "joint",
                  named[next() % named.size()]);
  }

  std::string actuators() {
    std::string text = "<actuator>";
    for (int u = pick(5); u > 0; --u) {
      int gears = 1;
      const std::string at = target(gears);
      if (at.empty()) continue;
      std::string more = format("{} gear='{}'", at, vector(gears, 3));
      if (chance(0.5)) more += format(" ctrllimited='true' ctrlrange='{:.3f} {:.3f}'", -range(0, 1), range(0.1, 1));
      if (chance(0.2)) more += format(" forcelimited='true' forcerange='{:.3f} {:.3f}'", -range(0, 2), range(0, 2));
      switch (pick(5)) {
        case 0:
          text += format("<motor {}/>", more);
          break;
        case 1:
          text += format("<position {} kp='{:.3f}'{}/>", more, range(0, 5), maybe(0.3, "kv", 0, 0.5));
          break;
        case 2:
          text += format("<velocity {} kv='{:.3f}'/>", more, range(0, 1));
          break;
        case 3:
          text += format("<general {} gainprm='{:.3f}' biastype='affine' biasprm='{}'/>", more, range(-2, 2),
                         chance(0.5) ? ".1" : ".2 -3 -.1");
          break;
        default:
          text +=
              format("<general {} gaintype='affine' gainprm='{}' biastype='affine' biasprm='{:.3f} {:.3f} {:.3f}'/>",
                     more, vector(3, 1), range(-1, 1), range(-5, 0), range(-0.5, 0));
      }
    }
    return text + "</actuator>";
  }

  std::uint64_t state_;
  int dofs_ = 0, joints_ = 0, tendons_ = 0, type_ = 0;
  std::vector<int> geom_types_;
  std::vector<std::string> bodies_, geoms_, scalars_, balls_, frees_;
};

}  // namespace

std::string random_mjcf(unsigned seed) { return Generator(seed).model(); }

}  // namespace hotloop
