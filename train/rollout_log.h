// Logs the rollouts of a training beside it. An iteration's leaves are copied on the training's stream into a staging
// slot (device to device, which is all that the training sees of it), on a second stream into pinned host memory, and
// a thread writes them. A slot is free again once it is written: with none free the caller waits (block) or the
// iteration is left out.
//
//   stream of the training   | state | iteration k ............ | leaves | iteration k + 1 ...
//   second stream                                                         | slot to host |
//   writer                                                                               | append, flush |
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "data/arena.h"
#include "data/log/log_writer.h"
#include "sim/core/batch.h"
#include "train/config.h"
#include "train/log_options.h"
#include "train/trainer.h"

namespace hotloop {

class RolloutLog {
 public:
  struct Source {
    Exec exec;                     // what the iterations are queued on
    const Arena* arena = nullptr;  // rollout_leaves()
    const Batch* batch = nullptr;
    std::function<void()> update = [] {};  // queues the arena's way to the iteration before; called where it is logged
    LogInfo info;
    std::int64_t expected_iterations = 1;
    bool resume = false;  // a log of an earlier part of the run may be there
  };
  // Error where the log cannot be begun: before anything is trained.
  RolloutLog(const Source& source, const LogOptions& options);
  ~RolloutLog();
  RolloutLog(const RolloutLog&) = delete;
  RolloutLog& operator=(const RolloutLog&) = delete;

  // Before iteration `index` of the run is queued, and after.
  void begin(std::int64_t index);
  void end();
  // Writes what is queued and ends the log. Error if it could not be written to its end.
  void close();

  std::string failure() const;  // why nothing is written any more; empty while all is well
  std::string opening() const;  // a line: what is logged
  std::string summary() const;  // a line, after close(): what was
  // After close():
  double share() const { return writer_->share(); }
  double megabytes_per_second() const;

 private:
  // A leaf of the logged worlds, in the arena and in a slot.
  struct Part {
    const std::byte* from;
    std::int64_t rows, item;  // item: [bytes] of a world's row
    std::size_t offset;
  };
  struct Slot {
    Slot(Device device, std::size_t bytes);
    Memory device, host;  // on the CPU `host` takes both places
    EventHandle staged, copied;
    std::int64_t index = 0;
  };

  LogSpec make_spec(const Source& source) const;
  void place_parts(const Source& source);
  std::size_t add_part(const std::byte* from, std::int64_t rows, std::size_t item);
  std::byte* staging(const Slot& slot) const { return slot.device.data() ? slot.device.data() : slot.host.data(); }
  void wait_for_slot(std::unique_lock<std::mutex>& lock);
  void work();
  void write(Slot& slot);
  void find_finals(const Slot& slot, LogIteration& iteration) const;

  Exec exec_;
  std::function<void()> update_;
  LogOptions options_;
  LogSelection selection_;
  StreamHandle stream_;
  Exec copy_exec_;
  Buffer<std::int32_t> worlds_;  // on the device; empty where all are logged
  const std::byte* state_;
  LogSpec spec_;
  std::vector<Part> parts_;  // of LogSpec::keys, then those below
  std::size_t last_observation_ = 0, terminated_ = 0, truncated_ = 0, final_observation_ = 0;
  std::size_t state_offset_ = 0, slot_bytes_ = 0, logged_bytes_ = 0;
  std::unique_ptr<LogWriter> writer_;
  std::deque<Slot> slots_;
  Slot* current_ = nullptr;  // between begin() and end()

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Slot*> free_, queue_;
  std::string failure_;
  std::int64_t dropped_ = 0;
  bool stop_ = false, closed_ = false;
  std::chrono::steady_clock::time_point start_;
  double seconds_ = 0;
  std::thread thread_;  // last: it uses the others
};

// Of a training that has not begun yet. Error for an algorithm that simulates nothing.
RolloutLog::Source log_source(const TrainConfig& config, Trainer& trainer);

// What a log says about the run that it is of.
LogInfo describe_run(const TrainConfig& config, const Batch& batch);

}  // namespace hotloop
