// Observation and action spaces as Gymnasium's and Minari's JSON: unbounded ends are Infinity, which Python's json
// reads and writes and which JSON libraries would turn into null.
#pragma once
#include <string>

#include "sim/core/env.h"

namespace hotloop {

std::string space_json(const BoxSpace& space);
std::string space_json(const ActionSpace& space);

// The way back. Error starting with `where` for a text that is no such space.
BoxSpace box_of_json(const std::string& text, const std::string& where);
ActionSpace action_space_of_json(const std::string& text, const std::string& where);

}  // namespace hotloop
