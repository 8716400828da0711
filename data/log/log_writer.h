// Writes a trajectory log (log_format.h): segments, flushes, what becomes of it when something fails. One thread.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "data/log/log_segment.h"

namespace hotloop {

struct LogWriterOptions {
  int gzip = 0;              // level 1 to 9, with the shuffle filter; 0: no filters
  double flush_seconds = 2;  // what a kill may cost
  double segment_gib = 16;   // a segment ends once it holds this much
  bool resume = false;       // go on in the next free segment
  int num_threads = 0;       // that compress; 0: every core
};

class LogWriter {
 public:
  // Creates the first segment. Error where the log is there already (unless resumed) or cannot be written.
  LogWriter(std::filesystem::path path, LogSpec spec, const LogWriterOptions& options);
  ~LogWriter();  // close(), without a word
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Error where the disk refuses: the log is closed then, as far as it can be, and keeps what it held.
  void append(const LogIteration& iteration);
  void count_dropped() { ++dropped_; }
  // Flushes where it is time to.
  void tick();
  // Finishes the last segment. A log without a row leaves no file. Error as append().
  void close();

  std::int64_t iterations() const { return iterations_; }
  std::int64_t dropped() const { return dropped_; }
  double share() const;  // of the iterations that were to be logged
  std::uint64_t bytes() const { return closed_bytes_ + (segment_ ? segment_->bytes() : 0); }  // in files
  std::filesystem::path file() const { return log_segment_path(path_, number_); }             // being written

 private:
  template <class Action>
  void guard(Action action);
  void finish_segment();
  void end_segment();

  std::filesystem::path path_;
  LogSpec spec_;
  LogWriterOptions options_;
  ThreadPool pool_;
  std::unique_ptr<LogSegment> segment_;
  std::int64_t number_ = 0, iterations_ = 0, dropped_ = 0;
  std::uint64_t closed_bytes_ = 0;
  std::chrono::steady_clock::time_point flushed_;
};

}  // namespace hotloop
