// Small random MJCF models within what is supported: for tests that want many different ones.
#pragma once
#include <random>
#include <string>

namespace hotloop {

struct RandomModelOptions {
  int max_bodies = 8;
  double margin = 0;      // of every geom on average
  bool together = false;  // all geoms around one point, so that all touch
};

inline std::string random_number(std::mt19937& rng, double low, double high) {
  return std::to_string(std::uniform_real_distribution<double>(low, high)(rng));
}

inline std::string random_vector(std::mt19937& rng, double size) {
  return random_number(rng, -size, size) + " " + random_number(rng, -size, size) + " " +
         random_number(rng, -size, size);
}

inline int random_index(std::mt19937& rng, int n) { return std::uniform_int_distribution<int>(0, n - 1)(rng); }

// A geom of one of the types that collide with each other in every combination (box and cylinder never meet here).
inline std::string random_geom(std::mt19937& rng, const std::string& name, bool world, const RandomModelOptions& o) {
  const char* types[] = {"sphere", "capsule", "capsule", "sphere"};
  const int kind = random_index(rng, 6);
  std::string type = kind < 4 ? types[kind] : kind == 4 && world ? "plane" : "capsule";
  std::string mask;
  if (kind == 5) {  // boxes and cylinders: bits of their own, met by everything else and not by each other
    type = random_index(rng, 2) ? "box" : "cylinder";
    mask = " contype=\"4\" conaffinity=\"0\"";
  } else {
    mask = " contype=\"" + std::to_string(random_index(rng, 4)) + "\" conaffinity=\"" +
           std::to_string(random_index(rng, 8)) + "\"";
  }
  std::string text = "<geom name=\"" + name + "\" type=\"" + type + "\"" + mask;
  text += " size=\"" + random_number(rng, 0.05, 0.2) + " " + random_number(rng, 0.05, 0.2) + " " +
          random_number(rng, 0.05, 0.2) + "\"";
  text += " pos=\"" + random_vector(rng, o.together ? 0.01 : 0.3) + "\" euler=\"" + random_vector(rng, 90) + "\"";
  text += " margin=\"" + random_number(rng, 0, 2 * o.margin) + "\" gap=\"" + random_number(rng, 0, 0.01) + "\"";
  text += " friction=\"" + random_number(rng, 0, 1.5) + "\" condim=\"" + (random_index(rng, 2) ? "1" : "3") + "\"";
  if (random_index(rng, 3) == 0) text += " priority=\"" + std::to_string(random_index(rng, 2)) + "\"";
  if (random_index(rng, 3) == 0) text += " solmix=\"" + random_number(rng, 0, 2) + "\"";
  const int reference = random_index(rng, 6);
  if (reference < 2) text += " solref=\"" + random_number(rng, 0.01, 0.1) + " 0.9\"";
  if (reference == 2) text += " solref=\"-" + random_number(rng, 10, 100) + " -3\"";
  if (random_index(rng, 3) == 0) text += " solimp=\"0.8 0.9 " + random_number(rng, 0.001, 0.1) + "\"";
  return text + "/>";
}

inline std::string random_pair(std::mt19937& rng, const std::string& geom1, const std::string& geom2) {
  std::string text =
      "<pair geom1=\"" + geom1 + "\" geom2=\"" + geom2 + "\" margin=\"" + random_number(rng, 1, 2) + "\"";
  if (random_index(rng, 2)) text += " condim=\"3\" friction=\"" + random_vector(rng, 1) + " 0.1 0.1\"";
  if (random_index(rng, 2)) text += " solref=\"0.03 1\" gap=\"0.01\"";
  return text + "/>";
}

// Bodies with up to three geoms each, on a tree with joints of all types, some without any; pairs and excludes.
inline std::string random_model(std::mt19937& rng, const RandomModelOptions& o) {
  const int bodies = 2 + random_index(rng, o.max_bodies - 1);
  std::string world, contact, open;
  int geoms = 0;
  const auto add_geoms = [&](int count, bool in_world) {
    for (int i = 0; i < count; ++i) world += random_geom(rng, "g" + std::to_string(geoms++), in_world, o);
  };
  add_geoms(random_index(rng, 4), true);
  int depth = 0;
  for (int b = 1; b <= bodies; ++b) {
    while (depth > 0 && random_index(rng, 3) == 0) {
      world += "</body>";
      --depth;
    }
    world += "<body name=\"b" + std::to_string(b) + "\" pos=\"" + random_vector(rng, o.together ? 0.01 : 0.3) + "\">";
    world += "<inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"0.1 0.1 0.1\"/>";
    const char* joints[] = {"ball", "hinge", "slide"};
    const int joint = b == 1 ? 1 : random_index(rng, 5);
    if (joint == 4 && depth == 0) world += "<freejoint/>";
    if (joint < 3) world += std::string("<joint type=\"") + joints[joint] + "\" axis=\"0 1 1\"/>";
    if (joint == 1) world += "<joint type=\"hinge\" axis=\"1 0 0\"/>";
    add_geoms(1 + random_index(rng, 3), false);
    ++depth;
  }
  while (depth-- > 0) world += "</body>";
  for (int i = random_index(rng, 3); i > 0; --i) {
    const int b1 = 1 + random_index(rng, bodies), b2 = 1 + random_index(rng, bodies);
    contact += "<exclude body1=\"b" + std::to_string(b1) + "\" body2=\"b" + std::to_string(b2) + "\"/>";
  }
  // next to each other in the list, so that no two are the same; not those of which we support few combinations
  for (int g1 = 0; g1 + 1 < geoms; g1 += 2) {
    const int g2 = g1 + 1;
    const auto few = [&](int g) {
      const std::size_t at = world.find("\"g" + std::to_string(g) + "\" type=\"");
      const std::string type = world.substr(world.find("type", at) + 6, 3);
      return type == "box" || type == "cyl" || type == "pla";
    };
    if (random_index(rng, 3) || (few(g1) && few(g2))) continue;
    contact += random_pair(rng, "g" + std::to_string(g1), "g" + std::to_string(g2));
  }
  std::string flags;
  if (random_index(rng, 4) == 0) flags += " filterparent=\"disable\"";
  if (random_index(rng, 4) == 0) flags += " midphase=\"disable\"";
  return "<mujoco><option><flag" + flags + "/></option><worldbody>" + world + "</worldbody><contact>" + contact +
         "</contact></mujoco>";
}

}  // namespace hotloop
