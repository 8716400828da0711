#include "sim/core/assets.h"

#include <cstdlib>
#include <string>

#include "sim/core/error.h"

namespace hotloop {

namespace fs = std::filesystem;

fs::path program_dir() {
  std::error_code failure;
  const fs::path program = fs::read_symlink("/proc/self/exe", failure);
  return failure ? fs::path() : program.parent_path();
}

std::optional<fs::path> assets_dir() {
  std::error_code ignored;
  if (const char* chosen = std::getenv("HOTLOOP_ASSETS"); chosen && *chosen) {
    if (!fs::is_directory(chosen, ignored))
      throw Error("HOTLOOP_ASSETS=" + std::string(chosen) + ": must name the folder that holds configs/");
    return fs::path(chosen);
  }
  const fs::path beside = program_dir().parent_path() / "share" / "hotloop" / "assets";
  if (fs::is_directory(beside, ignored)) return beside;
  return std::nullopt;
}

}  // namespace hotloop
