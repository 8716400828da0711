// Pulling and turning a body with the mouse: a damped spring between where the body is and where the mouse wants it;
// with time standing still the body itself is moved.
#pragma once
#include <glm/glm.hpp>
#include <glm/gtc/quaternion.hpp>
#include <span>
#include <vector>

#include "viz/scene/camera.h"
#include "viz/source/world_source.h"

namespace hotloop {

class Perturb {
 public:
  enum class Kind { none, translate, rotate };

  Kind kind() const { return kind_; }
  bool active() const { return kind_ != Kind::none; }

  // point: of the body, in its world's coordinates.
  void begin(Kind kind, const VisualModel& model, int frame, const glm::vec3& point, std::span<const Frame> frames);
  // A move of the mouse as parts of the picture's height, y down, seen by `camera`.
  void move(float dx, float dy, const Camera& camera);
  // Once a picture while active: the force, or with `paused` the pose. seconds: since the last picture, simulated.
  void apply(WorldSource& source, std::int64_t world, std::span<const Frame> frames, bool paused, double seconds,
             const WorldReport& report);
  // Ends the force.
  void end(WorldSource& source, std::int64_t world);

  int frame() const { return frame_; }
  // Ends of the spring, in the world's coordinates.
  glm::vec3 from(std::span<const Frame> frames) const;
  const glm::vec3& to() const { return target_; }

 private:
  void apply_force(WorldSource& source, std::int64_t world, std::span<const Frame> frames, double seconds);
  void apply_pose(WorldSource& source, std::int64_t world, std::span<const Frame> frames, const WorldReport& report);

  Kind kind_ = Kind::none;
  int frame_ = -1;
  float mass_ = 1, inertia_ = 1;  // [kg], [kg m^2] of what hangs together with the body
  glm::vec3 local_{0};            // the point in the body
  glm::vec3 target_{0}, last_point_{0};
  glm::quat target_turn_{1, 0, 0, 0}, last_turn_{1, 0, 0, 0};
};

}  // namespace hotloop
