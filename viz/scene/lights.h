// Lights of a picture as the shaders read them, and from where the shadow map is drawn.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "viz/scene/scene.h"

namespace hotloop {

constexpr int kMaxLights = 8;

// As in shaders/lighting.glsl (std140).
struct GpuLight {
  glm::vec4 pos, dir, ambient, diffuse, specular, attenuation;
};
struct GpuLights {
  GpuLight lights[kMaxLights];
  glm::mat4 shadow_from_world;
  glm::vec4 head_ambient, head_diffuse, head_specular, forward, fog;
};
static_assert(sizeof(GpuLights) == kMaxLights * 96 + 64 + 5 * 16);

struct LightSet {
  GpuLights gpu{};
  int count = 0, shadow_light = -1;  // whose the shadow map is
  bool some_with_place = false;
};

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

// Fills in all but the fog. `frames`: of the world shown alone, whose lights may be on its bodies; empty for a grid, in
// which lights with a place become directional. shown: where worlds are. seen: corners of what the camera sees.
std::optional<ShadowView> collect_lights(const VisualModel& model, bool with_shadow, std::span<const Frame> frames,
                                         const glm::vec3& forward, const Box& shown, std::span<const glm::vec3> seen,
                                         LightSet& out);

glm::vec3 turned(const float* quat, const glm::vec3& v);

}  // namespace hotloop
