// How commands show worlds: as pictures and films without a window, and in one.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "viz/headless.h"
#include "viz/source/world_source.h"

namespace hotloop {

// A line on stderr.
void say(const std::string& line);

// --quality as typed ("": not given), and what it means.
void add_quality_flag(CLI::App& command, std::string& text);
Quality parse_quality(const std::string& text);
// Of pictures that are kept, which are worth the time.
SceneQuality picture_quality(Quality choice);

// All worlds, or one as the camera of this name sees it (empty: that at the start). Ends early where a stop was asked
// for.
HeadlessReport show_headless(WorldSource& source, HeadlessOptions options, const std::string& camera);

}  // namespace hotloop
