// What every wrong input must meet with.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace hotloop {

struct BadInput {
  std::vector<std::string> arguments;
  std::string mentions;   // must stand in the message
  std::string toml = "";  // if not empty, the content of case.toml
};

// Expects of the program, run in `folder`: one line on stderr, nothing on stdout, status 2, soon, and every file of
// `folder` as it was.
void check_bad_input(const BadInput& bad, const std::filesystem::path& folder);

}  // namespace hotloop
