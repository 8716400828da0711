// One file of a log while it is written. LogWriter is its user.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "data/hdf5_handle.h"
#include "data/log/log_format.h"
#include "sim/core/thread_pool.h"

namespace hotloop {

// One logged iteration in host memory. Arrays are dense and hold the logged worlds only, but for `state`.
struct LogIteration {
  std::int64_t index = 0, global_step = 0;
  std::vector<const std::byte*> leaves;     // as LogSpec::keys, each [num_steps, N, shape...]
  const float* last_observation = nullptr;  // [N, d]
  std::vector<std::int64_t> final_row;      // within the iteration, ascending
  std::vector<std::int32_t> final_env;      // column
  std::vector<float> final_observation;     // [entries, d]
  const std::byte* state = nullptr;         // [LogSpec::state_bytes]
};

class LogSegment {
 public:
  // Creates <path>.part. Error where that cannot be. gzip 0: no filters.
  LogSegment(std::filesystem::path path, const LogSpec& spec, int gzip, ThreadPool& pool);
  LogSegment(const LogSegment&) = delete;
  LogSegment& operator=(const LogSegment&) = delete;

  // After a failure the file holds whole iterations only.
  void append(const LogIteration& iteration);
  // What was appended survives a kill from now on.
  void flush();
  // Flushes, closes, synchronises and gives the file its name.
  void finish(std::int64_t dropped_iterations, double share);

  // After a failure: what the last flush made of the file is all that becomes of it.
  void abandon();

  bool full() const;  // HDF5 would have to split the index of a dataset
  std::uint64_t bytes() const { return bytes_; }
  std::int64_t iterations() const { return iterations_; }

 private:
  // A dataset [rows, width, ...], written in whole chunks [chunk_rows, chunk_width, ...].
  struct Column {
    std::string name;
    Hdf5Handle set;
    std::vector<hsize_t> dims;
    std::int64_t rows = 1, width = 1;  // of an iteration
    std::int64_t chunk_rows = 1, chunk_width = 1, chunks = 0;
    std::size_t item = 1, element = 1;  // [bytes] of one of `width`, of one number

    std::int64_t groups() const { return (width + chunk_width - 1) / chunk_width; }
    std::int64_t chunks_per_iteration() const { return rows / chunk_rows * groups(); }
    std::size_t chunk_bytes() const { return static_cast<std::size_t>(chunk_rows * chunk_width) * item; }
  };
  // A dataset [entries, ...] that grows by any number of them.
  struct Table {
    std::string name;
    Hdf5Handle set, type;
    std::vector<hsize_t> dims;
  };

  Column column(const LogKey& key, std::int64_t rows, std::int64_t width, std::int64_t chunk_width) const;
  void plan_index();
  void create_file(const std::filesystem::path& path);
  void create_column(Column& column, const LogKey& key);
  Table create_table(const std::string& name, DType dtype, std::vector<hsize_t> item, const std::string& description);
  Hdf5Handle create(const std::string& name, DType dtype, const std::vector<hsize_t>& dims,
                    const std::vector<hsize_t>& chunk, int gzip);
  void write_attributes();
  void append_column(Column& column, const std::byte* data);
  void append_table(Table& table, const void* data, std::int64_t entries);
  void reserve(std::uint64_t room);
  void cut_to_end();
  std::string where(const std::string& name) const { return part_.string() + ": '" + name + "'"; }

  std::filesystem::path path_, part_;
  LogSpec spec_;
  int gzip_;
  ThreadPool& pool_;
  std::int64_t index_capacity_ = 0;  // chunks of one dataset
  Hdf5Handle file_;
  std::vector<Column> columns_;  // LogSpec::keys, last_observation, state
  Table final_row_, final_env_, final_observation_, step_, final_end_, index_;
  std::vector<std::int64_t> new_step_, new_final_end_, new_index_;  // since the last flush
  std::int64_t iterations_ = 0, committed_ = 0, entries_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace hotloop
