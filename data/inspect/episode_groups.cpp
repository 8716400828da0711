// The formats with a group an episode: Minari and robomimic.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/dataset/describe.h"
#include "data/file.h"
#include "data/hdf5_read.h"
#include "data/hdf5_types.h"
#include "data/inspect/dataset_actions.h"
#include "data/inspect/inspect.h"
#include "data/inspect/leaf.h"
#include "data/json_text.h"
#include "data/log/space_json.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kMaxMetadata = 64 << 20;
constexpr std::int64_t kMostMissing = 1000;
constexpr std::int64_t kMostLength = std::int64_t{1} << 62;  // of all episodes together

struct Layout {
  std::string parent, prefix;  // of the groups
  const char *length, *terminated, *truncated;
  bool (*has_last)(const std::string& key);  // whether a key has a row more than there are steps
  std::vector<const char*> wanted;           // datasets, or groups that hold some
};

struct Content {
  std::int64_t episodes = 0, steps = 0;
};

// The row of the last end and how many there are, of one episode.
struct Ends {
  std::int64_t count = 0, last = -1;
};

// What the leaves of one episode say together.
struct EpisodeSum {
  double reward = 0;
  bool has_reward = false, has_flags = false;
  Ends terminated, truncated;
};

Ends* flags_of(EpisodeSum& sum, const Layout& layout, const std::string& key) {
  if (key == layout.terminated) return &sum.terminated;
  return key == layout.truncated ? &sum.truncated : nullptr;
}

void read_leaf(const DataLeaf& leaf, const Layout& layout, const std::string& where, EpisodeSum& sum,
               DatasetActions& actions, Report& report) {
  Ends* const flags = flags_of(sum, layout, leaf.name);
  const bool reward = leaf.name == "rewards";
  if (!(reward || flags) || !leaf.dtype || leaf.row_numel() != 1) {
    if (reward || flags) report.problem(where + ": " + leaf.name + ": is not one number a step");
    scan_leaf(leaf, where, report, leaf.name == "actions" ? actions.take(leaf, where) : TakeRows());
    return;
  }
  const std::size_t size = dtype_size(*leaf.dtype);
  const bool whole = scan_leaf(leaf, where, report, [&](std::int64_t row, std::int64_t rows, const std::byte* values) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const double value = leaf_number(*leaf.dtype, values + static_cast<std::size_t>(r) * size);
      if (reward) sum.reward += value;
      if (flags && value != 0) ++flags->count, flags->last = row + r;
    }
  });
  sum.has_reward |= reward && whole;
  sum.has_flags |= flags && whole;
}

void check_ends(const EpisodeSum& sum, std::int64_t length, const std::string& where, Report& report) {
  if (!sum.has_flags) return;
  const auto early = [&](const Ends& ends) { return ends.count > 1 || (ends.count == 1 && ends.last != length - 1); };
  if (early(sum.terminated) || early(sum.truncated))
    report.problem(where + ": terminated or truncated before its last step");
  else if (sum.terminated.count + sum.truncated.count == 0)
    report.problem(where + ": neither terminated nor truncated at its last step");
}

void check_return(const OpenHdf5& file, const std::string& group, double found, const std::string& where,
                  Report& report) {
  if (H5Aexists_by_name(file.file.get(), group.c_str(), "rewards_sum", H5P_DEFAULT) <= 0) return;
  const Hdf5Handle object(H5Gopen2(file.file.get(), group.c_str(), H5P_DEFAULT), where);
  const double said = read_number_attribute(object.get(), "rewards_sum", where);
  // others sum in another order or in float32
  if (std::isfinite(said) && std::abs(said - found) > 1e-3 * std::max(1.0, std::abs(found)))
    report.problem(fmt::format("{}: rewards_sum says {}, its rewards sum to {}", where, said, found));
}

void read_episode(OpenHdf5& file, const Layout& layout, const std::string& group, DatasetActions& actions,
                  Content& content, Report& report) {
  const std::string where = group.substr(group.rfind('/') + 1);
  const std::vector<DataLeaf> leaves = hdf5_leaves(file.file.get(), group, file.room, report);
  std::int64_t length = -1;
  try {
    const Hdf5Handle object(H5Gopen2(file.file.get(), group.c_str(), H5P_DEFAULT), where);
    const std::int64_t said = read_integer_attribute(object.get(), layout.length, where);
    if (said < 0 || said > kMostLength - content.steps)
      throw Error(fmt::format("{}: attribute '{}': {} is no number of steps", where, layout.length, said));
    length = said;
  } catch (const Error& e) {
    report.problem(e.what());
    for (const DataLeaf& leaf : leaves)
      if (leaf.name == "actions") length = leaf.rows;
  }
  EpisodeSum sum;
  for (const DataLeaf& leaf : leaves) {
    const std::int64_t wanted = length + (layout.has_last(leaf.name) ? 1 : 0);
    if (leaf.rows != wanted)
      report.problem(fmt::format("{}: {} has {} rows, must have {}", where, leaf.name, leaf.rows, wanted));
    read_leaf(leaf, layout, where, sum, actions, report);
  }
  for (const std::string key : layout.wanted)
    if (std::none_of(leaves.begin(), leaves.end(),
                     [&](const DataLeaf& l) { return l.name == key || l.name.starts_with(key + "/"); }))
      report.problem(where + ": has no " + key);
  check_ends(sum, length, where, report);
  if (sum.has_reward && length > 0) report.add_episode(sum.reward, length);
  if (sum.has_reward) check_return(file, group, sum.reward, where, report);
  ++content.episodes;
  content.steps += std::max<std::int64_t>(0, length);
}

// Episodes by their numbers from 0 on until all links of the group have been seen.
Content read_episodes(OpenHdf5& file, const Layout& layout, const DatasetOrigin& origin, Report& report) {
  const Hdf5Handle parent(H5Gopen2(file.file.get(), layout.parent.c_str(), H5P_DEFAULT), layout.parent);
  H5G_info_t info{};
  hdf5_check(H5Gget_info(parent.get(), &info), layout.parent);
  DatasetActions actions(origin, report);
  Content content;
  const auto links = static_cast<std::int64_t>(std::min<hsize_t>(info.nlinks, INT64_MAX));
  std::int64_t missing = 0, unreported = 0;
  for (std::int64_t i = 0; content.episodes < links && missing < kMostMissing; ++i) {
    const std::string group = fmt::format("{}{}{}", layout.parent, layout.prefix, i);
    if (!hdf5_is_group(file.file.get(), group)) {
      ++missing, ++unreported;
      continue;
    }
    if (unreported > 0)
      report.problem(fmt::format("{} episodes before {}{} are missing", unreported, layout.prefix, i));
    unreported = 0;
    try {
      read_episode(file, layout, group, actions, content, report);
    } catch (const Error& e) {
      report.problem(e.what());
      ++content.episodes;
    }
  }
  actions.finish();
  if (content.episodes < links)
    report.problem(fmt::format("{} entries of '{}' are no readable episodes", links - content.episodes, layout.parent));
  report.episodes = content.episodes;
  report.steps = content.steps;
  return content;
}

void check_total(const char* name, std::int64_t said, std::int64_t found, Report& report) {
  if (said != found) report.problem(fmt::format("{} says {}, there are {}", name, said, found));
}

// The space that metadata.json tells. Others' may be of a kind that hotloop has not, or only in their env_spec.
DatasetOrigin minari_origin(const json& metadata, const std::string& where, Report& report) {
  DatasetOrigin origin{metadata.contains(kProvenanceKey)};
  const auto text = metadata.find("action_space");
  const std::string what = where + ": action_space";
  try {
    if (text == metadata.end() || !text->is_string()) throw Error(what + " is missing");
    origin.action_space = action_space_of_json(text->get<std::string>(), what);
  } catch (const Error& e) {
    if (origin.ours) report.problem(e.what());
  }
  return origin;
}

void check_metadata(const json& metadata, const std::string& where, const Content& content, Report& report) {
  for (const char* key : {"dataset_id", "minari_version", "algorithm_name", "description"})
    if (const auto value = metadata.find(key); value != metadata.end() && value->is_string())
      report.about.emplace_back(key, value->get<std::string>());
  for (const auto& [key, found] : {std::pair("total_episodes", content.episodes), {"total_steps", content.steps}}) {
    const auto said = metadata.find(key);
    if (said == metadata.end() || !said->is_number_integer())
      report.problem(where + ": " + key + " is missing");
    else
      check_total(key, said->get<std::int64_t>(), found, report);
  }
}

}  // namespace

void inspect_minari(OpenHdf5& file, const fs::path& path, Report& report) {
  const auto has_last = [](const std::string& key) {
    return key.starts_with("observations") || key.starts_with("infos");
  };
  const Layout layout = {"/",
                         "episode_",
                         "total_steps",
                         "terminations",
                         "truncations",
                         has_last,
                         {"observations", "actions", "rewards", "terminations", "truncations"}};
  json metadata;
  DatasetOrigin origin;
  try {
    metadata = parse_json_object(read_file(path, kMaxMetadata), path.string());
    origin = minari_origin(metadata, path.string(), report);
  } catch (const Error& e) {
    report.problem(e.what());
  }
  const Content content = read_episodes(file, layout, origin, report);
  if (metadata.is_object()) check_metadata(metadata, path.string(), content, report);
}

void inspect_robomimic(OpenHdf5& file, Report& report) {
  const auto has_last = [](const std::string&) { return false; };
  const Content content = read_episodes(
      file,
      {"/data/", "demo_", "num_samples", "terminated", "truncated", has_last, {"obs", "actions", "rewards", "dones"}},
      hdf5_origin(file.file.get(), "data", report), report);
  try {
    const Hdf5Handle data(H5Gopen2(file.file.get(), "data", H5P_DEFAULT), "data");
    check_total("attribute 'total'", read_integer_attribute(data.get(), "total", "data"), content.steps, report);
    const std::string text = read_text_attribute(data.get(), "env_args", "data");
    const json args = parse_json_object(text, "data: attribute 'env_args'");
    if (const auto name = args.find("env_name"); name != args.end() && name->is_string())
      report.about.emplace_back("env_name", name->get<std::string>());
    else
      report.problem("data: attribute 'env_args': env_name is missing");
  } catch (const Error& e) {
    report.problem(e.what());
  }
}

}  // namespace hotloop
