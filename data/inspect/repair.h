// What can still be read of a damaged trajectory log or dataset, as a new one. HDF5's library may crash on damaged
// files: call these in a process of its own.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace hotloop {

struct Repaired {
  std::string what;  // "iteration", "episode"
  std::int64_t recovered = 0, left_out = 0;
  bool lost_more = false;                  // and a number that is not known
  std::vector<std::string> problems = {};  // why, a line each; of very many only the first

  void problem(const std::string& text);
};

// Error where `target` is there already, and where nothing can be recovered: then nothing is left there.
Repaired repair(const std::filesystem::path& path, const std::filesystem::path& target);

// Copies every iteration of which all values can be read. Memory: one iteration.
Repaired repair_log(const std::filesystem::path& path, const std::filesystem::path& target);

// Copies every whole episode of a dataset that hotloop wrote, also of one that is cut off. Memory: one episode.
Repaired repair_dataset(const std::filesystem::path& path, const std::filesystem::path& target);

}  // namespace hotloop
