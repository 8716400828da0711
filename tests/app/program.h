// Runs the real program and keeps what it printed.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace hotloop {

struct ProgramResult {
  int status = -1;  // exit status; 128 + signal where one ended it
  bool timed_out = false;
  std::string out, err;
};

// `arguments` without the program's name, run in `folder` with no standard input. Killed after `timeout_seconds`.
ProgramResult run_program(const std::vector<std::string>& arguments, const std::filesystem::path& folder = ".",
                          double timeout_seconds = 20);

}  // namespace hotloop
