// Where the camera is: free about a point, following a body, or one of the model's own; and what the mouse does to it.
#pragma once
#include <glm/glm.hpp>
#include <span>
#include <string>

#include "sim/core/visual.h"
#include "viz/scene/camera.h"

namespace hotloop {

class CameraControl {
 public:
  enum class Mode { free, track, fixed };

  explicit CameraControl(const VisualModel& model);

  Mode mode() const { return mode_; }
  int frame() const { return frame_; }  // that is followed
  int fixed() const { return fixed_; }  // of VisualModel::cameras
  std::string name() const;  // "free", "track torso", "track torso, the grid with it", or the model's name of it
  Camera& orbit() { return orbit_; }  // what free and track cameras look from
  const Camera& orbit() const { return orbit_; }

  void set_free();
  void track(int frame);
  void set_fixed(int index);
  // By the model's name of it. Error, one line, where it has none of that name.
  void set_fixed(const std::string& name);
  // free, track (where the model says what is worth following), then the model's cameras; and around.
  void cycle(int direction);
  // As at the start: looks from `first` at one world alone or at a grid of them, and goes along with what the model
  // says is worth following; a grid with that of the selected world.
  void align(const Camera& first, bool grid);

  // Moves of the mouse as parts of the picture's height, y down. Any of them leaves a camera of the model.
  void rotate(float dx, float dy);
  void pan(float dx, float dy, bool horizontal);
  void zoom(float steps);
  void center(const glm::vec3& point);

  // The camera of this picture. frames: those of the selected world, offset: where it stands in the grid.
  Camera camera(std::span<const Frame> frames, const Float3& offset);

 private:
  void leave_fixed();

  const VisualModel& model_;
  Mode mode_ = Mode::free;
  int frame_ = 0, fixed_ = 0;
  bool whole_grid_ = false;   // track: the grid stays in the middle of the picture, not the frame
  glm::vec3 grid_middle_{0};  // then, while the frame is at its world's origin
  Camera orbit_, last_;
};

// A camera of the model, in the coordinates of the world that `frames` belong to.
Camera model_camera(const VisualModel& model, int index, std::span<const Frame> frames);

}  // namespace hotloop
