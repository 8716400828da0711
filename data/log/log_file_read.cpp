// Values of a segment, once its sizes are known.
#include <sys/stat.h>

#include <algorithm>

#include "data/log/log_file.h"

namespace hotloop {
namespace {

// HDF5 reads zeros where a file that it has open was cut.
void check_not_cut(hid_t file, double bytes, const std::string& path) {
  void* descriptor = nullptr;
  hdf5_check(H5Fget_vfd_handle(file, H5P_DEFAULT, &descriptor), path);
  struct stat now = {};
  if (::fstat(*static_cast<int*>(descriptor), &now) == 0 && static_cast<double>(now.st_size) < bytes)
    throw Error(path + ": was cut short while it was read");
}

}  // namespace

void LogFile::read_block(const Set& set, const std::vector<hsize_t>& start, const std::vector<hsize_t>& count,
                         hid_t type, void* out) const {
  const Hdf5Quiet quiet;
  check_not_cut(file_.get(), file_bytes_, path_.string());
  const Hdf5Handle memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), set.where);
  const Hdf5Handle space(H5Dget_space(set.set.get()), set.where);
  hdf5_check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), set.where);
  hdf5_check(H5Dread(set.set.get(), type, memory.get(), space.get(), H5P_DEFAULT, out), set.where);
}

void LogFile::read(std::size_t key, std::int64_t row, std::int64_t rows, std::int64_t world, std::int64_t worlds,
                   void* out) const {
  const Set& set = sets_[key];
  std::vector<hsize_t> start(set.dims.size()), count = set.dims;
  start[0] = static_cast<hsize_t>(row), start[1] = static_cast<hsize_t>(world);
  count[0] = static_cast<hsize_t>(rows), count[1] = static_cast<hsize_t>(worlds);
  read_block(set, start, count, set.type.get(), out);
  if (keys_[key].dtype != DType::boolean) return;
  auto* bytes = static_cast<std::uint8_t*>(out);  // a damaged byte must not become a bool that is neither
  std::for_each(bytes, bytes + rows * worlds * keys_[key].numel(), [](std::uint8_t& b) { b = b != 0; });
}

void LogFile::read_last_observation(std::int64_t iteration, std::int64_t world, std::int64_t worlds, float* out) const {
  if (!has_last_observation_) throw Error(path_.string() + ": 'last_observation' cannot be read");
  read_block(last_observation_, {static_cast<hsize_t>(iteration), static_cast<hsize_t>(world), 0},
             {1, static_cast<hsize_t>(worlds), static_cast<hsize_t>(obs_dim_)}, H5T_NATIVE_FLOAT, out);
}

LogFinals LogFile::read_finals(std::int64_t iteration) const {
  if (!has_finals_) throw Error(path_.string() + ": 'final' cannot be read");
  const auto i = static_cast<std::size_t>(iteration);
  const std::int64_t begin = i == 0 ? 0 : final_end_[i - 1], entries = final_end_[i] - begin;
  // these tables are never deflated
  if (static_cast<double>(entries) * static_cast<double>(obs_dim_) * 4 > file_bytes_)
    throw Error(final_observation_.where + " is larger than the file can hold");
  LogFinals finals;
  if (entries == 0) return finals;
  const auto count = static_cast<hsize_t>(entries), first = static_cast<hsize_t>(begin);
  finals.row.resize(count);
  finals.env.resize(count);
  finals.observation.resize(count * static_cast<hsize_t>(obs_dim_));
  read_block(final_row_, {first}, {count}, H5T_NATIVE_INT64, finals.row.data());
  read_block(final_env_, {first}, {count}, H5T_NATIVE_INT32, finals.env.data());
  read_block(final_observation_, {first, 0}, {count, static_cast<hsize_t>(obs_dim_)}, H5T_NATIVE_FLOAT,
             finals.observation.data());
  for (std::size_t k = 0; k < count; ++k) {
    const bool ascending = k == 0 || finals.row[k] > finals.row[k - 1] ||
                           (finals.row[k] == finals.row[k - 1] && finals.env[k] > finals.env[k - 1]);
    if (!ascending || finals.row[k] < iteration * info_.num_steps ||
        finals.row[k] >= (iteration + 1) * info_.num_steps || finals.env[k] < 0 ||
        finals.env[k] >= static_cast<std::int32_t>(env_index_.size()))
      throw Error(final_row_.where + ": entry " + std::to_string(begin + static_cast<std::int64_t>(k)) +
                  " is out of order or range");
  }
  return finals;
}

void LogFile::read_state(std::int64_t iteration, std::byte* out) const {
  if (state_bytes_ == 0) throw Error(path_.string() + ": holds no 'state'");
  read_block(state_, {static_cast<hsize_t>(iteration), 0}, {1, state_bytes_}, H5T_NATIVE_UINT8, out);
}

}  // namespace hotloop
