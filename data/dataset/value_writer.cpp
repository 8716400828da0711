#include "data/dataset/value_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace hotloop {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20, kMostQueued = 8;

void write_at(int fd, const std::filesystem::path& path, std::uint64_t offset, const std::vector<char>& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_file_error(path, errno);
    done += static_cast<std::size_t>(n);
  }
}

}  // namespace

ValueWriter::ValueWriter(const std::filesystem::path& file)
    : path_(file), file_(::open(file.c_str(), O_WRONLY | O_CLOEXEC)) {
  if (file_.get() < 0) throw_file_error(file, errno);
  thread_ = std::thread([this] { work(); });
}

ValueWriter::~ValueWriter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ValueWriter::write(std::uint64_t offset, const void* data, std::size_t bytes) {
  for (const char* from = static_cast<const char*>(data); bytes > 0;) {
    if (offset != filling_.offset + filling_.bytes.size() || filling_.bytes.size() == kBlockBytes) hand_over();
    if (filling_.bytes.empty()) filling_.offset = offset;
    const std::size_t count = std::min(bytes, kBlockBytes - filling_.bytes.size());
    filling_.bytes.insert(filling_.bytes.end(), from, from + count);
    from += count, offset += count, bytes -= count;
  }
}

void ValueWriter::hand_over() {
  if (filling_.bytes.empty()) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || queue_.size() < kMostQueued; });
  if (failure_) std::rethrow_exception(failure_);
  queue_.push_back(std::exchange(filling_, {}));
  if (!free_.empty()) {
    filling_ = std::move(free_.back());
    free_.pop_back();
  }
  filling_.bytes.reserve(kBlockBytes);
  changed_.notify_all();
}

void ValueWriter::finish() {
  hand_over();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || (queue_.empty() && !busy_); });
  if (failure_) std::rethrow_exception(failure_);
}

void ValueWriter::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    Block block = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    std::exception_ptr failure;
    try {
      write_at(file_.get(), path_, block.offset, block.bytes);
    } catch (...) {
      failure = std::current_exception();
    }
    block.bytes.clear();
    lock.lock();
    busy_ = false;
    free_.push_back(std::move(block));
    failure_ = failure;
    changed_.notify_all();
    if (failure_) return;
  }
}

}  // namespace hotloop
