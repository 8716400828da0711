// What the viewer shows and does, as plain state: panels, keys and mouse read and change it, the loop in viz/viewer.cpp
// acts on it.
#pragma once
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "viz/scene/scene.h"
#include "viz/source/world_source.h"
#include "viz/ui/camera_control.h"
#include "viz/ui/pacer.h"
#include "viz/ui/panel_state.h"
#include "viz/ui/perturb.h"
#include "viz/ui/recorder.h"

namespace hotloop {

// What is remembered between runs, with the layout.
struct ViewSettings {
  bool light = false, shortcuts = true, vsync = true;
  float font_scale = 1;
  bool left = true, right = true, bottom = true;  // columns of panels
  std::map<std::string, bool> closed;             // panels, by name
};

// Actions by hand, for the selected world.
struct HandControl {
  bool active = false;
  std::int64_t world = 0;
  std::vector<float> action;
};

enum class ShotKind { none, scene, window };

struct View {
  explicit View(WorldSource& worlds);

  WorldSource& source;
  ViewSettings settings;
  Pacer pacer;
  CameraControl camera;
  SceneFlags flags;
  Recorder recorder, partner;  // of the selected world, and of the other log's beside it
  Perturb perturb;
  bool push_refused = false;  // in the drag under way
  HandControl hand;

  // ---- which worlds
  std::int64_t first = 0, count = 1;  // that the grid shows
  std::int64_t selected = 0;
  bool alone = false;  // only the selected one
  float spacing = 0;   // [m]; 0: chosen
  WorldGrid grid() const;
  std::int64_t max_shown = 1;  // room for frames
  void select_world(std::int64_t world);
  void go_to(const WorldSource::EpisodeMark& mark, bool end);
  // What the selected world is called in titles.
  std::string selected_name() const;
  // Of all worlds; of a training what it reports, 0 before it has.
  double steps_per_second() const;
  // That with the best or worst return of its running episode.
  void select_extreme_world(bool best);
  int selected_frame = -1;  // body; -1: none

  // ---- requests to the loop, done once
  ShotKind shot = ShotKind::none;
  bool quit = false, reset_layout = false, full_screen = false;
  bool help = false;
  bool info = false, profiler = false;  // over the scene, as simulate's F2 and F3
  bool layout_failed = false;           // it was said
  bool drawing = true;                  // false: the card is left to whoever else computes

  // ---- what the loop found
  std::vector<Frame> frames;  // of the selected world, as drawn last
  Camera drawn_camera;
  float image_x = 0, image_y = 0, image_width = 1, image_height = 1;  // of the scene in the window [pixels]
  SceneStats stats;
  std::string frame_path, renderer, quality;
  double frame_seconds = 0, picture_rate = 0;  // [s], [1/s]
  double step_seconds = 0;                     // [s] of the last picture, for the worlds
  std::deque<std::string> messages;            // newest last
  std::int64_t said = 0;                       // messages ever
  void say(const std::string& line);
  std::string notice;  // stands over the picture and in the window's title

  PanelState panel;

  // ---- by hand
  void take_over();
  void set_action(std::size_t component, float value);
  void release();
  void set_qpos(std::size_t index, float value);
};

}  // namespace hotloop
