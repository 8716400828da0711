// What of MuJoCo's models we step, in one table: the loader refuses the rest, and the README shows it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/mujoco/model.h"

struct mjModel_;
typedef struct mjModel_ mjModel;

namespace hotloop {

enum class Support : int {
  yes,      // stepped as MuJoCo does
  ignored,  // read, without effect on the physics
  no,       // an Error before the first step
};

// What a model has of a feature that we refuse.
struct Finding {
  std::string element, value;
};

struct Feature {
  const char* group;
  const char* name;  // in MJCF's words
  Support support;
  const char* accepted = "";                                 // no: what is accepted in its place
  std::optional<Finding> (*find)(const mjModel*) = nullptr;  // no: the first element that uses it
};

const std::vector<Feature>& features();

// Two geom types (mjtGeom, ascending) and our collision function for them.
struct Collision {
  PairKind kind;
  int type1, type2;
};
const std::vector<Collision>& collisions();
// "plane with sphere, capsule; sphere with ...".
std::string collisions_text();
const char* geom_type_name(int type);

// Error, one line, for the first element of the model that we do not support.
void check_features(const mjModel* m, const std::string& path);

// The table as the README shows it.
std::string features_markdown();

}  // namespace hotloop
