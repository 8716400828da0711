#include "viz/source/history.h"

#include <algorithm>
#include <utility>

namespace hotloop {

namespace {
constexpr std::int64_t kMostPositions = 100000;
}

History::History(const Exec& exec, std::vector<Part> parts, std::size_t limit) : exec_(exec), parts_(std::move(parts)) {
  for (const Part& part : parts_) bytes_ += part.bytes;
  capacity_ =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(limit / std::max<std::size_t>(1, bytes_)), 2, kMostPositions);
  slots_.resize(static_cast<std::size_t>(capacity_));
}

std::vector<std::byte>& History::slot(std::int64_t position) const {
  return slots_[static_cast<std::size_t>(position % capacity_)];
}

void History::keep(std::int64_t position) {
  if (empty() || position <= first_ || position > last() + 1) {
    first_ = position;
    count_ = 0;
  }
  count_ = position - first_ + 1;
  if (count_ > capacity_) {
    count_ = capacity_;
    first_ = position - capacity_ + 1;
  }
  std::vector<std::byte>& bytes = slot(position);
  bytes.resize(bytes_);
  std::byte* to = bytes.data();
  for (const Part& part : parts_) {
    copy_async(exec_, to, Device{}, part.data, exec_.device, part.bytes);
    to += part.bytes;
  }
  synchronize(exec_);
}

void History::restore(std::int64_t position) const {
  for (std::size_t k = 0; k < parts_.size(); ++k) restore_part(position, k);
}

void History::restore_part(std::int64_t position, std::size_t part) const {
  const std::byte* from = slot(position).data();
  for (std::size_t k = 0; k < part; ++k) from += parts_[k].bytes;
  copy_async(exec_, parts_[part].data, exec_.device, from, Device{}, parts_[part].bytes);
  synchronize(exec_);
}

void History::clear() { count_ = 0; }

}  // namespace hotloop
