// The picture of the worlds in the middle of the window: poses go to the GPU, the scene is drawn into a texture, labels
// and hints over it, and the mouse acts on it.
#pragma once
#include <cstdint>
#include <vector>

#include "viz/gl/frame_buffer.h"
#include "viz/gl/objects.h"
#include "viz/scene/scene.h"
#include "viz/ui/view.h"

namespace hotloop {

class SceneView {
 public:
  // A GL context must be current. Decides how many worlds are shown at first.
  SceneView(View& view, const SceneQuality& quality);

  // The ImGui window with the picture. seconds: simulated since the last one.
  void draw(View& view, double seconds);
  // The picture's colours, the top row first: [height][width][3].
  std::vector<std::uint8_t> pixels(int& width, int& height) const;

 private:
  void take_frames(View& view);
  void draw_scene(View& view);
  SceneOverlay overlay(View& view) const;
  void latest_message(const View& view);

  Scene scene_;
  FrameBuffer frames_;
  RenderTarget target_{1};
  std::int64_t said_ = 0;  // messages seen
  double said_at_ = 0;     // when the last of them came [s]
};

}  // namespace hotloop
