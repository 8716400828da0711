// Poses of frames in the vectors that drawing computes with.
#pragma once
#include <glm/glm.hpp>
#include <glm/gtc/quaternion.hpp>
#include <span>

#include "sim/core/visual.h"

namespace hotloop {

glm::vec3 as_vec3(const Float3& v);
glm::vec3 position(const Frame& frame);
glm::quat rotation(const Frame& frame);

// Centre of mass of the bodies below `frame`, and of itself.
glm::vec3 subtree_com(const VisualModel& model, int frame, std::span<const Frame> frames);

// Where a camera or light looks at that is aimed at frame `target`.
glm::vec3 target_point(const VisualModel& model, FollowMode mode, int target, std::span<const Frame> frames);

}  // namespace hotloop
