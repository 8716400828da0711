// How a file of a log begins: its datasets, their chunks and attributes.
#include "data/log/log_segment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "data/file.h"
#include "data/hdf5_types.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;           // at most
constexpr std::size_t kBlockBytes = std::size_t{1} << 18;           // of datasets that are not cut by worlds
constexpr std::int64_t kWorldGroup = 256;                           // worlds of a chunk
constexpr std::int64_t kMaxGroups = 4096;                           // of one row, however many worlds there are
constexpr std::int64_t kIndexEntries = 16384, kIndexLimit = 65534;  // chunks of a dataset; what HDF5 can address
constexpr std::int64_t kTableChunk = 4096;

// The largest divisor of `rows` with which chunks keep to their size.
std::int64_t chunk_rows(std::int64_t rows, std::size_t row_bytes) {
  const auto most =
      static_cast<std::int64_t>(std::max<std::size_t>(1, kChunkBytes / std::max<std::size_t>(1, row_bytes)));
  for (std::int64_t parts = 1; parts <= rows; ++parts)
    if (rows % parts == 0 && rows / parts <= most) return rows / parts;
  return 1;
}

// Metadata go to the file in flushes only, or a kill between two would find some of them new and others old.
void keep_metadata_in_memory(hid_t access) {
  H5AC_cache_config_t config{};
  config.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  hdf5_check(H5Pget_mdc_config(access, &config), "HDF5 metadata cache");
  config.evictions_enabled = false;
  config.incr_mode = H5C_incr__off;
  config.flash_incr_mode = H5C_flash_incr__off;
  config.decr_mode = H5C_decr__off;
  hdf5_check(H5Pset_mdc_config(access, &config), "HDF5 metadata cache");
}

Hdf5Handle file_access() {
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), "HDF5");
  hdf5_check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST), "HDF5");
  hdf5_check(H5Pset_file_locking(access.get(), true, true), "HDF5");
  keep_metadata_in_memory(access.get());
  return access;
}

}  // namespace

LogSegment::LogSegment(fs::path path, const LogSpec& spec, int gzip, ThreadPool& pool)
    : path_(std::move(path)), part_(log_part_path(path_)), spec_(spec), gzip_(gzip), pool_(pool) {
  const Hdf5Quiet quiet;
  const auto worlds = static_cast<std::int64_t>(spec.env_index.size());
  const std::int64_t group = std::max(std::min(worlds, kWorldGroup), (worlds + kMaxGroups - 1) / kMaxGroups);
  for (const LogKey& key : spec.keys) columns_.push_back(column(key, spec.info.num_steps, worlds, group));
  const std::vector<std::int64_t> observation = {spec.obs_dim};
  std::vector<LogKey> others = {
      {"last_observation", DType::f32, observation, "of the task", "after the last row of each iteration"}};
  if (spec.state_bytes > 0)
    others.push_back({"state", DType::u8, {}, "byte", "of all worlds, before the iteration's first step"});
  columns_.push_back(column(others[0], 1, worlds, std::max<std::int64_t>(1, kBlockBytes / others[0].bytes())));
  if (spec.state_bytes > 0)
    columns_.push_back(column(others[1], 1, static_cast<std::int64_t>(spec.state_bytes), kChunkBytes));
  plan_index();
  // under another name until it can be opened
  const fs::path temporary = part_.string() + ".tmp." + std::to_string(::getpid());
  try {
    create_file(temporary);
    for (std::size_t i = 0; i < columns_.size(); ++i)
      create_column(columns_[i], i < spec.keys.size() ? spec.keys[i] : others[i - spec.keys.size()]);
    const hsize_t d = static_cast<hsize_t>(spec.obs_dim);
    final_row_ = create_table("final/row", DType::i64, {}, "row of each episode's last step");
    final_env_ = create_table("final/env", DType::i32, {}, "column of each episode");
    final_observation_ = create_table("final/observation", DType::f32, {d}, "last observation of each episode");
    step_ = create_table("iteration/global_step", DType::i64, {}, "environment steps of the run before the iteration");
    final_end_ = create_table("iteration/final_end", DType::i64, {}, "entries of final/* up to the iteration's end");
    index_ = create_table("iteration/index", DType::i64, {}, "iteration of the run; -1: not whole");
    write_attributes();
    hdf5_check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), part_.string());
    if (::rename(temporary.c_str(), part_.c_str()) != 0) throw_file_error(part_, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

LogSegment::Column LogSegment::column(const LogKey& key, std::int64_t rows, std::int64_t width,
                                      std::int64_t chunk_width) const {
  Column c;
  c.name = key.name;
  c.rows = rows;
  c.width = width;
  c.item = key.bytes();
  c.element = dtype_size(key.dtype);
  c.chunk_width = std::min(width, chunk_width);
  c.chunk_rows = chunk_rows(rows, static_cast<std::size_t>(c.chunk_width) * c.item);
  c.dims = {0, static_cast<hsize_t>(width)};
  c.dims.insert(c.dims.end(), key.shape.begin(), key.shape.end());
  return c;
}

// The index of a dataset is a B-tree. One whose root has room for every chunk is a single block of the file that only
// grows in place, so that a flush cut short by a kill harms nothing that was flushed before.
void LogSegment::plan_index() {
  std::int64_t most = 1;
  for (const Column& c : columns_) most = std::max(most, c.chunks_per_iteration());
  const std::int64_t expected = std::max<std::int64_t>(1, spec_.expected_iterations);
  const std::int64_t wanted = expected > kIndexEntries / most ? kIndexEntries : most * expected;
  index_capacity_ = std::min(kIndexLimit, (std::max<std::int64_t>({wanted, most, 64}) + 1) / 2 * 2);
}

void LogSegment::create_file(const fs::path& path) {
  const Hdf5Handle creation(H5Pcreate(H5P_FILE_CREATE), "HDF5"), access = file_access();
  hdf5_check(H5Pset_istore_k(creation.get(), static_cast<unsigned>(index_capacity_ / 2)), "HDF5 index");
  file_ = Hdf5Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()),
                     "cannot write " + path_.string());
  for (const char* group : {"/next", "/final", "/iteration"})
    Hdf5Handle(H5Gcreate2(file_.get(), group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), part_.string());
}

Hdf5Handle LogSegment::create(const std::string& name, DType dtype, const std::vector<hsize_t>& dims,
                              const std::vector<hsize_t>& chunk, int gzip) {
  const std::string what = where(name);
  std::vector<hsize_t> most = dims;
  most[0] = H5S_UNLIMITED;
  const Hdf5Handle type = hdf5_type(dtype, what);
  const Hdf5Handle space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), most.data()), what);
  const Hdf5Handle layout(H5Pcreate(H5P_DATASET_CREATE), what);
  hdf5_check(H5Pset_chunk(layout.get(), static_cast<int>(chunk.size()), chunk.data()), what);
  if (name == "iteration/index") {
    const std::int64_t none = -1;
    hdf5_check(H5Pset_fill_value(layout.get(), H5T_NATIVE_INT64, &none), what);
  }
  if (gzip > 0) {
    hdf5_check(H5Pset_shuffle(layout.get()), what);
    hdf5_check(H5Pset_deflate(layout.get(), static_cast<unsigned>(gzip)), what);
  }
  return Hdf5Handle(
      H5Dcreate2(file_.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, layout.get(), H5P_DEFAULT), what);
}

void LogSegment::create_column(Column& c, const LogKey& key) {
  std::vector<hsize_t> chunk = c.dims;
  chunk[0] = static_cast<hsize_t>(c.chunk_rows);
  chunk[1] = static_cast<hsize_t>(c.chunk_width);
  c.set = create(c.name, key.dtype, c.dims, chunk, gzip_);
  write_text_attribute(c.set.get(), "units", key.units, where(c.name));
  write_text_attribute(c.set.get(), "description", key.description, where(c.name));
  if (!key.names.empty())
    write_text_attribute(c.set.get(), "names", fmt::format("{}", fmt::join(key.names, ",")), where(c.name));
}

LogSegment::Table LogSegment::create_table(const std::string& name, DType dtype, std::vector<hsize_t> item,
                                           const std::string& description) {
  Table table;
  table.name = name;
  table.type = hdf5_type(dtype, where(name));
  table.dims = {0};
  table.dims.insert(table.dims.end(), item.begin(), item.end());
  std::vector<hsize_t> chunk = table.dims;
  chunk[0] = item.empty() ? kTableChunk : std::max<hsize_t>(1, kBlockBytes / (item[0] * sizeof(float)));
  table.set = create(name, dtype, table.dims, chunk, 0);
  write_text_attribute(table.set.get(), "units", item.empty() ? "" : "of the task", where(name));
  write_text_attribute(table.set.get(), "description", description, where(name));
  return table;
}

void LogSegment::write_attributes() {
  const std::string what = part_.string();
  const LogInfo& i = spec_.info;
  const std::pair<const char*, const std::string*> texts[] = {{"task", &i.task},
                                                              {"config", &i.config},
                                                              {"hotloop_version", &i.hotloop_version},
                                                              {"device", &i.device},
                                                              {"source", &i.source},
                                                              {"observation_space", &i.observation_space},
                                                              {"action_space", &i.action_space}};
  const std::pair<const char*, std::int64_t> numbers[] = {{"format_version", kLogFormatVersion},
                                                          {"seed", i.seed},
                                                          {"num_envs", i.num_envs},
                                                          {"num_steps", i.num_steps},
                                                          {"max_episode_steps", i.max_episode_steps},
                                                          {"dropped_iterations", 0}};
  write_text_attribute(file_.get(), "format", kLogFormat, what);
  for (const auto& [name, text] : texts) write_text_attribute(file_.get(), name, *text, what);
  for (const auto& [name, value] : numbers) write_integer_attribute(file_.get(), name, value, what);
  write_number_attribute(file_.get(), "share", 1.0, what);
  const hsize_t worlds = spec_.env_index.size();
  const Hdf5Handle space(H5Screate_simple(1, &worlds, nullptr), what);
  const Hdf5Handle set(
      H5Dcreate2(file_.get(), "env_index", H5T_STD_I32LE, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), what);
  hdf5_check(H5Dwrite(set.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, spec_.env_index.data()), what);
  write_text_attribute(set.get(), "units", "", what);
  write_text_attribute(set.get(), "description", "which worlds of the run the columns are", what);
}

}  // namespace hotloop
