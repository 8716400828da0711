#include "viz/source/leaf_copies.h"

#include <algorithm>
#include <cstring>

namespace hotloop {
namespace {

template <class T>
std::vector<float> widened(const std::byte* from, std::size_t count) {
  std::vector<float> to(count);
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    to[i] = static_cast<float>(value);
  }
  return to;
}

}  // namespace

std::vector<float> as_floats(DType dtype, const std::byte* from, std::size_t count) {
  switch (dtype) {
    case DType::f32:
      return widened<float>(from, count);
    case DType::f64:
      return widened<double>(from, count);
    case DType::i64:
      return widened<std::int64_t>(from, count);
    case DType::i32:
      return widened<std::int32_t>(from, count);
    case DType::i16:
      return widened<std::int16_t>(from, count);
    case DType::i8:
      return widened<std::int8_t>(from, count);
    case DType::u8:
    case DType::boolean:
      return widened<std::uint8_t>(from, count);
    case DType::f16:
    case DType::bf16:
      break;
  }
  return {};
}

std::vector<float> LeafCopies::ask(const std::string& leaf, std::int64_t row, std::int64_t rows) {
  const std::lock_guard lock(mutex_);
  Copy& copy = copies_[{leaf, row, rows}];
  if (copy.under_way && copy.done->reached()) {
    copy.values = as_floats(copy.dtype, copy.host.data(), copy.bytes / dtype_size(copy.dtype));
    copy.under_way = false;
    copy.arrived = true;
  }
  copy.wanted = true;
  return copy.values;
}

void LeafCopies::serve(Trainer& trainer) {
  const std::lock_guard lock(mutex_);
  if (!copies_.empty() && trainer.rollout() == nullptr) {
    trainer.show_rollout();
    return;  // the rollout before is not to be seen any more
  }
  bool updated = false;
  for (auto& [key, copy] : copies_) {
    if (!copy.wanted || copy.under_way || !trainer.rollout()->contains(key.leaf)) continue;
    if (!updated) trainer.update_rollout();
    updated = true;
    queue(trainer, key, copy);
  }
}

void LeafCopies::queue(Trainer& trainer, const Key& key, Copy& copy) {
  const Exec& exec = trainer.exec();
  const Leaf& leaf = trainer.rollout()->leaf(key.leaf);
  const std::int64_t all = leaf.shape.empty() ? 1 : std::max<std::int64_t>(1, leaf.shape[0]);
  const std::int64_t rows = std::min(key.rows, all);
  const std::int64_t row = key.row < 0 ? all - rows : std::min(key.row, all - rows);
  const std::size_t item = leaf.bytes / static_cast<std::size_t>(all);
  copy.bytes = item * static_cast<std::size_t>(rows);
  copy.dtype = leaf.dtype;
  if (copy.host.bytes() < copy.bytes)
    copy.host = Memory(exec.device, copy.bytes, exec.device.is_cuda() ? Memory::Kind::pinned : Memory::Kind::plain);
  if (!copy.done) copy.done = std::make_unique<EventHandle>(exec.device);
  copy_async(exec, copy.host.data(), {}, trainer.rollout()->bytes(leaf) + static_cast<std::size_t>(row) * item,
             exec.device, copy.bytes);
  copy.done->record(exec);
  copy.wanted = false;
  copy.under_way = true;
}

}  // namespace hotloop
