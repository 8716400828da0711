#include "viz/scene/lights.h"

#include <algorithm>
#include <cmath>
#include <glm/gtc/matrix_transform.hpp>
#include <glm/gtc/quaternion.hpp>

#include "viz/scene/poses.h"

namespace hotloop {
namespace {

glm::vec4 as_vec4(const Float3& v, float w = 0) { return {v[0], v[1], v[2], w}; }

// Corner i (0 to 7) of a box.
glm::vec3 corner(const Box& box, int i) {
  return {(i & 1) != 0 ? box.high.x : box.low.x, (i & 2) != 0 ? box.high.y : box.low.y,
          (i & 4) != 0 ? box.high.z : box.low.z};
}

void grow(Box& box, const glm::vec3& p) {
  box.low = glm::min(box.low, p);
  box.high = glm::max(box.high, p);
}

const Box kNothing{glm::vec3(1e30f), glm::vec3(-1e30f)};

glm::mat4 looking_along(const glm::vec3& from, const glm::vec3& dir) {
  const glm::vec3 up = std::abs(dir.z) > 0.99f ? glm::vec3(0, 1, 0) : glm::vec3(0, 0, 1);
  return glm::lookAt(from, from + dir, up);
}

// A directional light's map covers what both casts or takes shadows and is seen.
ShadowView directional_shadow(const glm::vec3& dir, const Box& shown, std::span<const glm::vec3> seen) {
  const glm::mat4 view = looking_along(glm::vec3(0), dir);
  Box casters = kNothing, visible = kNothing;
  for (int i = 0; i < 8; ++i) grow(casters, glm::vec3(view * glm::vec4(corner(shown, i), 1)));
  for (const glm::vec3& p : seen) grow(visible, glm::vec3(view * glm::vec4(p, 1)));
  const glm::vec3 low = glm::max(casters.low, visible.low), high = glm::min(casters.high, visible.high);
  const float depth = casters.high.z - casters.low.z;
  if (high.x <= low.x || high.y <= low.y) return {};
  const glm::mat4 ortho =
      glm::ortho(low.x, high.x, low.y, high.y, -casters.high.z - 0.1f * depth, -casters.low.z + 0.1f * depth);
  ShadowView shadow;
  shadow.clip_from_world = depth_zero_to_one(ortho * view, false);
  shadow.width = std::max(high.x - low.x, high.y - low.y);
  return shadow;
}

ShadowView spot_shadow(const GpuLight& light, float cutoff, const Box& shown) {
  const glm::vec3 from(light.pos);
  float far = 0.1f;
  for (int i = 0; i < 8; ++i) far = std::max(far, glm::length(corner(shown, i) - from));
  const float angle = glm::radians(std::clamp(2 * cutoff, 10.0f, 150.0f));
  ShadowView shadow;
  shadow.clip_from_world = depth_zero_to_one(
      glm::perspective(angle, 1.0f, far * 0.01f, far * 1.1f) * looking_along(from, glm::vec3(light.dir)), false);
  shadow.eye = from;
  shadow.parallel = false;
  shadow.width = 2 * std::tan(angle / 2);
  return shadow;
}

GpuLight gpu_light(const VisualModel& model, const VisualLight& light, std::span<const Frame> frames) {
  const LightPose pose = light_pose(model, light, frames);
  const bool directional = light.directional || frames.empty();
  return {.pos = glm::vec4(pose.pos, directional ? 1 : 0),
          .dir = glm::vec4(glm::normalize(pose.dir), light.cutoff < 180 ? std::cos(glm::radians(light.cutoff)) : -1.1f),
          .ambient = as_vec4(light.ambient, light.exponent),
          .diffuse = as_vec4(light.diffuse),
          .specular = as_vec4(light.specular),
          .attenuation = as_vec4(light.attenuation)};
}

}  // namespace

glm::vec3 turned(const float* q, const glm::vec3& v) { return glm::quat(q[0], q[1], q[2], q[3]) * v; }

glm::mat4 depth_zero_to_one(const glm::mat4& clip, bool reversed) {
  glm::mat4 remap(1);
  remap[2][2] = reversed ? -0.5f : 0.5f;
  remap[3][2] = 0.5f;
  return remap * clip;
}

int count_shadows(const VisualModel& model) {
  const auto casts = [](const VisualLight& light) { return light.active && light.castshadow; };
  return std::min(kMaxShadows, static_cast<int>(std::count_if(model.lights.begin(), model.lights.end(), casts)));
}

LightPose light_pose(const VisualModel& model, const VisualLight& light, std::span<const Frame> frames) {
  LightPose pose{as_vec3(light.pos), as_vec3(light.dir)};
  if (static_cast<int>(frames.size()) != model.num_frames()) return pose;
  const Frame& frame = frames[static_cast<std::size_t>(light.frame)];
  if (light.mode == FollowMode::track || light.mode == FollowMode::trackcom) {
    pose.pos += light.mode == FollowMode::track ? position(frame) : subtree_com(model, light.frame, frames);
    return pose;
  }
  pose.pos = position(frame) + rotation(frame) * pose.pos;
  if (light.mode == FollowMode::fixed || light.target < 0) {
    pose.dir = rotation(frame) * pose.dir;
  } else {
    const glm::vec3 to = target_point(model, light.mode, light.target, frames) - pose.pos;
    if (glm::length(to) > 1e-6f) pose.dir = to;
  }
  return pose;
}

LightSet collect_lights(const VisualModel& model, int shadow_size, std::span<const Frame> frames,
                        const glm::vec3& forward, const Box& shown, std::span<const glm::vec3> seen) {
  LightSet set;
  GpuLights& out = set.gpu;
  if (model.headlight) {
    out.head_ambient = as_vec4(model.headlight_ambient);
    out.head_diffuse = as_vec4(model.headlight_diffuse);
    out.head_specular = as_vec4(model.headlight_specular);
  }
  out.forward = glm::vec4(forward, 0);
  std::vector<const VisualLight*> lights;
  for (const VisualLight& light : model.lights)
    if (light.active && lights.size() < kMaxLights) lights.push_back(&light);
  std::stable_partition(lights.begin(), lights.end(), [](const VisualLight* light) { return light->castshadow; });
  for (const VisualLight* light : lights) {
    const auto at = static_cast<std::size_t>(set.count);
    GpuLight& to = out.lights[set.count++];
    to = gpu_light(model, *light, frames);
    set.some_with_place = set.some_with_place || to.pos.w == 0;
    if (shadow_size == 0 || !light->castshadow || at >= kMaxShadows) continue;
    const ShadowView shadow =
        to.pos.w > 0 ? directional_shadow(glm::vec3(to.dir), shown, seen) : spot_shadow(to, light->cutoff, shown);
    glm::mat4 to_texture(1);  // x and y from [-1, 1] to [0, 1]
    to_texture[0][0] = to_texture[1][1] = to_texture[3][0] = to_texture[3][1] = 0.5f;
    out.shadow_from_world[at] = to_texture * shadow.clip_from_world;
    to.attenuation.w = shadow.width / static_cast<float>(shadow_size);
    set.shadows.push_back(shadow);
  }
  return set;
}

}  // namespace hotloop
