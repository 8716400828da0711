// One segment of a log, opened to be read. LogReader is its user; iterations and rows are counted in this file.
#pragma once
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "data/hdf5_handle.h"
#include "data/log/log_format.h"
#include "data/log/log_reader.h"

namespace hotloop {

class LogFile {
 public:
  // Lines about what cannot be read are appended to `problems`. Error where nothing can be.
  LogFile(std::filesystem::path path, std::vector<std::string>& problems);

  const LogInfo& info() const { return info_; }
  const std::vector<LogKey>& keys() const { return keys_; }
  const std::vector<std::int32_t>& env_index() const { return env_index_; }
  const std::vector<LoggedIteration>& iterations() const { return iterations_; }
  // Whether the file names more iterations than can be read; how many is not known.
  bool lost_iterations() const { return lost_iterations_; }
  std::int64_t obs_dim() const { return obs_dim_; }
  std::size_t state_bytes() const { return state_bytes_; }
  std::int64_t world_group() const { return world_group_; }
  std::int64_t chunk_worlds(std::size_t key) const { return std::max<std::int64_t>(1, sets_[key].chunk_width); }
  // Leaves out the iterations from `index` of the run on.
  void cut(std::int64_t index);

  void read(std::size_t key, std::int64_t row, std::int64_t rows, std::int64_t world, std::int64_t worlds,
            void* out) const;
  void read_last_observation(std::int64_t iteration, std::int64_t world, std::int64_t worlds, float* out) const;
  LogFinals read_finals(std::int64_t iteration) const;
  void read_state(std::int64_t iteration, std::byte* out) const;

 private:
  struct Set {
    Hdf5Handle set, type;
    std::vector<hsize_t> dims;
    std::int64_t chunk_width = 1;
    std::string where;
  };
  Set open(const std::string& name, bool chunked) const;
  void check_storage(const Set& set, bool chunked) const;
  void read_info();
  void read_env_index();
  void find_keys(std::vector<std::string>& problems);
  void add_key(const std::string& name, std::vector<std::string>& problems);
  void open_others(std::vector<std::string>& problems);
  void count_iterations(std::vector<std::string>& problems);
  void drop_unstored(std::vector<std::string>& problems);
  void read_block(const Set& set, const std::vector<hsize_t>& start, const std::vector<hsize_t>& count, hid_t type,
                  void* out) const;
  void check_size(double bytes, const std::string& what) const;

  std::filesystem::path path_;
  double file_bytes_ = 0;
  Hdf5Handle file_;
  LogInfo info_;
  std::vector<std::int32_t> env_index_;
  std::vector<LogKey> keys_;
  std::vector<Set> sets_;  // of keys_
  Set last_observation_, state_, final_row_, final_env_, final_observation_;
  std::vector<LoggedIteration> iterations_;
  std::vector<std::int64_t> final_end_;
  std::int64_t obs_dim_ = 0, world_group_ = 1;
  std::size_t state_bytes_ = 0;
  bool has_last_observation_ = false, has_finals_ = false, lost_iterations_ = false;
};

}  // namespace hotloop
