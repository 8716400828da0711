#include "data/log/log_file.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "data/hdf5_read.h"
#include "data/hdf5_room.h"
#include "data/hdf5_types.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr hsize_t kIndexBlock = 4096;
constexpr std::int64_t kMostWorlds = std::int64_t{1} << 31, kMostSteps = std::int64_t{1} << 20;

std::int64_t bounded(std::int64_t value, std::int64_t low, std::int64_t high, const std::string& what) {
  if (value < low || value > high)
    throw Error(what + ": " + std::to_string(value) + " is not in [" + std::to_string(low) + ", " +
                std::to_string(high) + "]");
  return value;
}

}  // namespace

LogFile::LogFile(fs::path path, std::vector<std::string>& problems) : path_(std::move(path)) {
  const Hdf5Quiet quiet;
  std::error_code error;
  file_bytes_ = static_cast<double>(fs::file_size(path_, error));
  if (error) throw Error(path_.string() + ": " + error.message());
  try {
    file_ = Hdf5Handle(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), path_.string());
  } catch (const Error& e) {
    const bool locked = std::string(e.what()).find("temporarily unavailable") != std::string::npos;
    throw Error(std::string(e.what()) +
                (locked ? " (another program is writing it)" : " (is it an HDF5 file, and whole?)"));
  }
  read_info();
  read_env_index();
  find_keys(problems);
  open_others(problems);
  count_iterations(problems);
  drop_unstored(problems);
}

void LogFile::read_info() {
  const std::string what = path_.string();
  const Hdf5Handle root(H5Gopen2(file_.get(), "/", H5P_DEFAULT), what);
  if (H5Aexists(root.get(), "format") <= 0 || read_text_attribute(root.get(), "format", what) != kLogFormat)
    throw Error(what + ": is no trajectory log (attribute 'format' is not '" + kLogFormat + "')");
  const auto number = [&](const char* name, std::int64_t low, std::int64_t high) {
    return bounded(read_integer_attribute(root.get(), name, what), low, high, what + ": attribute '" + name + "'");
  };
  const std::int64_t version = read_integer_attribute(root.get(), "format_version", what);
  if (version != kLogFormatVersion)
    throw Error(what + ": format_version " + std::to_string(version) + ": this version of hotloop reads 1");
  const std::pair<const char*, std::string*> texts[] = {{"task", &info_.task},
                                                        {"config", &info_.config},
                                                        {"hotloop_version", &info_.hotloop_version},
                                                        {"device", &info_.device},
                                                        {"source", &info_.source},
                                                        {"observation_space", &info_.observation_space},
                                                        {"action_space", &info_.action_space}};
  for (const auto& [name, text] : texts) *text = read_text_attribute(root.get(), name, what);
  info_.seed = number("seed", 0, INT64_MAX);
  info_.num_envs = number("num_envs", 1, kMostWorlds);
  info_.num_steps = number("num_steps", 1, kMostSteps);
  info_.max_episode_steps = number("max_episode_steps", 0, INT32_MAX);
}

void LogFile::check_size(double bytes, const std::string& what) const {
  if (bytes > kMostDeflate * file_bytes_) throw Error(what + " is larger than the file can hold");
}

void LogFile::check_storage(const Set& set, bool chunked) const {
  const Hdf5Handle layout(H5Dget_create_plist(set.set.get()), set.where);
  if (H5Pget_layout(layout.get()) != (chunked ? H5D_CHUNKED : H5D_CONTIGUOUS))
    throw Error(set.where + " is not stored as logs are");
  check_hdf5_storage(layout, set.dims.size(), H5Tget_size(set.type.get()), set.where);
}

LogFile::Set LogFile::open(const std::string& name, bool chunked) const {
  Set set;
  set.where = path_.string() + ": '" + one_line(name) + "'";
  const std::size_t slash = name.find('/');
  const bool reachable = slash == std::string::npos || hdf5_is_hard_link(file_.get(), name.substr(0, slash));
  if (!reachable || !hdf5_is_hard_link(file_.get(), name)) throw Error(set.where + " is missing");
  set.set = Hdf5Handle(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT), set.where);
  const Hdf5Handle type(H5Dget_type(set.set.get()), set.where);
  set.type = hdf5_type(hdf5_dtype(type.get(), set.where), set.where);
  set.dims = hdf5_dims(set.set.get(), set.where);
  if (set.dims.empty()) throw Error(set.where + " is one value");
  check_storage(set, chunked);
  const Hdf5Handle layout(H5Dget_create_plist(set.set.get()), set.where);
  if (chunked && H5Pget_nfilters(layout.get()) == 0) {
    // what is not compressed is read where it is wanted: HDF5 would first read, and copy, each chunk whole
    const Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS), set.where);
    hdf5_check(H5Pset_chunk_cache(access.get(), 1, 0, 1), set.where);
    set.set = Hdf5Handle();
    set.set = Hdf5Handle(H5Dopen2(file_.get(), name.c_str(), access.get()), set.where);
  }
  if (chunked && set.dims.size() > 1) {
    std::vector<hsize_t> chunk(set.dims.size());
    hdf5_check(H5Pget_chunk(layout.get(), static_cast<int>(chunk.size()), chunk.data()), set.where);
    set.chunk_width = static_cast<std::int64_t>(chunk[1]);
  }
  return set;
}

void LogFile::read_env_index() {
  const Set set = open("env_index", false);
  if (set.dims.size() != 1 || set.dims[0] < 1 || set.dims[0] > static_cast<hsize_t>(info_.num_envs))
    throw Error(set.where + " does not fit num_envs " + std::to_string(info_.num_envs));
  check_size(static_cast<double>(set.dims[0]) * 4 / kMostDeflate, set.where);  // never deflated
  env_index_.resize(set.dims[0]);
  hdf5_check(H5Dread(set.set.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, env_index_.data()), set.where);
  for (std::size_t i = 0; i < env_index_.size(); ++i)
    if (env_index_[i] < 0 || env_index_[i] >= info_.num_envs || (i > 0 && env_index_[i] <= env_index_[i - 1]))
      throw Error(set.where + ": world " + std::to_string(env_index_[i]) + " is out of order or range");
}

void LogFile::find_keys(std::vector<std::string>& problems) {
  const std::string what = path_.string();
  // beside the keys; open_others and count_iterations read them
  const std::set<std::string> sets = {"env_index", "last_observation", "state"};
  const std::map<std::string, std::set<std::string>> tables = {{"final", {"row", "env", "observation"}},
                                                               {"iteration", {"index", "global_step", "final_end"}}};
  for (const std::string& name : hdf5_names(file_.get(), "/", what)) {
    if (sets.contains(name)) continue;
    const auto table = tables.find(name);
    if (!hdf5_is_group(file_.get(), name)) {
      if (table == tables.end()) add_key(name, problems);
      continue;
    }
    const std::vector<std::string> inner = hdf5_names(file_.get(), name, what);
    if (inner.empty()) problems.push_back(what + ": '" + one_line(name) + "' is an empty group");
    for (const std::string& set : inner) {
      const std::string path = name + "/" + set;
      if (table == tables.end())
        add_key(path, problems);
      else if (!table->second.contains(set))
        problems.push_back(what + ": '" + one_line(path) + "' is nothing that a log holds");
    }
  }
}

void LogFile::add_key(const std::string& name, std::vector<std::string>& problems) {
  try {
    Set set = open(name, true);
    LogKey key;
    key.name = name;
    const Hdf5Handle type(H5Dget_type(set.set.get()), set.where);
    key.dtype = hdf5_dtype(type.get(), set.where);
    if (set.dims.size() < 2 || set.dims[1] != env_index_.size()) throw Error(set.where + " has no column a world");
    double bytes = static_cast<double>(dtype_size(key.dtype));
    for (std::size_t k = 2; k < set.dims.size(); ++k) {
      key.shape.push_back(static_cast<std::int64_t>(set.dims[k]));
      bytes *= static_cast<double>(set.dims[k]);
    }
    if (bytes <= 0) throw Error(set.where + " is empty");
    // readers hold the rows of a whole iteration, of which each that is there was written
    const bool any = set.dims[0] >= static_cast<hsize_t>(info_.num_steps);
    check_size(any ? bytes * static_cast<double>(info_.num_steps) * static_cast<double>(env_index_.size()) : bytes,
               set.where);
    key.units = read_text_attribute(set.set.get(), "units", set.where);
    key.description = read_text_attribute(set.set.get(), "description", set.where);
    if (H5Aexists(set.set.get(), "names") > 0) {
      std::istringstream names(read_text_attribute(set.set.get(), "names", set.where));
      for (std::string name; std::getline(names, name, ',');) key.names.push_back(name);
    }
    world_group_ = std::max(world_group_, set.chunk_width);
    keys_.push_back(std::move(key));
    sets_.push_back(std::move(set));
  } catch (const Error& e) {
    problems.emplace_back(e.what());
  }
}

void LogFile::open_others(std::vector<std::string>& problems) {
  const auto try_open = [&](auto action) {
    try {
      action();
      return true;
    } catch (const Error& e) {
      problems.emplace_back(e.what());
      return false;
    }
  };
  has_last_observation_ = try_open([&] {
    last_observation_ = open("last_observation", true);
    const Set& s = last_observation_;
    if (s.dims.size() != 3 || s.dims[1] != env_index_.size() || s.dims[2] < 1)
      throw Error(s.where + " has another shape");
    check_size(static_cast<double>(s.dims[2]) * 4, s.where);
    obs_dim_ = static_cast<std::int64_t>(s.dims[2]);
  });
  has_finals_ = try_open([&] {
    final_row_ = open("final/row", true);
    final_env_ = open("final/env", true);
    final_observation_ = open("final/observation", true);
    const Set& s = final_observation_;
    if (final_row_.dims.size() != 1 || final_env_.dims.size() != 1 || s.dims.size() != 2 || s.dims[1] < 1)
      throw Error(s.where + " has another shape");
    if (has_last_observation_ && s.dims[1] != last_observation_.dims[2]) throw Error(s.where + " has another width");
    check_size(static_cast<double>(s.dims[1]) * 4, s.where);
    obs_dim_ = static_cast<std::int64_t>(s.dims[1]);
  });
  if (!hdf5_is_hard_link(file_.get(), "state")) return;
  try_open([&] {
    state_ = open("state", true);
    if (state_.dims.size() != 2) throw Error(state_.where + " has another shape");
    check_size(static_cast<double>(state_.dims[1]), state_.where);
    state_bytes_ = state_.dims[1];
  });
}

void LogFile::count_iterations(std::vector<std::string>& problems) {
  const Set index = open("iteration/index", true), step = open("iteration/global_step", true),
            end = open("iteration/final_end", true);
  hsize_t most = std::min({index.dims[0], step.dims[0], end.dims[0]});
  const auto limit = [&](const Set& set, std::int64_t rows) {
    most = std::min(most, set.dims[0] / static_cast<hsize_t>(rows));
  };
  for (const Set& set : sets_) limit(set, info_.num_steps);
  if (has_last_observation_) limit(last_observation_, 1);
  if (state_bytes_ > 0) limit(state_, 1);
  if (index.dims.size() != 1 || step.dims.size() != 1 || end.dims.size() != 1)
    throw Error(index.where + " has another shape");
  const hsize_t entries = has_finals_ ? std::min({final_row_.dims[0], final_env_.dims[0], final_observation_.dims[0]})
                                      : static_cast<hsize_t>(INT64_MAX);
  // block by block and only while ascending: what a file claims to hold costs no memory before it is seen
  for (hsize_t at = 0; at < most; at += kIndexBlock) {
    const hsize_t count = std::min(kIndexBlock, most - at);
    std::vector<std::int64_t> i(count), s(count), e(count);
    read_block(index, {at}, {count}, H5T_NATIVE_INT64, i.data());
    read_block(step, {at}, {count}, H5T_NATIVE_INT64, s.data());
    read_block(end, {at}, {count}, H5T_NATIVE_INT64, e.data());
    for (hsize_t k = 0; k < count; ++k) {
      if (i[k] < 0) return;  // torn by a kill
      const bool ascending = (iterations_.empty() || i[k] > iterations_.back().index) &&
                             e[k] >= (final_end_.empty() ? 0 : final_end_.back()) &&
                             static_cast<hsize_t>(e[k]) <= entries;
      if (!ascending) {
        problems.push_back(index.where + ": entry " + std::to_string(iterations_.size()) +
                           " and those after it are out of order");
        lost_iterations_ = true;
        return;
      }
      iterations_.push_back({i[k], s[k]});
      final_end_.push_back(e[k]);
    }
  }
  // an index is written after all else: more in it is no work of a kill
  std::int64_t next = -1;
  if (index.dims[0] > most) read_block(index, {most}, {1}, H5T_NATIVE_INT64, &next);
  if (next < 0) return;
  problems.push_back(index.where + ": names more iterations than the " + std::to_string(most) +
                     " of which all datasets hold the rows");
  lost_iterations_ = true;
}

// What claims to hold the rows of all iterations, but of which the file stores too little for that.
void LogFile::drop_unstored(std::vector<std::string>& problems) {
  Hdf5Room room(file_bytes_);
  const auto stored = [&](const Set& set, std::int64_t rows) {
    try {
      room.take(set.set.get(), set.dims, H5Tget_size(set.type.get()), static_cast<double>(rows), set.where);
      return true;
    } catch (const Error& e) {
      problems.emplace_back(e.what());
      return false;
    }
  };
  const auto iterations = static_cast<std::int64_t>(iterations_.size());
  for (std::size_t i = sets_.size(); i-- > 0;) {
    if (stored(sets_[i], iterations * info_.num_steps)) continue;
    sets_.erase(sets_.begin() + static_cast<std::ptrdiff_t>(i));
    keys_.erase(keys_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  has_last_observation_ = has_last_observation_ && stored(last_observation_, iterations);
  // whose memory readers ask for before they hear that it cannot be read
  if (!has_last_observation_ &&
      static_cast<double>(env_index_.size()) * static_cast<double>(obs_dim_) * 4 > file_bytes_)
    throw Error(final_observation_.where + " is larger than the file can hold");
  if (state_bytes_ > 0 && !stored(state_, iterations)) state_bytes_ = 0;
  const std::int64_t entries = final_end_.empty() ? 0 : final_end_.back();
  for (const Set* set : {&final_row_, &final_env_, &final_observation_})
    has_finals_ = has_finals_ && stored(*set, entries);
}

void LogFile::cut(std::int64_t index) {
  while (!iterations_.empty() && iterations_.back().index >= index) iterations_.pop_back();
}

}  // namespace hotloop
