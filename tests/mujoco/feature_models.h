// Small models, one feature or one collision pair each, for comparison with MuJoCo's library.
#pragma once
#include <string>
#include <vector>

namespace hotloop {

struct FeatureModel {
  std::string name, xml;
  double speed = 1;         // of the first state's random velocities
  double displacement = 0;  // of its positions
};

std::vector<FeatureModel> joint_models();
std::vector<FeatureModel> force_models();
std::vector<FeatureModel> contact_models();
// Contacts of condim 3 with less friction than single precision can tell from none.
std::vector<FeatureModel> slippery_models();
std::vector<FeatureModel> solver_models();
// A person of our own making: 27 degrees of freedom, capsules and spheres, limits, springs. `copies` of them lie in a
// row, near enough to touch.
FeatureModel humanoid_model(int copies);

// <mujoco> around an option element, the world's content, and what follows it.
std::string mjcf(const std::string& option, const std::string& world, const std::string& rest = "");
// A chain of n links, each a capsule with this joint element.
std::string chain(int n, const std::string& joint, const std::string& geom_attributes = "contype='0' conaffinity='0'");

}  // namespace hotloop
