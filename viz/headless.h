// Pictures and films without a window: frames as PNG files, or a film through ffmpeg.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "viz/scene/scene.h"

namespace hotloop {

struct HeadlessOptions {
  std::int64_t frames = 1;
  std::string out;    // folder of frame_000000.png ...; "": none
  std::string video;  // file; without ffmpeg its frames become PNG files in a folder beside it; "": none
  int width = 1280, height = 720;
  double frames_per_second = 0;  // 0: one for each control step, at most 60
  double speed = 1;              // seconds of the worlds in a second of the film
  WorldGrid grid;
  SceneFlags flags;
  SceneQuality quality;
  std::optional<Camera> camera;  // none: grid_camera()
  // Called before each frame: may move the camera and fill in the aids. world: frames of the selected world, which
  // stands at `offset`.
  struct Moment {
    std::int64_t frame;
    const std::vector<Frame>& world;
    Float3 offset;
    Camera& camera;
    SceneOverlay& overlay;
  };
  std::function<void(const Moment&)> before_frame;
  std::function<bool()> stop;                    // asked before each frame; a film then ends early, but whole
  std::function<void(const std::string&)> warn;  // a line that the user should see
};

struct HeadlessReport {
  std::int64_t frames = 0;
  double seconds = 0;
  SceneStats stats;
  std::string path, renderer;  // FrameBuffer::path(), describe_gl()
  std::string written;         // the folder or file
  // "300 frames in 4.1 s (73 frames/s), 832 of 832 shapes, 61.2 k triangles, 2.31 ms of the GPU; interop; OpenGL 4.5,
  // ..."
  std::string line() const;
};

// Error, one line, for a folder that holds frames already, a bad file name, no OpenGL, a full disk, a failing ffmpeg.
HeadlessReport render_headless(WorldSource& source, const HeadlessOptions& options);

// A free camera that sees all worlds of a grid.
Camera grid_camera(const VisualModel& model, const WorldGrid& grid);

}  // namespace hotloop
