#include "data/dataset/value_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace hotloop {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20, kMostQueued = 8;

int open_to_write(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) throw_file_error(file, errno);
  return descriptor;
}

}  // namespace

ValueWriter::ValueWriter(const std::filesystem::path& file)
    : path_(file), file_(open_to_write(file)), queue_(kMostQueued, [this](Block& block) { write_block(block); }) {}

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
  queue_.push(filling_);
  filling_.bytes.reserve(kBlockBytes);
}

void ValueWriter::finish() {
  hand_over();
  queue_.finish();
}

void ValueWriter::write_block(Block& block) const {
  for (std::size_t done = 0; done < block.bytes.size();) {
    const ssize_t n = ::pwrite(file_.get(), block.bytes.data() + done, block.bytes.size() - done,
                               static_cast<off_t>(block.offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw_file_error(path_, n < 0 ? errno : EIO);
    done += static_cast<std::size_t>(n);
  }
  block.bytes.clear();
}

}  // namespace hotloop
