// Files that stay whole. Whatever replaces a file goes through AtomicFile, so that a kill at any moment leaves the old
// or the new one; whatever grows goes through AppendFile, which can be cut back to where a checkpoint was taken. Every
// write is checked, and a failure is an Error "path: reason".
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace hotloop {

namespace detail {
// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  int get() const { return fd_; }
  int release();

 private:
  int fd_;
};
}  // namespace detail

// Error "path: <text of errno>". `reason` is an errno value.
[[noreturn]] void throw_file_error(const std::filesystem::path& path, int reason);

// Writes `<path>.tmp.<pid>` in the same folder. commit() makes it durable and gives it its name; without commit() the
// destructor removes it. One writer a name at a time: RunDir holds a lock for that.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  std::filesystem::path path_, temporary_;
  detail::Descriptor file_;
};

// Whether another process (or another part of this one) holds a lock of flock()'s kind on a file or folder.
bool is_held(const std::filesystem::path& path);

// The whole file in one AtomicFile.
void write_file(const std::filesystem::path& path, std::string_view text);

// Writes to standard output at once, so that its failure is known by its own errno.
void write_output(std::string_view text);

// Gives the existing file `from` the second name `to`, replacing what was there in one step: a hard link, or a copy
// where the file system has no links. Both must be in one file system, and neither may be changed in place later.
void link_file(const std::filesystem::path& from, const std::filesystem::path& to);

// Makes the written file `from` durable, gives it the name `to` in the same folder, then makes that durable.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

// The content of a regular file. Error if it cannot be read, is a folder or a device, or is larger than max_bytes.
std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes);

// Creates the folder and its parents; fine if it is there already.
void make_folder(const std::filesystem::path& path);

// Removes what killed AtomicFiles have left in a folder. Only for its one writer.
void remove_temporaries(const std::filesystem::path& folder);
bool is_temporary(const std::filesystem::path& path);

// A file that only grows. append() collects in memory, drain() hands that to the system (other programs see it),
// flush() makes it durable. A failed write cuts the file back to whole appends and keeps them in memory, so that a
// later try continues cleanly.
class AppendFile {
 public:
  explicit AppendFile(std::filesystem::path path);  // created if missing
  ~AppendFile();                                    // drains; cannot report, so call flush() before
  AppendFile(AppendFile&&) noexcept = default;
  AppendFile& operator=(AppendFile&&) = delete;

  void append(std::string_view text);
  void drain();
  void flush();
  std::uint64_t size() const { return written_ + pending_.size(); }  // [bytes] with those not yet written
  // Error if the file is shorter than `offset`.
  void check_reaches(std::uint64_t offset) const;
  void truncate_to(std::uint64_t offset);
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  detail::Descriptor file_;
  std::string pending_;
  std::uint64_t written_ = 0;
};

}  // namespace hotloop
