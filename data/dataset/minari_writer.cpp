// Minari 0.5: a group an episode with datasets of the episode's own length, and metadata.json.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/dataset/describe.h"
#include "data/dataset/hdf5_write.h"
#include "data/dataset/writer.h"
#include "data/file.h"
#include "data/hdf5_types.h"
#include "data/log/space_json.h"
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
      : data_(path / "data"), info_(info), bool_(hdf5_type(DType::boolean, "HDF5")), file_(file_in(data_)) {}

  void append(const Episode& episode) override {
    const Hdf5Quiet quiet;
    const auto length = static_cast<hsize_t>(episode.length), width = static_cast<hsize_t>(info_.env.obs_dim());
    const std::string name = fmt::format("episode_{}", episode.id);
    const Hdf5Handle group = file_.create_group(file_.get(), name);
    write_integer_attribute(group.get(), "id", episode.id, name);
    write_integer_attribute(group.get(), "total_steps", episode.length, name);
    if (episode.seed >= 0) write_integer_attribute(group.get(), "seed", episode.seed, name);
    if (episode.world >= 0) write_integer_attribute(group.get(), "world", episode.world, name);
    write_reward_statistics(group.get(), episode, name);
    const auto write = [&](const char* name, hid_t type, const std::vector<hsize_t>& dims, const void* data) {
      file_.write_dataset(group.get(), name, type, dims, data);
    };
    write("observations", H5T_IEEE_F32LE, {length + 1, width}, episode.observations.data());
    write_actions(group.get(), episode);
    write("rewards", H5T_IEEE_F64LE, {length}, converted<double>(episode.rewards).data());
    write("terminations", bool_.get(), {length}, episode.terminated.data());
    write("truncations", bool_.get(), {length}, episode.truncated.data());
    write_infos(group.get(), episode);
    ++episodes_;
    steps_ += episode.length;
  }

  void finish() override {
    const Hdf5Quiet quiet;
    const fs::path path = data_ / "main_data.hdf5";
    file_.finish();
    write_file(data_ / "metadata.json", metadata(static_cast<double>(fs::file_size(path)) / 1e6));
  }

 private:
  static fs::path file_in(const fs::path& data) {
    make_folder(data);
    return data / "main_data.hdf5";
  }

  void write_actions(hid_t group, const Episode& episode) {
    const ActionSpace& action = info_.env.action;
    std::vector<hsize_t> dims = {static_cast<hsize_t>(episode.length)};
    if (action.kind != ActionSpace::Kind::discrete) dims.push_back(static_cast<hsize_t>(action.dim()));
    file_.write_dataset(group, "actions", action.is_box() ? H5T_IEEE_F32LE : H5T_STD_I64LE, dims,
                        episode.actions.data());
  }

  // Readers want the group even where it is empty. Infos have a row more than there are steps: the first is of the
  // reset, whose info in Gymnasium holds no terms.
  void write_infos(hid_t group, const Episode& episode) {
    const Hdf5Handle infos = file_.create_group(group, "infos");
    const std::vector<std::string>& names = info_.env.reward_terms;
    for (std::size_t k = 0; k < names.size(); ++k) {
      std::vector<double> values = converted<double>(episode.reward_term(k, names.size()));
      values.insert(values.begin(), 0.0);
      file_.write_dataset(infos.get(), names[k], H5T_IEEE_F64LE, {values.size()}, values.data());
    }
  }

  static void write_reward_statistics(hid_t group, const Episode& episode, const std::string& name) {
    const auto count = static_cast<double>(episode.length);
    const double sum = episode.episode_return(), mean = sum / count;
    double squares = 0;
    for (const float r : episode.rewards) squares += (r - mean) * (r - mean);
    const auto [low, high] = std::minmax_element(episode.rewards.begin(), episode.rewards.end());
    write_number_attribute(group, "rewards_sum", sum, name);
    write_number_attribute(group, "rewards_mean", mean, name);
    write_number_attribute(group, "rewards_std", std::sqrt(squares / count), name);
    write_number_attribute(group, "rewards_max", static_cast<double>(*high), name);
    write_number_attribute(group, "rewards_min", static_cast<double>(*low), name);
  }

  std::string metadata(double megabytes) const {
    Json json = {{"dataset_id", info_.dataset_id},
                 {"minari_version", kMinariVersion},
                 {"data_format", "hdf5"},
                 {"total_episodes", episodes_},
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
  Hdf5Handle bool_;
  Hdf5File file_;
  std::int64_t episodes_ = 0, steps_ = 0;
};

}  // namespace

std::unique_ptr<DatasetWriter> make_minari_writer(const fs::path& path, const DatasetInfo& info) {
  return std::make_unique<MinariWriter>(path, info);
}

}  // namespace hotloop
