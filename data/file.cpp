#include "data/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "sim/core/error.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPendingLimit = 1 << 18;  // AppendFile hands over by itself above this

// Linux writes at most 2 GiB a call, so larger blocks take several.
int write_all(int fd, const char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = ::write(fd, data, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    data += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return 0;
}

// EINVAL and ENOTSUP: devices and some network file systems have nothing to synchronise.
int sync_descriptor(int fd) {
  if (::fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP) return 0;
  return errno;
}

// A rename is durable once its folder is.
void sync_folder_of(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const detail::Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) throw_file_error(folder, errno);
  if (const int reason = sync_descriptor(fd.get())) throw_file_error(folder, reason);
}

fs::path temporary_name(const fs::path& path) { return path.string() + ".tmp." + std::to_string(::getpid()); }

}  // namespace

namespace detail {

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}
Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}
int Descriptor::release() { return std::exchange(fd_, -1); }

}  // namespace detail

void throw_file_error(const fs::path& path, int reason) {
  throw Error(path.string() + ": " + std::generic_category().message(reason));
}

AtomicFile::AtomicFile(fs::path path)
    : path_(std::move(path)),
      temporary_(temporary_name(path_)),
      file_(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (file_.get() < 0) throw_file_error(path_, errno);
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  if (const int reason = write_all(file_.get(), static_cast<const char*>(data), bytes)) throw_file_error(path_, reason);
}

void AtomicFile::commit() {
  if (const int reason = sync_descriptor(file_.get())) throw_file_error(path_, reason);
  // some file systems report a failed write only here
  if (::close(file_.release()) != 0 && errno != EINTR) throw_file_error(path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw_file_error(path_, errno);
  temporary_.clear();
  sync_folder_of(path_);
}

bool is_held(const fs::path& path) {
  const detail::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  // a reader's lock keeps out nobody who only asks, too
  return file.get() >= 0 && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

void write_output(std::string_view text) {
  if (const int reason = write_all(STDOUT_FILENO, text.data(), text.size()))
    throw_file_error("standard output", reason);
}

void write_file(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void link_file(const fs::path& from, const fs::path& to) {
  const fs::path temporary = temporary_name(to);
  ::unlink(temporary.c_str());
  if (::link(from.c_str(), temporary.c_str()) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) throw_file_error(from, errno);
    write_file(to, read_file(from, UINT64_MAX));
    return;
  }
  const int reason = ::rename(temporary.c_str(), to.c_str()) == 0 ? 0 : errno;
  ::unlink(temporary.c_str());  // rename() leaves it where both names already are the same file
  if (reason != 0) throw_file_error(to, reason);
  sync_folder_of(to);
}

void rename_durably(const fs::path& from, const fs::path& to) {
  {
    const detail::Descriptor file(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) throw_file_error(from, errno);
    if (const int reason = sync_descriptor(file.get())) throw_file_error(from, reason);
  }
  if (::rename(from.c_str(), to.c_str()) != 0) throw_file_error(to, errno);
  sync_folder_of(to);
}

std::string read_file(const fs::path& path, std::uint64_t max_bytes) {
  // O_NONBLOCK: a pipe given as a file must not wait for a writer
  const detail::Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) throw_file_error(path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) throw_file_error(path, errno);
  if (S_ISDIR(info.st_mode)) throw_file_error(path, EISDIR);
  if (!S_ISREG(info.st_mode)) throw Error(path.string() + ": not a regular file");
  const auto bytes = static_cast<std::uint64_t>(info.st_size);
  if (bytes > max_bytes)
    throw Error(path.string() + ": " + std::to_string(bytes) + " bytes; at most " + std::to_string(max_bytes) +
                " are accepted");
  std::string text;
  try {
    text.resize(bytes);
  } catch (const std::exception&) {  // bad_alloc or length_error
    throw Error(path.string() + ": " + std::to_string(bytes) + " bytes do not fit in memory");
  }
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n = ::read(fd.get(), text.data() + done, bytes - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_file_error(path, errno);
    if (n == 0) throw Error(path.string() + ": has become shorter while it was read");
    done += static_cast<std::size_t>(n);
  }
  return text;
}

void make_folder(const fs::path& path) {
  std::error_code reason;
  fs::create_directories(path, reason);
  if (reason) throw_file_error(path, reason.value());
  // create_directories() is silent about a file of that name behind a symbolic link
  if (!fs::is_directory(path, reason)) throw_file_error(path, ENOTDIR);
}

bool is_temporary(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::size_t mark = name.rfind(".tmp.");
  return mark != std::string::npos && mark + 5 < name.size() &&
         name.find_first_not_of("0123456789", mark + 5) == std::string::npos;
}

void remove_temporaries(const fs::path& folder) {
  std::error_code reason;
  for (fs::directory_iterator it(folder, reason), end; !reason && it != end; it.increment(reason)) {
    std::error_code ignored;
    if (is_temporary(it->path())) fs::remove(it->path(), ignored);
  }
}

AppendFile::AppendFile(fs::path path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (file_.get() < 0) throw_file_error(path_, errno);
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0) throw_file_error(path_, errno);
  written_ = static_cast<std::uint64_t>(info.st_size);
}

AppendFile::~AppendFile() {
  if (file_.get() >= 0 && !pending_.empty()) write_all(file_.get(), pending_.data(), pending_.size());
}

void AppendFile::append(std::string_view text) {
  pending_.append(text);
  if (pending_.size() > kPendingLimit) drain();
}

void AppendFile::drain() {
  if (pending_.empty()) return;
  if (const int reason = write_all(file_.get(), pending_.data(), pending_.size())) {
    // best effort: the Error to come says more than a failure to cut would
    [[maybe_unused]] const int cut = ::ftruncate(file_.get(), static_cast<off_t>(written_));
    throw_file_error(path_, reason);
  }
  written_ += pending_.size();
  pending_.clear();
}

void AppendFile::flush() {
  drain();
  if (const int reason = sync_descriptor(file_.get())) throw_file_error(path_, reason);
}

void AppendFile::check_reaches(std::uint64_t offset) const {
  if (offset > size())
    throw Error(path_.string() + ": " + std::to_string(size()) + " bytes, but " + std::to_string(offset) +
                " were there when the checkpoint was written");
}

void AppendFile::truncate_to(std::uint64_t offset) {
  check_reaches(offset);
  drain();
  if (offset == written_) return;
  if (::ftruncate(file_.get(), static_cast<off_t>(offset)) != 0) throw_file_error(path_, errno);
  written_ = offset;
}

}  // namespace hotloop
