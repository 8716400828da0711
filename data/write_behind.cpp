#include "data/write_behind.h"

#include <fcntl.h>

#include <chrono>

#include "data/file.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr auto kInterval = std::chrono::milliseconds(200);

// Best effort: whoever writes the file hears of failures when he synchronises it.
void begin_writing(const fs::path& file) {
  const detail::Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor.get() >= 0) ::sync_file_range(descriptor.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
}

void begin_writing_all(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return begin_writing(path);
  for (fs::recursive_directory_iterator entry(path, ignored), end; !ignored && entry != end; entry.increment(ignored))
    if (std::error_code unknown; entry->is_regular_file(unknown)) begin_writing(entry->path());
}

}  // namespace

WriteBehind::WriteBehind(fs::path path) : path_(std::move(path)), thread_([this] { work(); }) {}

WriteBehind::~WriteBehind() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WriteBehind::work() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kInterval, [&] { return stop_; })) {
    lock.unlock();
    begin_writing_all(path_);
    lock.lock();
  }
}

}  // namespace hotloop
