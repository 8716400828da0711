// D4RL: one row a step over all episodes. The loaders read every dataset of the file, so that all else is attributes.
#include "data/dataset/describe.h"
#include "data/dataset/hdf5_write.h"
#include "data/dataset/writer.h"
#include "data/hdf5_types.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

class D4rlWriter : public DatasetWriter {
 public:
  D4rlWriter(const fs::path& path, const DatasetInfo& info)
      : path_(path),
        file_(path),
        width_(static_cast<std::size_t>(info.env.obs_dim())),
        observations_(file_.get(), "observations", hdf5_type(DType::f32, "HDF5"), {width_}),
        next_observations_(file_.get(), "next_observations", hdf5_type(DType::f32, "HDF5"), {width_}),
        actions_(file_.get(), "actions", hdf5_type(info.env.action.is_box() ? DType::f32 : DType::i64, "HDF5"),
                 action_dims(info)),
        rewards_(file_.get(), "rewards", hdf5_type(DType::f32, "HDF5"), {}),
        terminals_(file_.get(), "terminals", hdf5_type(DType::boolean, "HDF5"), {}),
        timeouts_(file_.get(), "timeouts", hdf5_type(DType::boolean, "HDF5"), {}) {
    write_text_attribute(file_.get(), kProvenanceKey, provenance_json(info), path.string());
    if (info.env.reward_terms.empty()) return;
    const Hdf5Handle infos = file_.create_group(file_.get(), "infos");
    for (const std::string& name : info.env.reward_terms)
      terms_.emplace_back(infos.get(), name, hdf5_type(DType::f32, "HDF5"), std::vector<hsize_t>{});
  }

  void append(const Episode& episode) override {
    const Hdf5Quiet quiet;
    const auto length = static_cast<std::size_t>(episode.length);
    observations_.append(episode.observations.data(), length);
    next_observations_.append(episode.observations.data() + width_, length);
    actions_.append(episode.actions.data(), length);
    rewards_.append(episode.rewards.data(), length);
    terminals_.append(episode.terminated.data(), length);
    // an episode that ends by itself in its last step is terminal: learners bootstrap from every timeout
    std::vector<std::uint8_t> timeouts = episode.truncated;
    for (std::size_t t = 0; t < length; ++t) timeouts[t] = timeouts[t] && !episode.terminated[t];
    timeouts_.append(timeouts.data(), length);
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      const std::vector<float> term = episode.reward_term(k, terms_.size());
      terms_[k].append(term.data(), length);
    }
  }

  void finish() override {
    const Hdf5Quiet quiet;
    for (RowDataset* set : {&observations_, &next_observations_, &actions_, &rewards_, &terminals_, &timeouts_})
      set->finish();
    for (RowDataset& set : terms_) set.finish();
    file_.finish();
  }

 private:
  // one discrete action is a number, as in Gymnasium
  static std::vector<hsize_t> action_dims(const DatasetInfo& info) {
    if (info.env.action.kind == ActionSpace::Kind::discrete) return {};
    return {static_cast<hsize_t>(info.env.action.dim())};
  }

  Hdf5Quiet quiet_;
  fs::path path_;
  Hdf5File file_;
  std::size_t width_;
  RowDataset observations_, next_observations_, actions_, rewards_, terminals_, timeouts_;
  std::vector<RowDataset> terms_;  // of the reward
};

}  // namespace

std::unique_ptr<DatasetWriter> make_d4rl_writer(const fs::path& path, const DatasetInfo& info) {
  return std::make_unique<D4rlWriter>(path, info);
}

}  // namespace hotloop
