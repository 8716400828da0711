// Minari 0.5: a group an episode with datasets of the episode's own length, and metadata.json.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/dataset/describe.h"
#include "data/dataset/group_file.h"
#include "data/dataset/writer.h"
#include "data/file.h"
#include "data/hdf5_types.h"
#include "data/log/space_json.h"
#include "data/staged_path.h"
#include "sim/core/version.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kMinariVersion = "0.5.0";  // the oldest of the 0.5 series: newer readers take it, too
constexpr int kScoreEpisodes = 100;              // that a reference score is the mean of

class MinariWriter : public DatasetWriter {
 public:
  MinariWriter(const fs::path& path, const DatasetInfo& info)
      : data_(path / "data"), info_(info), file_(file_in(data_)) {
    const auto type = [](DType dtype) { return hdf5_type_bytes(hdf5_type(dtype, "HDF5")); };
    f32_ = type(DType::f32), f64_ = type(DType::f64), i64_ = type(DType::i64), bool_ = type(DType::boolean);
  }

  void append(const Episode& episode) override {
    const auto length = static_cast<std::uint64_t>(episode.length);
    const std::uint64_t width = static_cast<std::uint64_t>(info_.env.obs_dim());
    const std::uint64_t observations = file_.write_set(f32_, {length + 1, width}, episode.observations);
    const std::uint64_t actions = write_actions(episode);
    const std::uint64_t rewards = file_.write_set(f64_, {length}, converted<double>(episode.rewards));
    const std::uint64_t terminations = file_.write_set(bool_, {length}, episode.terminated);
    const std::uint64_t truncations = file_.write_set(bool_, {length}, episode.truncated);
    episodes_.push_back(file_
                            .write_group({{"observations", observations},
                                          {"actions", actions},
                                          {"rewards", rewards},
                                          {"terminations", terminations},
                                          {"truncations", truncations},
                                          {"infos", write_infos(episode)}},
                                         attributes(episode))
                            .object);
    steps_ += episode.length;
  }

  void finish() override {
    const fs::path path = data_ / "main_data.hdf5";
    file_.begin_lists();
    file_.finish(file_.write_group("episode_", episodes_));
    synchronize_path(path);
    write_file(data_ / "metadata.json", metadata(static_cast<double>(fs::file_size(path)) / 1e6));
  }

 private:
  static fs::path file_in(const fs::path& data) {
    make_folder(data);
    return data / "main_data.hdf5";
  }

  std::uint64_t write_actions(const Episode& episode) {
    const ActionSpace& action = info_.env.action;
    std::vector<std::uint64_t> dims = {static_cast<std::uint64_t>(episode.length)};
    if (action.kind != ActionSpace::Kind::discrete) dims.push_back(static_cast<std::uint64_t>(action.dim()));
    return file_.write_set(action.is_box() ? f32_ : i64_, dims, episode.actions);
  }

  // Readers want the group even where it is empty. Infos have a row more than there are steps: the first is of the
  // reset, whose info in Gymnasium holds no terms.
  std::uint64_t write_infos(const Episode& episode) {
    std::vector<GroupFile::Link> links;
    const std::vector<std::string>& names = info_.env.reward_terms;
    for (std::size_t k = 0; k < names.size(); ++k) {
      std::vector<double> values = converted<double>(episode.reward_term(k, names.size()));
      values.insert(values.begin(), 0.0);
      links.push_back({names[k], file_.write_set(f64_, {values.size()}, values)});
    }
    return file_.write_group(std::move(links)).object;
  }

  static std::vector<GroupFile::Attribute> attributes(const Episode& episode) {
    std::vector<GroupFile::Attribute> list = {{"id", episode.id}, {"total_steps", episode.length}};
    if (episode.seed >= 0) list.push_back({"seed", episode.seed});
    if (episode.world >= 0) list.push_back({"world", episode.world});
    const auto count = static_cast<double>(episode.length);
    const double sum = episode.episode_return(), mean = sum / count;
    double squares = 0;
    for (const float r : episode.rewards) squares += (r - mean) * (r - mean);
    const auto [low, high] = std::minmax_element(episode.rewards.begin(), episode.rewards.end());
    list.push_back({"rewards_sum", sum});
    list.push_back({"rewards_mean", mean});
    list.push_back({"rewards_std", std::sqrt(squares / count)});
    list.push_back({"rewards_max", static_cast<double>(*high)});
    list.push_back({"rewards_min", static_cast<double>(*low)});
    return list;
  }

  std::string metadata(double megabytes) const {
    Json json = {{"dataset_id", info_.dataset_id},
                 {"minari_version", kMinariVersion},
                 {"data_format", "hdf5"},
                 {"total_episodes", episodes_.size()},
                 {"total_steps", steps_},
                 {"dataset_size", std::round(megabytes * 10) / 10},
                 {"observation_space", space_json(info_.env.observation)},
                 {"action_space", space_json(info_.env.action)},
                 {"algorithm_name", info_.algorithm},
                 {"author", info_.authors},
                 {"author_email", info_.author_emails},
                 {"description", info_.description},
                 {"requirements", Json::array()},
                 {"hotloop_version", version()},
                 {kProvenanceKey, provenance_json(info_)}};
    if (const std::string spec = gymnasium_spec_json(info_); !spec.empty()) json["env_spec"] = spec;
    if (info_.ref_min_score) json["ref_min_score"] = *info_.ref_min_score;
    if (info_.ref_max_score) json["ref_max_score"] = *info_.ref_max_score;
    if (info_.ref_min_score || info_.ref_max_score) json["num_episodes_average_score"] = kScoreEpisodes;
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }

  fs::path data_;
  DatasetInfo info_;
  GroupFile file_;
  std::string f32_, f64_, i64_, bool_;  // types
  std::vector<std::uint64_t> episodes_;
  std::int64_t steps_ = 0;
};

}  // namespace

std::unique_ptr<DatasetWriter> make_minari_writer(const fs::path& path, const DatasetInfo& info) {
  return std::make_unique<MinariWriter>(path, info);
}

}  // namespace hotloop
