#include "data/log/log_writer.h"

#include <utility>

#include "data/file.h"
#include "sim/core/error.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// The number of the first segment to write.
std::int64_t first_segment(const fs::path& path, bool resume) {
  if (path.extension() != ".h5" && path.extension() != ".hdf5")
    throw Error(path.string() + ": the name of a trajectory log ends in .h5");
  const std::vector<std::int64_t> segments = log_segments(path);
  if (segments.empty()) return 0;
  if (resume) return segments.back() + 1;  // after a missing one too: the later segment is the one that counts
  for (const std::int64_t n : segments)
    if (is_held(log_part_path(log_segment_path(path, n))))
      throw Error(path.string() + ": another process is writing it");
  const fs::path segment = log_segment_path(path, segments[0]);
  throw Error((fs::exists(segment) ? segment : log_part_path(segment)).string() +
              ": is there already; remove it with its further segments or choose another name");
}

}  // namespace

LogWriter::LogWriter(fs::path path, LogSpec spec, const LogWriterOptions& options)
    : path_(std::move(path)),
      spec_(std::move(spec)),
      options_(options),
      pool_(options.gzip > 0 ? options.num_threads : 1),
      number_(first_segment(path_, options.resume)) {
  segment_ = std::make_unique<LogSegment>(file(), spec_, options_.gzip, pool_);
  flushed_ = Clock::now();
}

LogWriter::~LogWriter() {
  try {
    close();
  } catch (const std::exception&) {
  }
}

double LogWriter::share() const {
  const std::int64_t all = iterations_ + dropped_;
  return all > 0 ? static_cast<double>(iterations_) / static_cast<double>(all) : 1.0;
}

template <class Action>
void LogWriter::guard(Action action) {
  try {
    action();
  } catch (const Error&) {
    if (segment_) end_segment();
    throw;
  }
}

void LogWriter::append(const LogIteration& iteration) {
  if (!segment_) return;
  guard([&] {
    const auto most = static_cast<std::uint64_t>(options_.segment_gib * 1073741824.0);
    if (segment_->iterations() > 0 && (segment_->full() || segment_->bytes() >= most)) {
      finish_segment();
      ++number_;
      segment_ = std::make_unique<LogSegment>(file(), spec_, options_.gzip, pool_);
      flushed_ = Clock::now();
    }
    segment_->append(iteration);
    ++iterations_;
    tick();
  });
}

void LogWriter::tick() {
  if (!segment_ || std::chrono::duration<double>(Clock::now() - flushed_).count() < options_.flush_seconds) return;
  guard([&] { segment_->flush(); });
  flushed_ = Clock::now();
}

// A log without a row leaves no file.
void LogWriter::finish_segment() {
  if (segment_->iterations() > 0)
    segment_->finish(dropped_, share());
  else
    fs::remove(log_part_path(file()));
  closed_bytes_ += segment_->bytes();
  segment_.reset();
}

// After a failure: the same if it can be, else as the last flush left it.
void LogWriter::end_segment() {
  try {
    finish_segment();
  } catch (const std::exception&) {
    closed_bytes_ += segment_->bytes();
    try {
      segment_->abandon();
    } catch (const Error&) {
    }
    segment_.reset();
  }
}

void LogWriter::close() {
  if (segment_) guard([&] { finish_segment(); });
}

}  // namespace hotloop
