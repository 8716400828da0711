// Draws worlds of one VisualModel. The frames of the worlds lie in a GL buffer; everything else is decided on the GPU:
// culling, level of detail, and the list of what is drawn.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/visual.h"
#include "viz/scene/camera.h"
#include "viz/source/world_source.h"

namespace hotloop {

// What is drawn; names and first letters are those of MuJoCo's visual flags.
struct SceneFlags {
  bool shadow = true, reflection = true, skybox = true, fog = false, haze = true, wireframe = false, texture = true;
  bool transparent = false;  // dynamic shapes half transparent
  bool joints = false, com = false, inertia = false, frames = false, labels = false;
  bool contacts = false, contact_forces = false, perturbation = true, lights = false, cameras = false;
  bool static_shapes = true;  // those of frame 0
  bool groups[6] = {true, true, true, false, false, false};
  bool site_groups[6] = {true, true, true, false, false, false};
  bool light_theme = false;  // background where the model has no skybox
};

// The worlds stand in a square grid, `spacing` apart (0: chosen from the model's extent); or one alone.
struct WorldGrid {
  std::int64_t first = 0, count = 1;  // worlds shown
  float spacing = 0;
  std::int64_t selected = 0;  // gets contacts, labels and other aids
};

struct SceneOverlay {  // aids of the selected world
  std::vector<ShownContact> contacts;
  int selected_frame = -1;
  bool perturbing = false;
  Float3 perturb_from{}, perturb_to{};  // world frame
};

struct SceneStats {
  std::int64_t instances = 0, drawn = 0, triangles = 0;
  double gpu_milliseconds = 0;  // of an earlier frame
  float scale = 1;              // of the sides of the last frame, as it was drawn
};

class FrameBuffer;  // viz/gl/frame_buffer.h: frames of worlds in a GL buffer

// How well it is drawn; what takes part of the time that a software renderer has.
struct SceneQuality {
  int samples = 4;         // of a pixel (MSAA); 1: one
  int shadow_size = 4096;  // [pixels] of the shadow map's side
  bool soft_shadows = true;
  bool floor_gloss = true;  // floors reflect the lights themselves
  float detail = 1;         // of curved shapes; at 0.5 they have as many triangles as at half their size
  double budget = 0;        // [ms] of a picture, drawn smaller to keep it; needs samples 1; 0: none
  bool cull = true;         // tests: false draws what is out of view too
  int fixed_level = -1;     // tests: level of detail of all shapes, 0 to 4; -1: by size
};
enum class Quality : std::uint8_t { automatic, high, low };
// automatic: high, but low with a budget where OpenGL runs on the CPU; for this a context must be current.
SceneQuality scene_quality(Quality choice);
// What is left out of it, for the user; "" where nothing is.
std::string describe(const SceneQuality& quality);

class Scene {
 public:
  // A GL context must be current, now and in every call. `model` must outlive the scene.
  explicit Scene(const VisualModel& model, const SceneQuality& quality = {});
  ~Scene();

  struct Target {
    unsigned framebuffer = 0;  // GL name; 0: the window
    int width = 0, height = 0;
  };
  void draw(const FrameBuffer& frames, const WorldGrid& grid, const Camera& camera, const SceneFlags& flags,
            const SceneOverlay& overlay, const Target& target);

  // What lies under a point of the image (x right, y down, in pixels): world, frame and point, as drawn last.
  struct Hit {
    std::int64_t world = -1;
    int frame = -1, shape = -1;
    Float3 point{};  // in the hit world's own coordinates
  };
  Hit pick(int x, int y);

  // Of a frame some frames ago: nothing waits for the GPU.
  const SceneStats& stats() const;     // of an earlier frame, or of none yet
  const SceneStats& wait_for_stats();  // of the last one; waits for the GPU

  // How many worlds of the model one picture may hold: OpenGL bounds the arrays that shaders read and write. A context
  // must be current.
  static std::int64_t most_worlds(const VisualModel& model);
  // Of world `world` in the picture: add to its coordinates.
  static Float3 world_offset(const WorldGrid& grid, const VisualModel& model, std::int64_t world);

  struct Parts;  // viz/scene/scene_parts.h

 private:
  std::unique_ptr<Parts> parts_;
};

}  // namespace hotloop
