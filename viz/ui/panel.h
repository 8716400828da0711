// The panels around the scene: one table, each drawn by a function in a file of its own under viz/ui/panels.
#pragma once
#include <span>
#include <string>

#include "viz/ui/view.h"

namespace hotloop {

inline constexpr const char* kSceneWindow = "Scene";

struct Panel {
  enum class Place { top_left, low_left, right, bottom };
  const char* name;
  const char* tip;
  Place place;
  void (*draw)(View&);
};
std::span<const Panel> panels();

// All that are open and whose column is shown.
void draw_panels(View& view);
void draw_menus(View& view);

// ---- for panels
// A grey line, such as why there is nothing to show.
void unavailable(const char* why);
// What the item before does, after a moment of hovering.
void tip(const char* text);
// Whether a value that was typed is a number; else the log says that nothing was changed.
bool is_number(View& view, const std::string& name, double value);
// Once in `seconds` of the clock for each `key`: whether to ask the source again for something large.
bool due(View& view, const char* key, double seconds);
// The next item goes beside the one before where the panel has room for it, else below: so wide, or a button, a box to
// check or a choice with this label.
void beside(float width);
void beside(const char* label);
// So much room beside sliders for their labels, in heights of the text or for the widest label; less in a narrow panel.
void push_label_room(float heights);
void push_label_room(std::span<const std::string> labels);
// A choice of text by buttons side by side, as ImGui's RadioButton.
bool choice(const char* label, bool& value, bool means);
// "1.234e+06 steps/s" of all worlds.
std::string speed_text(const View& view);
// In a plot: a signal of the selected world over time, and that of the world beside it where two logs are compared.
void plot_signal(const View& view, const Signal& signal);
// A text field for a filter, and whether `name` passes it (case does not matter).
void filter_field(std::string& filter);
bool passes(const std::string& filter, const std::string& name);

void draw_simulation(View& view);
void draw_worlds(View& view);
void draw_camera(View& view);
void draw_rendering(View& view);
void draw_joints(View& view);
void draw_controls(View& view);
void draw_physics(View& view);
void draw_contacts(View& view);
void draw_rewards(View& view);
void draw_episode_statistics(View& view);
void draw_training(View& view);
void draw_distributions(View& view);
void draw_tensors(View& view);
void draw_watch(View& view);
void draw_machine(View& view);
void draw_log(View& view);
void draw_episodes(View& view);

}  // namespace hotloop
