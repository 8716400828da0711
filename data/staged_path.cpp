#include "data/staged_path.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "data/file.h"
#include "sim/core/error.h"
#include "sim/core/value.h"

namespace hotloop {

namespace fs = std::filesystem;

fs::path output_path(const std::string& output) {
  std::error_code reason;
  fs::path path = output;
  path = fs::weakly_canonical(fs::absolute(path.has_filename() ? path : path.parent_path()), reason);
  if (reason || !path.has_filename()) throw Error("-o " + shown(output) + ": nothing can be written there");
  if (!fs::is_directory(path.parent_path(), reason))
    throw Error("-o " + shown(output) + ": folder " + one_line(path.parent_path().string()) + " is not there");
  return path;
}

void synchronize_path(const fs::path& path, int flags) {
  const detail::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  // some file systems cannot synchronise folders and say EINVAL: nothing more can be done there
  if (file.get() < 0 || (::fsync(file.get()) != 0 && errno != EINVAL)) throw_file_error(path, errno);
}

void rename_new(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST) throw Error("'" + to.string() + "' exists");
    if (errno != EINVAL && errno != ENOSYS) throw_file_error(to, errno);
    // a file system without that flag
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(to, ignored))) throw Error("'" + to.string() + "' exists");
    if (::rename(from.c_str(), to.c_str()) != 0) throw_file_error(to, errno);
  }
  synchronize_path(to.parent_path(), O_DIRECTORY);
}

StagedPath::StagedPath(const fs::path& target) {
  static std::atomic<unsigned> counter{0};
  std::error_code error;
  const fs::path trimmed = target.has_filename() ? target : target.parent_path();
  target_ = fs::weakly_canonical(fs::absolute(trimmed), error);
  if (error || !target_.has_filename()) throw Error("cannot write '" + target.string() + "'");
  make_folder(target_.parent_path());
  // not with fmt: LibTorch's headers bring another version of it
  const std::string suffix = ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
  staged_ = target_.parent_path() / ("." + target_.filename().string() + suffix);
}

StagedPath::~StagedPath() {
  std::error_code ignored;
  fs::remove_all(staged_, ignored);
}

void StagedPath::commit_file() {
  synchronize_path(staged_, 0);
  if (::rename(staged_.c_str(), target_.c_str()) != 0) throw_file_error(target_, errno);
  synchronize_path(target_.parent_path(), O_DIRECTORY);
}

void StagedPath::commit_folder() {
  synchronize_path(staged_, O_DIRECTORY);
  if (::rename(staged_.c_str(), target_.c_str()) != 0) {
    if (errno != EEXIST && errno != ENOTEMPTY) throw_file_error(target_, errno);
    if (::renameat2(AT_FDCWD, staged_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) {
      if (errno != EINVAL && errno != ENOSYS) throw_file_error(target_, errno);
      // no exchange on this file system: the old folder steps aside first
      const fs::path old = staged_.string() + ".old";
      if (::rename(target_.c_str(), old.c_str()) != 0) throw_file_error(target_, errno);
      if (::rename(staged_.c_str(), target_.c_str()) != 0) throw_file_error(target_, errno);
      staged_ = old;
    }
    std::error_code ignored;
    fs::remove_all(staged_, ignored);
  }
  synchronize_path(target_.parent_path(), O_DIRECTORY);
}

void StagedPath::commit_new() { rename_new(staged_, target_); }

void write_zeros(const fs::path& path, std::size_t bytes) {
  const detail::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0 || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 || ::fsync(file.get()) != 0)
    throw_file_error(path, errno);
}

}  // namespace hotloop
