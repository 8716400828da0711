// The viewer's camera: MuJoCo's free camera (azimuth, elevation, distance about a point), a camera of the model, or one
// that follows a frame.
#pragma once
#include <glm/glm.hpp>

#include "sim/core/visual.h"

namespace hotloop {

struct Camera {
  glm::vec3 lookat{0};
  float azimuth = 90, elevation = -20, distance = 3;  // [deg], [deg], [m]
  float fovy = 45;                                    // [deg]
  // Set by a camera of the model instead of the above: where it stands and how it is turned.
  bool posed = false;
  glm::vec3 pos{0};
  glm::vec4 quat{1, 0, 0, 0};  // w x y z; looks along -z, y is up
  float znear = 0.01f, zfar = 100;

  glm::vec3 eye() const;
  glm::mat4 view() const;
  glm::mat4 projection(float aspect) const;
  // Direction from the eye through a point of the image, x and y in [-1, 1], y up.
  glm::vec3 ray(float x, float y, float aspect) const;
};

// The pixel (x right, y down) of a point of the picture; false where it is behind the camera.
bool project(const Camera& camera, const glm::vec3& point, int width, int height, glm::vec2& pixel);

// Where `model` says that one should look first; in metres.
Camera start_camera(const VisualModel& model);

}  // namespace hotloop
