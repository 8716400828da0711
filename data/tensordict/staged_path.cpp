#include "data/tensordict/staged_path.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "sim/core/error.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& action, const fs::path& path, int error) {
  throw Error("cannot " + action + " '" + path.string() + "': " + std::strerror(error));
}

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags, const std::string& action) : fd_(::open(path.c_str(), flags, 0666)) {
    if (fd_ < 0) fail(action, path, errno);
  }
  ~Descriptor() { ::close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

void synchronize_path(const fs::path& path, int flags) {
  const Descriptor file(path, O_RDONLY | O_CLOEXEC | flags, "open");
  // some file systems cannot synchronise folders and say EINVAL: nothing more can be done there
  if (::fsync(file.get()) != 0 && errno != EINVAL) fail("write", path, errno);
}

}  // namespace

StagedPath::StagedPath(const fs::path& target) {
  static std::atomic<unsigned> counter{0};
  std::error_code error;
  const fs::path trimmed = target.has_filename() ? target : target.parent_path();
  target_ = fs::weakly_canonical(fs::absolute(trimmed), error);
  if (error || !target_.has_filename()) throw Error("cannot write to '" + target.string() + "'");
  fs::create_directories(target_.parent_path(), error);
  if (error) fail("make folder", target_.parent_path(), error.value());
  const std::string suffix = ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
  staged_ = target_.parent_path() / ("." + target_.filename().string() + suffix);
}

StagedPath::~StagedPath() {
  std::error_code ignored;
  fs::remove_all(staged_, ignored);
}

void StagedPath::commit_file() {
  synchronize_path(staged_, 0);
  if (::rename(staged_.c_str(), target_.c_str()) != 0) fail("write", target_, errno);
  synchronize_path(target_.parent_path(), O_DIRECTORY);
}

void StagedPath::commit_folder() {
  synchronize_path(staged_, O_DIRECTORY);
  if (::rename(staged_.c_str(), target_.c_str()) != 0) {
    if (errno != EEXIST && errno != ENOTEMPTY) fail("write", target_, errno);
    if (::renameat2(AT_FDCWD, staged_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) {
      if (errno != EINVAL && errno != ENOSYS) fail("replace", target_, errno);
      // no exchange on this file system: the old folder steps aside first
      const fs::path old = staged_.string() + ".old";
      if (::rename(target_.c_str(), old.c_str()) != 0) fail("replace", target_, errno);
      if (::rename(staged_.c_str(), target_.c_str()) != 0) fail("replace", target_, errno);
      staged_ = old;
    }
    std::error_code ignored;
    fs::remove_all(staged_, ignored);
  }
  synchronize_path(target_.parent_path(), O_DIRECTORY);
}

void write_file(const fs::path& path, const void* data, std::size_t bytes) {
  const Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, "write");
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(file.get(), next, std::min<std::size_t>(bytes, std::size_t{1} << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("write", path, written < 0 ? errno : ENOSPC);
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
  if (::fsync(file.get()) != 0) fail("write", path, errno);
}

void write_zeros(const fs::path& path, std::size_t bytes) {
  const Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, "write");
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 || ::fsync(file.get()) != 0) fail("write", path, errno);
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("read", path, errno ? errno : EIO);
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) fail("read", path, EIO);
  return text.str();
}

}  // namespace hotloop
