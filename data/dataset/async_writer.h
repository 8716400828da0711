// A dataset's writer in a thread of its own, so that episodes are read, or made, while others are written, and the disk
// works all the time.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "data/dataset/work_queue.h"
#include "data/dataset/writer.h"
#include "data/write_behind.h"

namespace hotloop {

class AsyncWriter {
 public:
  // `path`: what `writer` writes.
  AsyncWriter(std::unique_ptr<DatasetWriter> writer, const std::filesystem::path& path);

  // As DatasetWriter's. The episode's content is taken, another's is left in it. What goes wrong in writing is thrown
  // by a later call.
  void append(Episode& episode);
  void finish();

 private:
  // Episodes go to the thread many at a time: some are of a few steps.
  struct Batch {
    std::vector<Episode> episodes;  // the first `count` are to be written, others are memory for later
    std::size_t count = 0, bytes = 0;
  };

  void hand_over();
  void write(Batch& batch);

  std::unique_ptr<DatasetWriter> writer_;
  WriteBehind write_behind_;
  Batch filling_;
  std::optional<WorkQueue<Batch>> queue_;  // last: its thread uses the others; none where HDF5 is not made for threads
};

}  // namespace hotloop
