// robomimic: data/demo_<i> an episode, observations under the key that its Gym wrapper gives flat ones.
#include <fmt/format.h>

#include <cstring>

#include "data/dataset/describe.h"
#include "data/dataset/group_file.h"
#include "data/dataset/hdf5_write.h"
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
    const Hdf5Quiet quiet;
    file_.begin_lists();
    file_.finish(file_.write_group({{"data", file_.write_group("demo_", demos_).object}}));
    add_others();
    synchronize_path(path_);
  }

 private:
  void add_others() {
    const std::string where = "cannot write '" + path_.string() + "'";
    const Hdf5Handle file(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), where),
        data(H5Gopen2(file.get(), "data", H5P_DEFAULT), where);
    const std::string env_args = fmt::format(R"({{"env_name": "{}", "type": {}, "env_kwargs": {}}})", info_.env.name,
                                             kGymType, env_kwargs_json(info_));
    write_text_attribute(data.get(), "env_args", env_args, where);
    write_text_attribute(data.get(), kProvenanceKey, provenance_json(info_), where);
    write_integer_attribute(data.get(), "total", steps_, where);
    write_masks(file.get(), where);
    // a failure that closing would hide
    hdf5_check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), where);
  }

  void write_masks(hid_t file, const std::string& where) const {
    const Hdf5Handle mask(H5Gcreate2(file, "mask", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), where);
    Hdf5Handle types[2];
    for (Hdf5Handle& type : types) {
      type = Hdf5Handle(H5Tcopy(H5T_C_S1), "HDF5 string");
      hdf5_check(H5Tset_size(type.get(), kNameBytes), "HDF5 string");
    }
    RowDataset train(mask.get(), "train", std::move(types[0]), {}), valid(mask.get(), "valid", std::move(types[1]), {});
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(demos_.size()); ++i) {
      char name[kNameBytes] = {};
      const std::string text = fmt::format("demo_{}", i);
      std::memcpy(name, text.data(), text.size());
      (i % kValidEvery == kValidEvery - 1 ? valid : train).append(name, 1);
    }
    train.finish();
    valid.finish();
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
