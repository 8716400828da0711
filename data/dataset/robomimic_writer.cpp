// robomimic: data/demo_<i> an episode, observations under the key that its Gym wrapper gives flat ones.
#include <fmt/format.h>

#include <cstring>

#include "data/dataset/describe.h"
#include "data/dataset/hdf5_write.h"
#include "data/dataset/writer.h"
#include "data/hdf5_types.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr int kGymType = 2;               // robomimic's EnvType.GYM_TYPE
constexpr std::int64_t kValidEvery = 10;  // every tenth episode is for validation
constexpr std::size_t kNameBytes = 32;

class RobomimicWriter : public DatasetWriter {
 public:
  RobomimicWriter(const fs::path& path, const DatasetInfo& info)
      : path_(path), info_(info), file_(path), data_(file_.create_group(file_.get(), "data")) {
    const std::string env_args = fmt::format(R"({{"env_name": "{}", "type": {}, "env_kwargs": {}}})", info.env.name,
                                             kGymType, env_kwargs_json(info));
    write_text_attribute(data_.get(), "env_args", env_args, path.string());
    info_.env.reward_terms.clear();  // the format has no place for them
    write_text_attribute(data_.get(), kProvenanceKey, provenance_json(info_), path.string());
  }

  void append(const Episode& episode) override {
    const Hdf5Quiet quiet;
    const auto length = static_cast<hsize_t>(episode.length), width = static_cast<hsize_t>(info_.env.obs_dim());
    const std::string name = fmt::format("demo_{}", episode.id);
    const Hdf5Handle demo = file_.create_group(data_.get(), name);
    write_integer_attribute(demo.get(), "num_samples", episode.length, name);
    if (episode.seed >= 0) write_integer_attribute(demo.get(), "seed", episode.seed, name);
    if (episode.world >= 0) write_integer_attribute(demo.get(), "world", episode.world, name);
    const std::vector<hsize_t> wide = {length, width};
    const float* const observations = episode.observations.data();
    file_.write_dataset(file_.create_group(demo.get(), "obs").get(), "flat", H5T_IEEE_F32LE, wide, observations);
    file_.write_dataset(file_.create_group(demo.get(), "next_obs").get(), "flat", H5T_IEEE_F32LE, wide,
                        observations + width);
    const bool box = info_.env.action.is_box();
    file_.write_dataset(demo.get(), "actions", box ? H5T_IEEE_F32LE : H5T_STD_I64LE,
                        {length, static_cast<hsize_t>(info_.env.action.dim())}, episode.actions.data());
    file_.write_dataset(demo.get(), "rewards", H5T_IEEE_F32LE, {length}, episode.rewards.data());
    // dones stop a learner's bootstrap, so that the end of time is none
    const std::vector<std::int64_t> terminated = converted<std::int64_t>(episode.terminated);
    for (const char* key : {"dones", "terminated"})
      file_.write_dataset(demo.get(), key, H5T_STD_I64LE, {length}, terminated.data());
    file_.write_dataset(demo.get(), "truncated", H5T_STD_I64LE, {length},
                        converted<std::int64_t>(episode.truncated).data());
    ++episodes_;
    steps_ += episode.length;
  }

  void finish() override {
    const Hdf5Quiet quiet;
    write_integer_attribute(data_.get(), "total", steps_, path_.string());
    write_masks();
    file_.finish();
  }

 private:
  void write_masks() {
    const Hdf5Handle mask = file_.create_group(file_.get(), "mask");
    Hdf5Handle types[2];
    for (Hdf5Handle& type : types) {
      type = Hdf5Handle(H5Tcopy(H5T_C_S1), "HDF5 string");
      hdf5_check(H5Tset_size(type.get(), kNameBytes), "HDF5 string");
    }
    RowDataset train(mask.get(), "train", std::move(types[0]), {}), valid(mask.get(), "valid", std::move(types[1]), {});
    for (std::int64_t i = 0; i < episodes_; ++i) {
      char name[kNameBytes] = {};
      const std::string text = fmt::format("demo_{}", i);
      std::memcpy(name, text.data(), text.size());
      (i % kValidEvery == kValidEvery - 1 ? valid : train).append(name, 1);
    }
    train.finish();
    valid.finish();
  }

  Hdf5Quiet quiet_;
  fs::path path_;
  DatasetInfo info_;
  Hdf5File file_;
  Hdf5Handle data_;
  std::int64_t episodes_ = 0, steps_ = 0;
};

}  // namespace

std::unique_ptr<DatasetWriter> make_robomimic_writer(const fs::path& path, const DatasetInfo& info) {
  return std::make_unique<RobomimicWriter>(path, info);
}

}  // namespace hotloop
