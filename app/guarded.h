// Runs one of this program's hidden commands in a process of its own: HDF5's library may crash, loop or ask for all
// memory over a damaged file.
#pragma once
#include <string>
#include <vector>

namespace hotloop {

// Its exit status. What it writes to stdout goes where this process' does, its line on stderr too unless it crashes.
// Where it crashes, or computes longer than the size of `path`, which it reads, explains: one line on stderr and
// status 2.
int run_guarded(const std::vector<std::string>& arguments, const std::string& path);
// To be called in that process: bounds its memory.
void limit_memory();

}  // namespace hotloop
