// What can still be read of a damaged trajectory log, as a new log.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace hotloop {

struct Repaired {
  std::int64_t iterations = 0, left_out = 0;
  std::vector<std::string> problems;  // why, a line each; of very many only the first
};

// Copies every iteration of which all values can be read. Error where `target` is there already, and where nothing can
// be recovered: then no file is left. Memory: one iteration.
Repaired repair_log(const std::filesystem::path& path, const std::filesystem::path& target);

}  // namespace hotloop
