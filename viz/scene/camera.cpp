#include "viz/scene/camera.h"

#include <cmath>
#include <glm/gtc/matrix_transform.hpp>
#include <glm/gtc/quaternion.hpp>

namespace hotloop {
namespace {

glm::quat turned(const glm::vec4& q) { return {q[0], q[1], q[2], q[3]}; }

}  // namespace

glm::vec3 Camera::eye() const {
  if (posed) return pos;
  // azimuth about z and elevation are those of the looking direction, as in MuJoCo
  const float a = glm::radians(azimuth), e = glm::radians(elevation);
  return lookat - distance * glm::vec3(std::cos(e) * std::cos(a), std::cos(e) * std::sin(a), std::sin(e));
}

glm::mat4 Camera::view() const {
  if (posed) {
    const glm::mat4 turn = glm::mat4_cast(glm::conjugate(turned(quat)));
    return glm::translate(turn, -pos);
  }
  const float a = glm::radians(azimuth), e = glm::radians(elevation);
  const glm::vec3 up(-std::sin(e) * std::cos(a), -std::sin(e) * std::sin(a), std::cos(e));
  return glm::lookAt(eye(), lookat, up);
}

glm::mat4 Camera::projection(float aspect) const { return glm::perspective(glm::radians(fovy), aspect, znear, zfar); }

glm::vec3 Camera::ray(float x, float y, float aspect) const {
  const float h = std::tan(glm::radians(fovy) / 2);
  const glm::vec3 local(x * h * aspect, y * h, -1);
  return glm::normalize(glm::mat3(glm::transpose(view())) * local);
}

bool project(const Camera& camera, const glm::vec3& point, int width, int height, glm::vec2& pixel) {
  const float w = static_cast<float>(width), h = static_cast<float>(height);
  const glm::vec4 clip = camera.projection(w / h) * camera.view() * glm::vec4(point, 1);
  if (clip.w <= 0) return false;
  pixel = {(clip.x / clip.w + 1) * 0.5f * w, (1 - clip.y / clip.w) * 0.5f * h};
  return true;
}

Camera start_camera(const VisualModel& model) {
  Camera camera;
  camera.lookat = {model.center[0], model.center[1], model.center[2]};
  camera.azimuth = model.azimuth;
  camera.elevation = model.elevation;
  camera.distance = model.distance * model.extent;
  camera.znear = model.znear * model.extent;
  camera.zfar = model.zfar * model.extent;
  return camera;
}

}  // namespace hotloop
