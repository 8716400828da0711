// Where panels are, and what else is kept between runs: $XDG_CONFIG_HOME/hotloop/viewer.ini.
#pragma once
#include <string>

#include "viz/ui/view.h"

namespace hotloop {

// $XDG_CONFIG_HOME/hotloop/viewer.ini, or below ~/.config; "" where neither is known.
std::string layout_file();

// Reads `file` and keeps ViewSettings in it along with ImGui's own. A file that cannot be read is said, and the default
// is taken; "" reads nothing.
void load_layout(const std::string& file, View& view);
// Atomically, where something has changed since the last time. A failure is said once.
void save_layout(const std::string& file, View& view);

// The window's whole area as a dockspace: the scene in the middle, panels around it.
void draw_dockspace(View& view);

}  // namespace hotloop
