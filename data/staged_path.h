// What data/file.h's AtomicFile is for one file of our own writing, for whole folders and for files that a library
// writes: they are made under another name in the same folder, synchronised to disk, then renamed. Torch-free.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>

namespace hotloop {

class StagedPath {
 public:
  // Chooses the name and makes missing parent folders. Throws Error where they cannot be made.
  explicit StagedPath(const std::filesystem::path& target);
  ~StagedPath();  // removes what was not committed
  StagedPath(const StagedPath&) = delete;
  StagedPath& operator=(const StagedPath&) = delete;

  const std::filesystem::path& path() const { return staged_; }    // write here
  const std::filesystem::path& target() const { return target_; }  // without symbolic links
  void commit_file();
  // A folder at the target is exchanged in one step and removed; the caller has checked that it may be.
  void commit_folder();
  // A file or folder that must be new: Error if something is at the target.
  void commit_new();

 private:
  std::filesystem::path target_, staged_;
};

// What a command's option -o names: an absolute path without symbolic links, in a folder that is there, since one with
// a mistyped name would be made by mistake. Error "-o ...".
std::filesystem::path output_path(const std::string& output);

// Makes a file, or the entries of a folder (flags O_DIRECTORY), durable.
void synchronize_path(const std::filesystem::path& path, int flags = 0);

// Gives a file or folder its final name, durably. Error if something has that name.
void rename_new(const std::filesystem::path& from, const std::filesystem::path& to);

// A file of `bytes` zeros that takes no space until written.
void write_zeros(const std::filesystem::path& file, std::size_t bytes);

}  // namespace hotloop
