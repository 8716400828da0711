// Models that must not load: a good model changed in one place each, and files that are no models at all.
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace hotloop {

struct BrokenModel {
  std::string what;                                        // for the test's messages
  std::string says;                                        // what the error has to contain
  std::vector<std::pair<std::string, std::string>> files;  // path below the folder, contents; the model first
};

// The good model: it loads.
std::string good_model();

std::vector<BrokenModel> broken_models();

// What cannot be said by a file's contents (folders, links). Makes them in `folder`; returns paths and what their
// errors contain.
std::vector<std::pair<std::filesystem::path, std::string>> broken_files(const std::filesystem::path& folder);

}  // namespace hotloop
