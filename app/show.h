// How commands show worlds: as pictures and films without a window, and in one.
#pragma once
#include <string>

#include "viz/headless.h"
#include "viz/source/world_source.h"

namespace hotloop {

// A line on stderr.
void say(const std::string& line);

// All worlds, or one as the camera of this name sees it (empty: that at the start). Ends early where a stop was asked
// for.
HeadlessReport show_headless(WorldSource& source, HeadlessOptions options, const std::string& camera);

}  // namespace hotloop
