// robomimic: data/demo_<i> an episode, observations under the key that its Gym wrapper gives flat ones.
#include <fmt/format.h>

#include "data/dataset/describe.h"
#include "data/dataset/group_file.h"
#include "data/dataset/writer.h"
#include "data/hdf5_types.h"
#include "data/staged_path.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr int kGymType = 2;               // robomimic's EnvType.GYM_TYPE
constexpr std::int64_t kValidEvery = 10;  // every tenth episode is for validation
constexpr std::size_t kNameBytes = 32;

class RobomimicWriter : public DatasetWriter {
 public:
  RobomimicWriter(const fs::path& path, const DatasetInfo& info) : path_(path), info_(info), file_(path) {
    info_.env.reward_terms.clear();  // the format has no place for them
    const auto type = [](DType dtype) { return hdf5_type_bytes(hdf5_type(dtype, "HDF5")); };
    f32_ = type(DType::f32), i64_ = type(DType::i64);
  }

  void append(const Episode& episode) override {
    const auto length = static_cast<std::uint64_t>(episode.length);
    const auto width = static_cast<std::size_t>(info_.env.obs_dim());
    const auto flat = [&](const float* observations) {
      const std::uint64_t set =
          file_.write_set(f32_, {length, width}, observations, length * width * sizeof *observations);
      return file_.write_group({{"flat", set}}).object;
    };
    const std::uint64_t obs = flat(episode.observations.data()), next_obs = flat(episode.observations.data() + width);
    const ActionSpace& action = info_.env.action;
    const std::uint64_t actions = file_.write_set(action.is_box() ? f32_ : i64_,
                                                  {length, static_cast<std::uint64_t>(action.dim())}, episode.actions);
    const std::uint64_t rewards = file_.write_set(f32_, {length}, episode.rewards);
    // dones stop a learner's bootstrap, so that the end of time is none
    const std::vector<std::int64_t> ends = converted<std::int64_t>(episode.terminated);
    const std::uint64_t dones = file_.write_set(i64_, {length}, ends);
    const std::uint64_t terminated = file_.write_set(i64_, {length}, ends);
    const std::uint64_t truncated = file_.write_set(i64_, {length}, converted<std::int64_t>(episode.truncated));
    std::vector<GroupFile::Attribute> attributes = {{"num_samples", episode.length}};
    if (episode.seed >= 0) attributes.push_back({"seed", episode.seed});
    if (episode.world >= 0) attributes.push_back({"world", episode.world});
    demos_.push_back(file_
                         .write_group({{"obs", obs},
                                       {"next_obs", next_obs},
                                       {"actions", actions},
                                       {"rewards", rewards},
                                       {"dones", dones},
                                       {"terminated", terminated},
                                       {"truncated", truncated}},
                                      attributes)
                         .object);
    steps_ += episode.length;
  }

  void finish() override {
    file_.begin_lists();
    const std::string env_args = fmt::format(R"({{"env_name": "{}", "type": {}, "env_kwargs": {}}})", info_.env.name,
                                             kGymType, env_kwargs_json(info_));
    const std::string provenance = provenance_json(info_);
    const std::uint64_t data =
        file_.write_group("demo_", demos_, {{"env_args", env_args}, {kProvenanceKey, provenance}, {"total", steps_}})
            .object;
    file_.finish(file_.write_group({{"data", data}, {"mask", write_masks()}}));
    synchronize_path(path_);
  }

 private:
  std::uint64_t write_masks() {
    const Hdf5Handle type(H5Tcopy(H5T_C_S1), "HDF5 string");
    hdf5_check(H5Tset_size(type.get(), kNameBytes), "HDF5 string");
    std::string train, valid;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(demos_.size()); ++i) {
      std::string& names = i % kValidEvery == kValidEvery - 1 ? valid : train;
      names += fmt::format("demo_{}", i);
      names.resize((names.size() + kNameBytes - 1) / kNameBytes * kNameBytes);
    }
    const auto write = [&](const std::string& names) {
      return file_.write_set(hdf5_type_bytes(type), {names.size() / kNameBytes}, names.data(), names.size());
    };
    return file_.write_group({{"train", write(train)}, {"valid", write(valid)}}).object;
  }

  fs::path path_;
  DatasetInfo info_;
  GroupFile file_;
  std::string f32_, i64_;  // types
  std::vector<std::uint64_t> demos_;
  std::int64_t steps_ = 0;
};

}  // namespace

std::unique_ptr<DatasetWriter> make_robomimic_writer(const fs::path& path, const DatasetInfo& info) {
  return std::make_unique<RobomimicWriter>(path, info);
}

}  // namespace hotloop
