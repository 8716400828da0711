#include "data/inspect/inspect.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "data/file.h"
#include "data/hdf5_read.h"
#include "data/hdf5_types.h"
#include "data/log/log_format.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamed = 10;
constexpr int kMostNamespaces = 4;  // folders in each other

bool has(const OpenHdf5& file, const char* path) { return hdf5_is_hard_link(file.file.get(), path); }

bool is_log(const OpenHdf5& file, const std::string& where) {
  try {
    const Hdf5Handle root(H5Gopen2(file.file.get(), "/", H5P_DEFAULT), where);
    return read_text_attribute(root.get(), "format", where) == kLogFormat;
  } catch (const Error&) {
    return false;
  }
}

bool is_log(const fs::path& path, const OpenHdf5& file) {
  return is_log(file, path.string()) || (has(file, "iteration") && has(file, "env_index"));
}

bool is_minari(const OpenHdf5& file, const fs::path& path) {
  return has(file, "episode_0") || path.filename() == "main_data.hdf5";
}

bool is_d4rl(const OpenHdf5& file) {
  int found = 0;
  for (const char* key : {"observations", "actions", "rewards", "terminals"}) found += has(file, key);
  return found >= 2;  // one may be lost
}

// Opens what has HDF5's signature; a file that is cut off or damaged at its beginning is a problem.
bool open_hdf5(const fs::path& path, OpenHdf5& file, Report& report) {
  std::error_code error;
  file.bytes = static_cast<double>(fs::file_size(path, error));
  if (error) throw Error(path.string() + ": " + error.message());
  if (is_held(path)) throw Error(path.string() + ": another process is writing it; inspect it when that is done");
  if (H5Fis_hdf5(path.c_str()) <= 0) throw Error(path.string() + ": is no trajectory log or dataset (not HDF5)");
  file.room = Hdf5Room(file.bytes);
  try {
    file.file = Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), path.string());
    return true;
  } catch (const Error& e) {
    report.format = "HDF5, cannot be opened";
    report.problem(e.what());
    return false;
  }
}

void inspect_hdf5(const fs::path& path, const CheckConfig& check_config, Report& report) {
  OpenHdf5 file;
  if (!open_hdf5(path, file, report)) return;
  report.format = kind_of(file, path);
  if (report.format == "trajectory log") {
    file.file.reset();
    inspect_log(path, check_config, report);
  } else if (report.format == "minari") {
    inspect_minari(file, path.parent_path() / "metadata.json", report);
  } else if (report.format == "robomimic") {
    inspect_robomimic(file, report);
  } else if (report.format == "d4rl") {
    inspect_d4rl(file, report);
  } else {
    throw Error(path.string() + ": is HDF5, but no trajectory log, minari, d4rl or robomimic dataset");
  }
}

}  // namespace

std::string kind_of(const OpenHdf5& file, const fs::path& path) {
  if (is_log(path, file)) return "trajectory log";
  if (is_minari(file, path)) return "minari";
  if (hdf5_is_group(file.file.get(), "data")) return "robomimic";
  return is_d4rl(file) ? "d4rl" : "";
}

fs::path file_to_read(const fs::path& path) {
  std::error_code ignored;
  for (const char* inner : {"main_data.hdf5", "data/main_data.hdf5"})
    if (fs::is_directory(path, ignored) && fs::exists(path / inner, ignored)) return path / inner;
  return !fs::exists(path, ignored) && fs::exists(log_part_path(path), ignored) ? log_part_path(path) : path;
}

std::string why_no_dataset(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return "is neither a file nor a folder";
  std::vector<std::string> datasets;
  fs::recursive_directory_iterator entry(path, error), end;
  for (; !error && entry != end && datasets.size() < kMostNamed; entry.increment(error)) {
    if (entry.depth() >= kMostNamespaces) entry.disable_recursion_pending();
    if (fs::exists(entry->path() / "data/main_data.hdf5", error)) datasets.push_back(shown(entry->path().string()));
    error.clear();
  }
  std::sort(datasets.begin(), datasets.end());
  if (!datasets.empty()) return fmt::format("holds minari datasets; name one: {}", fmt::join(datasets, ", "));
  return "is no dataset: neither data/main_data.hdf5 (minari) nor meta.json (tensordict)";
}

Report inspect(const fs::path& path, const CheckConfig& check_config) {
  const Hdf5Quiet quiet;
  std::error_code ignored;
  Report report;
  report.path = path.string();
  const fs::path file = file_to_read(path);
  if (fs::is_regular_file(file, ignored)) {
    inspect_hdf5(file, check_config, report);
  } else if (fs::exists(file / "meta.json", ignored)) {
    report.format = "tensordict";
    inspect_tensordict(file, report);
  } else if (fs::exists(path, ignored)) {
    throw Error(shown(path.string()) + ": " + why_no_dataset(path));
  } else {
    throw Error(shown(path.string()) + ": no such file or folder");
  }
  report.finish();
  return report;
}

}  // namespace hotloop
