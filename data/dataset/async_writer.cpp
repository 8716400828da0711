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
  return sizeof e + (size(e.observations) + size(e.rewards) + size(e.reward_terms)) * sizeof(float) + size(e.actions) +
         size(e.terminated) + size(e.truncated);
}

}  // namespace

AsyncWriter::AsyncWriter(std::unique_ptr<DatasetWriter> writer, const std::filesystem::path& path)
    : writer_(std::move(writer)), write_behind_(path) {
  if (hdf5_knows_threads()) queue_.emplace(kMostQueued, [this](Batch& batch) { write(batch); });
}

void AsyncWriter::append(Episode& episode) {
  if (filling_.count == filling_.episodes.size()) filling_.episodes.emplace_back();
  filling_.bytes += bytes_of(episode, [](const auto& values) { return values.size(); });
  std::swap(filling_.episodes[filling_.count++], episode);
  if (filling_.bytes >= kBatchBytes) hand_over();
}

void AsyncWriter::hand_over() {
  if (queue_)
    queue_->push(filling_);
  else
    write(filling_);
}

void AsyncWriter::finish() {
  hand_over();
  if (queue_) queue_->finish();
  writer_->finish();
}

void AsyncWriter::write(Batch& batch) {
  for (std::size_t i = 0; i < batch.count; ++i) writer_->append(batch.episodes[i]);
  std::size_t kept = 0;
  for (const Episode& e : batch.episodes) kept += bytes_of(e, [](const auto& values) { return values.capacity(); });
  if (kept > kMostKeptBytes) batch.episodes.clear();
  batch.count = batch.bytes = 0;
}

}  // namespace hotloop
