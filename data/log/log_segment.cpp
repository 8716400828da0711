#include "data/log/log_segment.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "data/file.h"
#include "data/hdf5_types.h"
#include "data/log/chunk.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFlushRoom = 4 << 20;  // more than a flush places in the file

}  // namespace

bool LogSegment::full() const {
  return std::any_of(columns_.begin(), columns_.end(), [&](const Column& c) {
    return c.chunks > 0 && c.chunks + c.chunks_per_iteration() > index_capacity_;
  });
}

void LogSegment::append(const LogIteration& iteration) {
  const Hdf5Quiet quiet;
  const std::int64_t entries = static_cast<std::int64_t>(iteration.final_row.size());
  // where this fails, what it has added stays: no row counts that `index` does not name, and taking chunks back from a
  // full disk has cost the iteration before
  const std::size_t keys = spec_.keys.size();
  for (std::size_t i = 0; i < keys; ++i) append_column(columns_[i], iteration.leaves[i]);
  append_column(columns_[keys], reinterpret_cast<const std::byte*>(iteration.last_observation));
  if (spec_.state_bytes > 0) append_column(columns_[keys + 1], iteration.state);
  std::vector<std::int64_t> rows = iteration.final_row;
  for (std::int64_t& row : rows) row += iterations_ * spec_.info.num_steps;
  append_table(final_row_, rows.data(), entries);
  append_table(final_env_, iteration.final_env.data(), entries);
  append_table(final_observation_, iteration.final_observation.data(), entries);
  ++iterations_;
  entries_ += entries;
  new_step_.push_back(iteration.global_step);
  new_final_end_.push_back(entries_);
  new_index_.push_back(iteration.index);
}

void LogSegment::append_column(Column& c, const std::byte* data) {
  const std::string what = where(c.name);
  const hsize_t first_row = c.dims[0];
  c.dims[0] += static_cast<hsize_t>(c.rows);
  hdf5_check(H5Dset_extent(c.set.get(), c.dims.data()), what);
  const std::int64_t count = c.chunks_per_iteration(), groups = c.groups();
  const int parallel = gzip_ > 0 ? 4 * pool_.size() : 1;
  std::vector<std::vector<std::byte>> chunks(static_cast<std::size_t>(parallel));
  const auto place_of = [&](std::int64_t k) {
    return ChunkPlace{
        k / groups * c.chunk_rows, c.chunk_rows, k % groups * c.chunk_width, c.chunk_width, c.width, c.item};
  };
  const auto make = [&](std::int64_t k, std::vector<std::byte>& chunk) {
    chunk.resize(c.chunk_bytes());
    gather_chunk(data, place_of(k), chunk.data());
    if (gzip_ == 0) return;
    std::vector<std::byte> shuffled(chunk.size());
    shuffle_bytes(chunk.data(), chunk.size(), c.element, shuffled.data());
    chunk = deflate_bytes(shuffled, gzip_);
  };
  std::vector<hsize_t> offset(c.dims.size());
  for (std::int64_t k = 0; k < count; k += parallel) {
    const auto batch = static_cast<int>(std::min<std::int64_t>(parallel, count - k));
    const bool in_place = gzip_ == 0 && groups == 1;  // the chunk's bytes are there as they are
    const std::byte* direct = data + static_cast<std::size_t>(k) * c.chunk_bytes();
    if (!in_place) pool_.run(batch, [&](int j) { make(k + j, chunks[static_cast<std::size_t>(j)]); });
    for (int j = 0; j < batch; ++j) {
      const ChunkPlace place = place_of(k + j);
      const std::vector<std::byte>& chunk = chunks[static_cast<std::size_t>(j)];
      const std::size_t size = in_place ? c.chunk_bytes() : chunk.size();
      offset[0] = first_row + static_cast<hsize_t>(place.row);
      offset[1] = static_cast<hsize_t>(place.begin);
      hdf5_check(H5Dwrite_chunk(c.set.get(), H5P_DEFAULT, 0, offset.data(), size, in_place ? direct : chunk.data()),
                 what);
      bytes_ += size;
      ++c.chunks;
    }
  }
}

void LogSegment::append_table(Table& table, const void* data, std::int64_t entries) {
  if (entries == 0) return;
  const std::string what = where(table.name);
  std::vector<hsize_t> start(table.dims.size()), count = table.dims;
  start[0] = table.dims[0];
  count[0] = static_cast<hsize_t>(entries);
  table.dims[0] += count[0];
  hdf5_check(H5Dset_extent(table.set.get(), table.dims.data()), what);
  const Hdf5Handle memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), what);
  const Hdf5Handle space(H5Dget_space(table.set.get()), what);
  hdf5_check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), what);
  hdf5_check(H5Dwrite(table.set.get(), table.type.get(), memory.get(), space.get(), H5P_DEFAULT, data), what);
  bytes_ += H5Tget_size(table.type.get()) * count[0] * (count.size() > 1 ? count[1] : 1);
}

// A flush writes how long the file is and only then makes it so; one that is shorter does not open. Room made before
// keeps that from happening, whether a kill or a limit cuts the flush short. It takes no space on the disk.
void LogSegment::reserve(std::uint64_t room) {
  haddr_t end = 0;
  hdf5_check(H5Fget_eoa(file_.get(), &end), part_.string());
  std::error_code ignored;
  if (fs::file_size(part_, ignored) >= end + room) return;
  if (::truncate(part_.c_str(), static_cast<off_t>(end + room)) != 0) throw_file_error(part_, errno);
}

void LogSegment::flush() {
  if (new_index_.empty()) return;
  const Hdf5Quiet quiet;
  const auto count = static_cast<std::int64_t>(new_index_.size());
  std::error_code ignored;
  if (!fs::exists(part_, ignored)) throw Error(part_.string() + ": the file is gone");
  for (Table* table : {&step_, &final_end_, &index_}) table->dims[0] = static_cast<hsize_t>(iterations_ - count);
  append_table(step_, new_step_.data(), count);
  append_table(final_end_, new_final_end_.data(), count);
  reserve(kFlushRoom);
  hdf5_check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), part_.string());
  append_table(index_, new_index_.data(), count);
  hdf5_check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), part_.string());
  committed_ = iterations_;
  new_step_.clear();
  new_final_end_.clear();
  new_index_.clear();
}

void LogSegment::finish(std::int64_t dropped_iterations, double share) {
  const Hdf5Quiet quiet;
  flush();
  write_integer_attribute(file_.get(), "dropped_iterations", dropped_iterations, part_.string());
  write_number_attribute(file_.get(), "share", share, part_.string());
  reserve(kFlushRoom);
  hdf5_check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), part_.string());
  for (Column& c : columns_) c.set.reset();
  for (Table* table : {&final_row_, &final_env_, &final_observation_, &step_, &final_end_, &index_}) table->set.reset();
  hdf5_check(H5Fclose(file_.release()), part_.string());
  cut_to_end();
  rename_durably(part_, path_);
}

// The room that flushes have made.
void LogSegment::cut_to_end() {
  haddr_t end = 0;
  {
    const Hdf5Handle file(H5Fopen(part_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), part_.string());
    hdf5_check(H5Fget_eoa(file.get(), &end), part_.string());
  }
  if (::truncate(part_.c_str(), static_cast<off_t>(end)) != 0) throw_file_error(part_, errno);
}

// HDF5's own close would write what it holds, which has just failed, and could leave less than the last flush did.
void LogSegment::abandon() {
  for (Column& c : columns_) c.set.release();
  for (Table* table : {&final_row_, &final_env_, &final_observation_, &step_, &final_end_, &index_})
    table->set.release();
  file_.release();
  if (committed_ > 0) rename_durably(part_, path_);
}

}  // namespace hotloop
