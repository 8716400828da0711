#include "data/dataset/work_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "sim/core/error.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& folder) {
  throw Error("'" + target_of(folder).string() + "': another process is writing it");
}

}  // namespace

fs::path work_folder(const fs::path& target, const std::string& what) {
  return target.parent_path() / ("." + target.filename().string() + "." + what);
}

fs::path target_of(const fs::path& work_folder) {
  return work_folder.parent_path() / work_folder.stem().string().substr(1);
}

std::vector<fs::path> missing_folders(const fs::path& path) {
  std::vector<fs::path> missing;
  std::error_code ignored;
  for (fs::path at = path.parent_path(); at.has_relative_path() && !fs::exists(at, ignored); at = at.parent_path())
    missing.push_back(at);
  return missing;
}

void remove_empty(const std::vector<fs::path>& folders) {
  std::error_code ignored;  // those that are not empty stay
  for (const fs::path& folder : folders) fs::remove(folder, ignored);
}

std::string remove_hint(const fs::path& work_folder) { return "remove the folder '" + work_folder.string() + "'"; }

detail::Descriptor lock_work_folder(const fs::path& folder) {
  detail::Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.get() < 0) throw_file_error(target_of(folder), errno);
  // file systems without locks say so by other errors: there the user must take care
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) refuse(folder);
  return lock;
}

void check_not_locked(const fs::path& folder) {
  if (is_held(folder)) refuse(folder);
}

std::string told_of_target(const std::string& message, const fs::path& folder) {
  std::string text = message;
  const std::string inner = folder.string(), target = target_of(folder).string();
  for (std::size_t at = 0; (at = text.find(inner, at)) != std::string::npos; at += target.size()) {
    std::size_t end = at + inner.size();
    if (end < text.size() && text[end] == '/') end = std::min(text.find_first_of("':", end), text.size());
    text.replace(at, end - at, target);
  }
  return text;
}

}  // namespace hotloop
