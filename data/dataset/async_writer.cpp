#include "data/dataset/async_writer.h"

#include <utility>

#include "data/hdf5_handle.h"

namespace hotloop {
namespace {

constexpr std::size_t kBatchBytes = std::size_t{1} << 20, kMostKeptBytes = std::size_t{4} << 20, kMostQueued = 4;

bool hdf5_knows_threads() {
  hbool_t safe = false;
  return H5is_library_threadsafe(&safe) >= 0 && safe;
}

// As memory that is used, or that is kept.
template <class Size>
std::size_t bytes_of(const Episode& e, const Size& size) {
  return sizeof e + (size(e.observations) + size(e.rewards)) * sizeof(float) + size(e.actions) + size(e.terminated) +
         size(e.truncated);
}

}  // namespace

AsyncWriter::AsyncWriter(std::unique_ptr<DatasetWriter> writer, const std::filesystem::path& path)
    : writer_(std::move(writer)), write_behind_(path) {
  if (hdf5_knows_threads()) thread_ = std::thread([this] { work(); });
}

AsyncWriter::~AsyncWriter() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void AsyncWriter::append(Episode& episode) {
  if (filling_.count == filling_.episodes.size()) filling_.episodes.emplace_back();
  filling_.bytes += bytes_of(episode, [](const auto& values) { return values.size(); });
  std::swap(filling_.episodes[filling_.count++], episode);
  if (filling_.bytes >= kBatchBytes) hand_over();
}

void AsyncWriter::hand_over() {
  if (!thread_.joinable()) {
    write(filling_);
    filling_.count = filling_.bytes = 0;
    return;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || queue_.size() < kMostQueued; });
  if (failure_) std::rethrow_exception(failure_);
  queue_.push_back(std::exchange(filling_, {}));
  if (!free_.empty()) {
    filling_ = std::move(free_.back());
    free_.pop_back();
  }
  changed_.notify_all();
}

void AsyncWriter::finish() {
  hand_over();
  if (thread_.joinable()) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || (queue_.empty() && !busy_); });
    if (failure_) std::rethrow_exception(failure_);
  }
  writer_->finish();
}

void AsyncWriter::write(const Batch& batch) {
  for (std::size_t i = 0; i < batch.count; ++i) writer_->append(batch.episodes[i]);
}

void AsyncWriter::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    Batch batch = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    changed_.notify_all();
    std::exception_ptr failure;
    std::size_t kept = 0;
    try {
      write(batch);
    } catch (...) {
      failure = std::current_exception();
    }
    for (const Episode& e : batch.episodes) kept += bytes_of(e, [](const auto& values) { return values.capacity(); });
    if (kept > kMostKeptBytes) batch.episodes.clear();
    batch.count = batch.bytes = 0;
    lock.lock();
    busy_ = false;
    free_.push_back(std::move(batch));
    if (failure && !failure_) failure_ = failure;
    changed_.notify_all();
    if (failure_) return;
  }
}

}  // namespace hotloop
