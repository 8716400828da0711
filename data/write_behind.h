// While large files are written: has the system write them to the disk from the start, by a thread of its own. It would
// else begin when a tenth of the memory waits to be written, or when the file is synchronised: long after the disk
// could have begun.
#pragma once
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

namespace hotloop {

class WriteBehind {
 public:
  // Of the file `path`, or of all files below that folder, also of those that come later.
  explicit WriteBehind(std::filesystem::path path);
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

 private:
  void work();

  std::filesystem::path path_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace hotloop
