// The run folder of one member of a population, as of a single training. Its files are open only while something is
// written: there may be more members than a process may have files open.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/safetensors.h"
#include "train/config.h"
#include "train/metrics.h"
#include "train/run_counters.h"

namespace hotloop {

class MemberFolder {
 public:
  // config: the member's, which outlives this; machine: machine.json.
  MemberFolder(std::filesystem::path path, const TrainConfig& config, std::string machine,
               std::vector<std::string> term_tags);

  const std::filesystem::path& path() const { return path_; }
  // A new folder. Error if it holds anything.
  void create();
  // Goes on with the metrics of these lengths.
  void go_on(FileOffsets offsets) { offsets_ = std::move(offsets); }
  // Makes the folder anew where somebody has removed it under the running training; whether that was so.
  bool restore();

  void write_rows(const std::vector<MetricRow>& rows, bool durable);
  void save_best(const std::vector<NamedTensor>& tensors, const RunCounters& counters) const;
  void save_checkpoint(const std::vector<NamedTensor>& tensors, const RunCounters& counters) const;

 private:
  Metadata metadata(const RunCounters& counters) const;

  std::filesystem::path path_;
  const TrainConfig& config_;
  std::string machine_;
  std::vector<std::string> term_tags_;
  FileOffsets offsets_;  // of the metrics; empty: no files yet
};

// The newest iteration of which every member has a checkpoint; 0: there is none yet, and the training begins anew.
// Error where one has lost its checkpoints and the others would lose theirs with it.
std::int64_t common_checkpoint(const std::vector<std::filesystem::path>& members);

}  // namespace hotloop
