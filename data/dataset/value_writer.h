// Writes values at their places in a file, by a thread of its own, so that whoever finds the places (HDF5's library,
// behind a lock of the whole process) need not wait for the system.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "data/file.h"

namespace hotloop {

class ValueWriter {
 public:
  explicit ValueWriter(const std::filesystem::path& file);  // which is there
  ~ValueWriter();                                           // what was not written stays so
  ValueWriter(const ValueWriter&) = delete;
  ValueWriter& operator=(const ValueWriter&) = delete;

  // Copies the bytes. What goes wrong in writing is thrown by a later call.
  void write(std::uint64_t offset, const void* data, std::size_t bytes);
  // All is with the system then. More may follow.
  void finish();

 private:
  struct Block {
    std::uint64_t offset = 0;
    std::vector<char> bytes;
  };

  void hand_over();
  void work();

  std::filesystem::path path_;
  detail::Descriptor file_;
  Block filling_;  // neighbours are written at once
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Block> queue_;
  std::vector<Block> free_;
  bool stop_ = false, busy_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace hotloop
