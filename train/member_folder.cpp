#include "train/member_folder.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "sim/core/error.h"
#include "sim/core/value.h"
#include "train/checkpoint.h"
#include "train/run_dir.h"

namespace hotloop {

namespace fs = std::filesystem;

MemberFolder::MemberFolder(fs::path path, const TrainConfig& config, std::string machine,
                           std::vector<std::string> term_tags)
    : path_(std::move(path)), config_(config), machine_(std::move(machine)), term_tags_(std::move(term_tags)) {}

void MemberFolder::create() {
  TrainConfig own = config_;
  RunDir folder = RunDir::create(path_, own.task, own.exp_name, own.seed, own.keep_checkpoints);
  own.run_dir.clear();
  folder.write("config.toml", to_toml(own));
  folder.write("machine.json", machine_);
  folder.keep();
  offsets_.clear();
}

bool MemberFolder::restore() {
  std::error_code ignored;
  if (fs::is_directory(path_, ignored) && !fs::is_empty(path_, ignored)) return false;
  create();
  return true;
}

void MemberFolder::write_rows(const std::vector<MetricRow>& rows, bool durable) {
  std::optional<MetricWriter> writer;
  if (offsets_.empty())
    writer.emplace(path_, term_tags_);
  else
    writer.emplace(path_, offsets_, term_tags_);
  for (const MetricRow& row : rows) writer->write(row);
  offsets_ = durable ? writer->offsets() : writer->sizes();
}

Metadata MemberFolder::metadata(const RunCounters& counters) const {
  TrainConfig own = config_;
  own.run_dir.clear();
  return checkpoint_metadata({own, counters, offsets_});
}

void MemberFolder::save_best(const std::vector<NamedTensor>& tensors, const RunCounters& counters) const {
  RunDir::resume(path_, config_.keep_checkpoints).save_best(tensors, metadata(counters));
}

void MemberFolder::save_checkpoint(const std::vector<NamedTensor>& tensors, const RunCounters& counters) const {
  // two at least: a kill leaves some members with the older one as their newest
  RunDir::resume(path_, std::max<std::int64_t>(2, config_.keep_checkpoints))
      .save_checkpoint(counters.iteration, tensors, metadata(counters));
}

std::int64_t common_checkpoint(const std::vector<fs::path>& members) {
  std::vector<std::string> common;
  std::size_t most = 0;
  for (const fs::path& member : members) {
    std::vector<std::string> own, both;
    for (const fs::path& path : numbered_checkpoints(member)) own.push_back(path.filename());
    std::sort(own.begin(), own.end());
    most = std::max(most, own.size());
    if (&member == &members.front()) common = own;
    std::set_intersection(common.begin(), common.end(), own.begin(), own.end(), std::back_inserter(both));
    common = both;
  }
  std::int64_t newest = 0;
  for (const std::string& name : common) newest = std::max<std::int64_t>(newest, std::stoll(name));
  if (newest > 0 || most < 2) return newest;  // 0: stopped before all had written their first one
  const auto lost = std::find_if(members.begin(), members.end(),
                                 [](const fs::path& member) { return numbered_checkpoints(member).empty(); });
  const fs::path& told = lost == members.end() ? members.front() : *lost;
  throw Error(shown(told.string()) +
              ": holds no checkpoint of an iteration of which all members have one; resume the " +
              "others each by its own folder, or to train all anew, remove " + shown(told.parent_path().string()));
}

}  // namespace hotloop
