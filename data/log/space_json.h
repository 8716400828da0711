// Observation and action spaces as Gymnasium's and Minari's JSON: unbounded ends are Infinity, which Python's json
// reads and writes and which JSON libraries would turn into null.
#pragma once
#include <string>

#include "sim/core/env.h"

namespace hotloop {

std::string space_json(const BoxSpace& space);
std::string space_json(const ActionSpace& space);

}  // namespace hotloop
