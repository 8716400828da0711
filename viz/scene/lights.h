// Lights of a picture as the shaders read them, and from where the shadow map is drawn.
#pragma once
#include <span>
#include <vector>

#include "viz/scene/scene.h"

namespace hotloop {

constexpr int kMaxLights = 8, kMaxShadows = 4;

// As in shaders/lighting.glsl (std140).
struct GpuLight {
  glm::vec4 pos, dir, ambient, diffuse, specular, attenuation;
};
struct GpuLights {
  GpuLight lights[kMaxLights];
  glm::mat4 shadow_from_world[kMaxShadows];
  glm::vec4 head_ambient, head_diffuse, head_specular, forward, fog;
};
static_assert(sizeof(GpuLights) == kMaxLights * 96 + kMaxShadows * 64 + 5 * 16);

struct Box {
  glm::vec3 low, high;
};

// Depth 0 to 1 for a clip matrix of OpenGL's usual convention; reversed: 1 near, 0 far, which keeps precision.
glm::mat4 depth_zero_to_one(const glm::mat4& clip, bool reversed);

struct ShadowView {
  glm::mat4 clip_from_world{1};  // depth 0 to 1
  glm::vec3 eye{0};
  bool parallel = true;
  float width = 1;  // [m] of a directional light's map; of a spot light's at distance 1
};

struct LightSet {
  GpuLights gpu{};
  int count = 0;
  std::vector<ShadowView> shadows;  // of the first lights, one each
  bool some_with_place = false;
};

// Lights of the model that cast shadows, as far as there are shadow maps for them.
int count_shadows(const VisualModel& model);

// All but the fog. `frames`: of the world shown alone, whose lights may be on its bodies; empty for a grid, in which
// lights with a place become directional. shown: where worlds are. seen: corners of what the camera sees. shadow_size:
// pixels of a map's side; 0: no shadows.
LightSet collect_lights(const VisualModel& model, int shadow_size, std::span<const Frame> frames,
                        const glm::vec3& forward, const Box& shown, std::span<const glm::vec3> seen);

// Where a light is in a world with these frames, and where it shines.
struct LightPose {
  glm::vec3 pos, dir;
};
LightPose light_pose(const VisualModel& model, const VisualLight& light, std::span<const Frame> frames);

glm::vec3 turned(const float* quat, const glm::vec3& v);

}  // namespace hotloop
