// Whole episodes of damaged datasets.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>

#include "data/dataset/describe.h"
#include "data/dataset/target.h"
#include "data/dataset/writer.h"
#include "data/file.h"
#include "data/hdf5_read.h"
#include "data/hdf5_types.h"
#include "data/inspect/damaged_leaf.h"
#include "data/inspect/repair.h"
#include "data/json_text.h"
#include "data/staged_path.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kMaxMetadata = 64 << 20;
constexpr std::int64_t kBlock = 65536, kMostMissing = 1000;

// How a format calls what an episode holds; terms: the group of the reward's terms. Without next_observation,
// observations have a row more at their end, terms at their beginning.
struct Names {
  const char *observation, *next_observation, *action, *reward, *terminated, *truncated, *terms;
};
constexpr Names kMinari = {"observations", "", "actions", "rewards", "terminations", "truncations", "infos/"};
constexpr Names kRobomimic = {"obs/flat", "next_obs/flat", "actions", "rewards", "terminated", "truncated", ""};
constexpr Names kD4rl = {"observations", "next_observations", "actions", "rewards", "terminals", "timeouts", "infos/"};
constexpr Names kTensordict = {"observation",    "next/observation",  "action", "next/reward", "next/terminated",
                               "next/truncated", "next/reward_terms/"};

using OpenLeaf = std::function<DataLeaf(const std::string& name)>;

// The leaves of one episode, or of many in a row.
class Steps {
 public:
  Steps(const Names& names, const EnvSpec& env, const OpenLeaf& open)
      : observation_(open(names.observation)),
        action_(open(names.action)),
        reward_(open(names.reward)),
        terminated_(open(names.terminated)),
        truncated_(open(names.truncated)) {
    if (*names.next_observation) next_observation_ = open(names.next_observation);
    for (const std::string& term : env.reward_terms) terms_.push_back(open(names.terms + term));
    check(observation_, env.obs_dim(), {DType::f32});
    if (next_observation_) check(*next_observation_, env.obs_dim(), {DType::f32});
    check(action_, env.action.dim(), {env.action.is_box() ? DType::f32 : DType::i64});
    check(reward_, 1, {DType::f32, DType::f64});
    for (const DataLeaf& term : terms_) check(term, 1, {DType::f32, DType::f64});
    for (const DataLeaf* leaf : {&terminated_, &truncated_})
      check(*leaf, 1, {DType::boolean, DType::u8, DType::i8, DType::i64});
  }

  // That are there of every leaf.
  std::int64_t rows() const {
    std::int64_t rows =
        next_observation_ ? std::min(observation_.rows, next_observation_->rows) : observation_.rows - 1;
    for (const DataLeaf* leaf : {&action_, &reward_, &terminated_, &truncated_}) rows = std::min(rows, leaf->rows);
    for (const DataLeaf& term : terms_) rows = std::min(rows, term.rows - first_term());
    return rows;
  }

  std::vector<std::uint8_t> ends(std::int64_t row, std::int64_t rows) const {
    std::vector<std::uint8_t> ends = flags(terminated_, row, rows);
    const std::vector<std::uint8_t> truncated = flags(truncated_, row, rows);
    for (std::size_t i = 0; i < ends.size(); ++i) ends[i] |= truncated[i];
    return ends;
  }

  Episode episode(std::int64_t row, std::int64_t length) const {
    Episode e;
    e.length = length;
    e.observations = values<float>(observation_, row, length + (next_observation_ ? 0 : 1));
    if (next_observation_) {
      const std::vector<float> last = values<float>(*next_observation_, row + length - 1, 1);
      e.observations.insert(e.observations.end(), last.begin(), last.end());
    }
    e.actions = values<std::byte>(action_, row, length);
    e.rewards = floats(reward_, row, length);
    e.reward_terms.resize(static_cast<std::size_t>(length) * terms_.size());
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      const std::vector<float> term = floats(terms_[k], row + first_term(), length);
      for (std::size_t t = 0; t < term.size(); ++t) e.reward_terms[t * terms_.size() + k] = term[t];
    }
    e.terminated = flags(terminated_, row, length);
    e.truncated = flags(truncated_, row, length);
    return e;
  }

 private:
  static void check(const DataLeaf& leaf, std::int64_t numel, std::initializer_list<DType> kinds) {
    if (!leaf.dtype || std::find(kinds.begin(), kinds.end(), *leaf.dtype) == kinds.end() || leaf.row_numel() != numel)
      throw Error(fmt::format("{}: {} of {} a step: the task has {} of {}", leaf.name, leaf.row_numel(),
                              leaf.dtype_text(), numel, dtype_name(*kinds.begin())));
  }
  template <class T>
  static std::vector<T> values(const DataLeaf& leaf, std::int64_t row, std::int64_t rows) {
    const std::size_t bytes = static_cast<std::size_t>(rows * leaf.row_numel()) * dtype_size(*leaf.dtype);
    std::vector<T> values(bytes / sizeof(T));
    leaf.read(row, rows, reinterpret_cast<std::byte*>(values.data()));
    return values;
  }
  static std::vector<float> floats(const DataLeaf& leaf, std::int64_t row, std::int64_t rows) {
    const std::size_t size = dtype_size(*leaf.dtype);
    const std::vector<std::byte> bytes = values<std::byte>(leaf, row, rows);
    std::vector<float> floats;
    for (std::size_t at = 0; at < bytes.size(); at += size)
      floats.push_back(static_cast<float>(leaf_number(*leaf.dtype, bytes.data() + at)));
    return floats;
  }
  static std::vector<std::uint8_t> flags(const DataLeaf& leaf, std::int64_t row, std::int64_t rows) {
    const std::size_t size = dtype_size(*leaf.dtype);
    const std::vector<std::byte> bytes = values<std::byte>(leaf, row, rows);
    std::vector<std::uint8_t> flags;
    for (std::size_t at = 0; at < bytes.size(); at += size)
      flags.push_back(leaf_number(*leaf.dtype, bytes.data() + at) != 0);
    return flags;
  }

  std::int64_t first_term() const { return next_observation_ ? 0 : 1; }  // row of the first step's

  DataLeaf observation_, action_, reward_, terminated_, truncated_;
  std::optional<DataLeaf> next_observation_;
  std::vector<DataLeaf> terms_;  // of the reward
};

constexpr std::int64_t kUnknown = INT64_MAX;

std::int64_t number_of_links(const OpenHdf5& file, const std::string& parent) {
  const hid_t id = H5Gopen2(file.file.get(), parent.c_str(), H5P_DEFAULT);
  H5G_info_t info{};
  if (id < 0) return kUnknown;
  const Hdf5Handle group(id, parent);
  return H5Gget_info(id, &info) < 0 ? kUnknown : static_cast<std::int64_t>(std::min<hsize_t>(info.nlinks, kUnknown));
}

class DatasetRepair {
 public:
  DatasetRepair(DatasetFormat format, const fs::path& target, const DatasetInfo& info)
      : env_(info.env), staged_(target), writer_(make_dataset_writer(format, staged_.path(), info)) {}

  // Groups `prefix`0, 1, ... of `parent`, each an episode whose attribute `length` counts its steps.
  void read_groups(const OpenHdf5& file, const Names& names, const std::string& parent, const std::string& prefix,
                   const char* length) {
    // where the list of groups is damaged some may still be found by their names
    const std::int64_t links = number_of_links(file, parent);
    if (links == kUnknown)
      lose_unknown(fmt::format("the list of groups in '{}' is damaged: how many are lost is not known", parent));
    std::int64_t seen = 0, missing = 0;
    for (std::int64_t i = 0; seen < links && missing < kMostMissing; ++i) {
      const std::string name = fmt::format("{}{}", prefix, i), group = parent + name;
      if (!hdf5_is_group(file.file.get(), group)) {
        ++missing;
        continue;
      }
      ++seen, missing = 0;
      attempt(name, [&] {
        const Hdf5Handle attributes(H5Gopen2(file.file.get(), group.c_str(), H5P_DEFAULT), name);
        const std::int64_t steps = read_integer_attribute(attributes.get(), length, name);
        const Steps leaves(names, env_, [&](const std::string& key) { return damaged_leaf(file, group + "/" + key); });
        if (steps < 1 || leaves.rows() < steps)
          throw Error(fmt::format("{} of its {} steps are there", std::max<std::int64_t>(0, leaves.rows()), steps));
        Episode e = leaves.episode(0, steps);
        const auto number = [&](const char* key) {
          return H5Aexists(attributes.get(), key) > 0 ? read_integer_attribute(attributes.get(), key, name) : -1;
        };
        e.seed = number("seed");
        e.world = number("world");
        return e;
      });
    }
    if (links != kUnknown && seen < links)
      lose(fmt::format("{} entries of '{}' are no readable episodes", links - seen, parent), links - seen);
  }

  // Episodes one after the other, `said` rows of them if all were there.
  void read_rows(const Names& names, const OpenLeaf& open, std::int64_t said) {
    const Steps leaves(names, env_, open);
    const std::int64_t rows = leaves.rows();
    std::int64_t begin = 0;  // of an episode; -1: not known
    for (std::int64_t row = 0; row < rows; row += kBlock) {
      const std::int64_t count = std::min(kBlock, rows - row);
      std::vector<std::uint8_t> ends;
      try {
        ends = leaves.ends(row, count);
      } catch (const Error& e) {
        lose_unknown(fmt::format("steps {} to {}: {}", row, row + count - 1, e.what()));
        begin = -1;
        continue;
      }
      for (std::int64_t i = 0; i < count; ++i) {
        if (!ends[static_cast<std::size_t>(i)]) continue;
        const std::int64_t next = row + i + 1;
        if (begin >= 0)
          attempt(fmt::format("steps {} to {}", begin, next - 1), [&] { return leaves.episode(begin, next - begin); });
        else
          lose(fmt::format("the episode that ends in step {}: its beginning cannot be read", next - 1), 1);
        begin = next;
      }
    }
    if (rows < said || begin != rows)
      lose(fmt::format("steps {} to {}: cut off", std::max<std::int64_t>(0, begin), std::max(rows, said) - 1), 1);
    result_.lost_more |= rows < said;  // what is gone may have been of any number of episodes
  }

  Repaired finish(const fs::path& path) {
    if (result_.recovered == 0)
      throw Error(path.string() + ": nothing can be recovered" +
                  (result_.problems.empty() ? "" : ": " + result_.problems.front()));
    writer_->finish();
    writer_.reset();
    staged_.commit_new();
    return std::move(result_);
  }

 private:
  void lose(const std::string& why, std::int64_t episodes) {
    result_.problem(why);
    result_.left_out += episodes;
  }
  void lose_unknown(const std::string& why) {
    result_.problem(why);
    result_.lost_more = true;
  }

  template <class Read>
  void attempt(const std::string& name, const Read& read) {
    Episode e;
    try {
      e = read();
      std::int64_t ends = 0;
      for (std::size_t t = 0; t < e.terminated.size(); ++t) ends += e.terminated[t] | e.truncated[t];
      if (ends != 1 || !(e.terminated.back() | e.truncated.back())) throw Error("its ends are not at its last step");
    } catch (const Error& error) {
      return lose(name + ": " + error.what(), 1);
    } catch (const std::bad_alloc&) {
      return lose(name + ": asks for more memory than an episode needs", 1);
    }
    e.id = result_.recovered++;
    writer_->append(e);
  }

  EnvSpec env_;
  StagedPath staged_;
  std::unique_ptr<DatasetWriter> writer_;
  Repaired result_{"episode"};
};

std::string hdf5_provenance(const OpenHdf5& file, const char* object, const std::string& where) {
  const Hdf5Handle group(H5Gopen2(file.file.get(), object, H5P_DEFAULT), where);
  if (H5Aexists(group.get(), kProvenanceKey) <= 0)
    throw Error(where + ": attribute '" + kProvenanceKey + "' is missing: only datasets of hotloop can be repaired");
  return read_text_attribute(group.get(), kProvenanceKey, where);
}

DatasetInfo info_from_json(const fs::path& path) {
  const json meta = parse_json_object(read_file(path, kMaxMetadata), path.string());
  const auto provenance = meta.find(kProvenanceKey);
  if (provenance == meta.end() || !provenance->is_string())
    throw Error(path.string() + ": key '" + kProvenanceKey + "' is missing: only datasets of hotloop can be repaired");
  DatasetInfo info = info_from_provenance(provenance->get<std::string>(), path.string());
  const auto texts = [&](const char* key, std::vector<std::string>& to) {
    if (const auto list = meta.find(key); list != meta.end() && list->is_array())
      for (const json& item : *list)
        if (item.is_string()) to.push_back(item.get<std::string>());
  };
  const auto number = [&](const char* key, std::optional<double>& to) {
    if (const auto value = meta.find(key); value != meta.end() && value->is_number()) to = value->get<double>();
  };
  texts("author", info.authors);
  texts("author_email", info.author_emails);
  number("ref_min_score", info.ref_min_score);
  number("ref_max_score", info.ref_max_score);
  return info;
}

Repaired repair_tensordict(const fs::path& folder, const fs::path& target) {
  const MemmapMeta meta(folder);
  DatasetRepair repair(DatasetFormat::tensordict, target, info_from_json(folder / kMemmapMetaFile));
  const auto open = [&](const std::string& name) {
    const std::size_t inner = name.rfind('/') + 1;
    return damaged_leaf(MemmapMeta(folder / name.substr(0, inner)).entry(name.substr(inner)), name);
  };
  const std::vector<std::int64_t> shape = meta.batch_size();
  if (shape.size() != 1) throw Error((folder / kMemmapMetaFile).string() + ": its shape is not [steps]");
  repair.read_rows(kTensordict, open, shape[0]);
  return repair.finish(folder);
}

Repaired repair_hdf5(const fs::path& path, const fs::path& file, const fs::path& target) {
  const OpenHdf5 opened = open_damaged_hdf5(file);
  const std::string where = file.string(), kind = kind_of(opened, file);
  if (kind == "minari") {
    DatasetRepair repair(DatasetFormat::minari, target, info_from_json(file.parent_path() / "metadata.json"));
    repair.read_groups(opened, kMinari, "/", "episode_", "total_steps");
    return repair.finish(path);
  }
  if (kind == "robomimic") {
    check_file_name(DatasetFormat::robomimic, target.string());
    DatasetRepair repair(DatasetFormat::robomimic, target,
                         info_from_provenance(hdf5_provenance(opened, "data", where), where));
    repair.read_groups(opened, kRobomimic, "/data/", "demo_", "num_samples");
    return repair.finish(path);
  }
  if (kind != "d4rl") throw Error(where + ": is HDF5, but no trajectory log, minari, d4rl or robomimic dataset");
  check_file_name(DatasetFormat::d4rl, target.string());
  DatasetRepair repair(DatasetFormat::d4rl, target, info_from_provenance(hdf5_provenance(opened, "/", where), where));
  Hdf5Room room(opened.bytes * kMostCut);
  const std::int64_t said = hdf5_leaf(opened.file.get(), "actions", "actions", room).rows;
  repair.read_rows(
      kD4rl, [&](const std::string& name) { return damaged_leaf(opened, name); }, said);
  return repair.finish(path);
}

}  // namespace

Repaired repair_dataset(const fs::path& path, const fs::path& target) {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(target, ignored))) throw Error("'" + target.string() + "' exists; name another -o");
  const fs::path file = file_to_read(path);
  const bool folder = fs::is_directory(file, ignored);
  if (folder && !fs::exists(file / kMemmapMetaFile, ignored)) throw Error(file.string() + ": " + why_no_dataset(file));
  try {
    return folder ? repair_tensordict(file, target) : repair_hdf5(path, file, target);
  } catch (const Error& e) {
    const std::string text = e.what();
    if (text.find(path.string()) != std::string::npos) throw;
    throw Error(path.string() + ": " + text);
  }
}

}  // namespace hotloop
