// What a run was made on and with: machine.json in its folder.
#pragma once
#include <string>
#include <vector>

#include "sim/core/device.h"

namespace hotloop {

// JSON, indented: time, host, system, CPU, cores, memory, the card if `device` is one, hotloop's version, compiler,
// command line, and the git commit where `git_commit` is not empty. What the machine does not tell is left out.
std::string describe_machine(const std::vector<std::string>& command_line, Device device,
                             const std::string& git_commit = "");

}  // namespace hotloop
