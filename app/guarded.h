// Runs one of this program's hidden commands in a process of its own: HDF5's library may crash, loop or ask for all
// memory over a damaged file.
#pragma once
#include <string>
#include <vector>

namespace hotloop {

// Its exit status. What it writes to stdout goes where this process' does, its line on stderr too unless it crashes.
// Where it crashes, or computes longer than the size of `path`, which it reads, explains: one line on stderr and
// status 2. It ends with this process, and where stop_status() says so; then that is the status. `child` receives the
// number of the process, which is gone.
int run_guarded(const std::vector<std::string>& arguments, const std::string& path, long* child = nullptr);
// To be called in that process: bounds its memory and its life.
void enter_guard();

}  // namespace hotloop
