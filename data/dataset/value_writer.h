// Writes values at their places in a file, by a thread of its own, so that whoever finds the places (HDF5's library,
// behind a lock of the whole process) need not wait for the system.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "data/dataset/work_queue.h"
#include "data/file.h"

namespace hotloop {

class ValueWriter {
 public:
  explicit ValueWriter(const std::filesystem::path& file);  // which is there

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
  void write_block(Block& block) const;

  std::filesystem::path path_;
  detail::Descriptor file_;
  Block filling_;           // neighbours are written at once
  WorkQueue<Block> queue_;  // last: its thread uses the others
};

}  // namespace hotloop
