// Logs come from anywhere, and HDF5's library may crash over a damaged one: they are read once in a process of its own
// before this one opens them.
#pragma once
#include <string>

#include "app/cli.h"

namespace hotloop {

// False after a line on stderr that says why not.
bool log_is_readable(const std::string& path);
// The hidden command that reads.
void add_log_check(Cli& cli);

}  // namespace hotloop
