#include "train/run_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "sim/core/error.h"
#include "train/config_value.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

std::string default_name(const TrainConfig& config) {
  std::string task = config.task;
  for (char& c : task)
    if (c == '/') c = '_';
  return fmt::format("{}__{}__{}__{}", task, config.exp_name, config.seed, static_cast<long long>(std::time(nullptr)));
}

// A name nobody has: runs may start within one second of each other.
fs::path free_default(const TrainConfig& config) {
  const fs::path first = fs::path("runs") / default_name(config);
  fs::path path = first;
  std::error_code ignored;
  for (int k = 2; fs::exists(path, ignored); ++k) path = first.string() + "_" + std::to_string(k);
  return path;
}

[[noreturn]] void refuse(const fs::path& path, const std::string& reason) {
  throw Error("run_dir " + shown(path.string()) + ": " + reason);
}

}  // namespace

fs::path create_run_folder(const TrainConfig& config) {
  const fs::path path = config.run_dir.empty() ? free_default(config) : fs::path(config.run_dir);
  std::error_code failure;
  const bool exists = fs::exists(path, failure);
  if (exists && !fs::is_directory(path, failure)) refuse(path, "is a file; it must be a new folder");
  if (exists && !fs::is_empty(path, failure) && !failure)
    refuse(path, "exists already; choose another, or go on with it by --resume " + shown(path.string()));
  fs::create_directories(path, failure);
  if (failure) refuse(path, "cannot be made: " + failure.message());
  if (::access(path.c_str(), W_OK | X_OK) != 0)
    refuse(path, std::string("cannot be written to: ") + std::strerror(errno));
  const fs::path absolute = fs::absolute(path, failure);
  return failure ? path : absolute.lexically_normal();
}

}  // namespace hotloop
