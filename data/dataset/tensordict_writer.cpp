// TensorDict's memmap layout without LibTorch (data/tensordict/persist.h is the general one): a folder with meta.json
// and raw little-endian files, here one row a step over all episodes.
#include <array>
#include <nlohmann/json.hpp>

#include "data/dataset/describe.h"
#include "data/dataset/writer.h"
#include "data/file.h"
#include "data/memmap_meta.h"
#include "data/staged_path.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

class TensordictWriter : public DatasetWriter {
 public:
  TensordictWriter(const fs::path& path, const DatasetInfo& info)
      : path_(made(path)),
        info_(info),
        width_(static_cast<std::size_t>(info.env.obs_dim())),
        observation_(path / "observation.memmap"),
        action_(path / "action.memmap"),
        episode_(path / "episode.memmap"),
        next_observation_(path / "next/observation.memmap"),
        reward_(path / "next/reward.memmap"),
        terminated_(path / "next/terminated.memmap"),
        truncated_(path / "next/truncated.memmap"),
        done_(path / "next/done.memmap") {
    if (info.env.reward_terms.empty()) return;
    make_folder(path / kRewardTermsKey);
    for (const std::string& name : info.env.reward_terms)
      terms_.emplace_back(path / kRewardTermsKey / (memmap_file_name(name) + ".memmap"));
  }

  void append(const Episode& episode) override {
    const auto length = static_cast<std::size_t>(episode.length);
    const std::string_view all = bytes_of(episode.observations);
    const std::size_t row = width_ * sizeof(float);
    observation_.append(all.substr(0, length * row));
    next_observation_.append(all.substr(row));
    action_.append({reinterpret_cast<const char*>(episode.actions.data()), episode.actions.size()});
    const std::vector<std::int64_t> ids(length, episode.id);
    episode_.append(bytes_of(ids));
    reward_.append(bytes_of(episode.rewards));
    terminated_.append(bytes_of(episode.terminated));
    truncated_.append(bytes_of(episode.truncated));
    std::vector<std::uint8_t> done = episode.terminated;
    for (std::size_t t = 0; t < length; ++t) done[t] |= episode.truncated[t];
    done_.append(bytes_of(done));
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      const std::vector<float> term = episode.reward_term(k, terms_.size());
      terms_[k].append(bytes_of(term));
    }
    steps_ += episode.length;
  }

  void finish() override {
    for (AppendFile* file :
         {&observation_, &action_, &episode_, &next_observation_, &reward_, &terminated_, &truncated_, &done_})
      file->flush();
    for (AppendFile& file : terms_) file.flush();
    const std::int64_t width = info_.env.obs_dim(), dim = info_.env.action.dim();
    const bool box = info_.env.action.is_box();
    const bool single = info_.env.action.kind == ActionSpace::Kind::discrete;
    Json next = {{"observation", leaf("float32", {steps_, width})},
                 {"reward", leaf("float32", {steps_, 1})},
                 {"terminated", leaf("bool", {steps_, 1})},
                 {"truncated", leaf("bool", {steps_, 1})},
                 {"done", leaf("bool", {steps_, 1})}};
    Json meta = {{"observation", leaf("float32", {steps_, width})},
                 {"action", leaf(box ? "float32" : "int64", single ? Shape{steps_} : Shape{steps_, dim})},
                 {"episode", leaf("int64", {steps_})},
                 {"next", {{"type", "TensorDict"}}}};
    meta[kProvenanceKey] = provenance_json(info_);  // readers pass over what is no table
    if (!terms_.empty()) {
      Json terms;
      for (const std::string& name : info_.env.reward_terms) terms[name] = leaf("float32", {steps_, 1});
      write_file(path_ / kRewardTermsKey / kMemmapMetaFile, completed(std::move(terms)));
      next["reward_terms"] = {{"type", "TensorDict"}};
    }
    write_file(path_ / "next/meta.json", completed(std::move(next)));
    write_file(path_ / "meta.json", completed(std::move(meta)));
  }

 private:
  using Shape = std::vector<std::int64_t>;

  template <class T>
  static std::string_view bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
  }
  static fs::path made(const fs::path& path) {
    make_folder(path / "next");
    return path;
  }
  static Json leaf(const char* dtype, const Shape& shape) {
    return {{"device", "cpu"}, {"shape", shape}, {"dtype", std::string("torch.") + dtype}, {"is_nested", false}};
  }
  std::string completed(Json meta) const {
    meta["shape"] = Shape{steps_};
    meta["device"] = "cpu";
    meta["_type"] = "<class 'tensordict._td.TensorDict'>";
    meta["_format_version"] = 1;
    meta["_class"] = "tensordict:TensorDict";
    return meta.dump();
  }

  fs::path path_;
  DatasetInfo info_;
  std::size_t width_;
  AppendFile observation_, action_, episode_, next_observation_, reward_, terminated_, truncated_, done_;
  std::vector<AppendFile> terms_;  // of the reward
  std::int64_t steps_ = 0;
};

}  // namespace

std::unique_ptr<DatasetWriter> make_tensordict_writer(const fs::path& path, const DatasetInfo& info) {
  return std::make_unique<TensordictWriter>(path, info);
}

}  // namespace hotloop
