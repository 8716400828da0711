// A trained policy at work, for the viewer, with the curves of its run.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "train/checkpoint.h"
#include "train/foreign_policy.h"
#include "train/policy_net.h"
#include "viz/source/task_source.h"

namespace hotloop {

class PolicySource final : public TaskSource {
 public:
  // file: of read_policy(); info: of its checkpoint. stochastic: samples actions instead of taking the likeliest.
  PolicySource(const Safetensors& file, const CheckpointInfo& info, const BatchConfig& config, bool stochastic,
               const std::string& path);

  // Of the run's folder, read anew when its file has grown; null: the policy is of no run, or its folder is gone.
  const Telemetry* telemetry() override;

 private:
  void choose_actions() override;

  PolicyNet net_;
  bool stochastic_;
  std::filesystem::path run_;  // empty: none
  std::uintmax_t read_bytes_ = 0;
  std::optional<Telemetry> telemetry_;
};

// Of the options' run or checkpoint, of which target says more, but not the path.
std::unique_ptr<WorldSource> open_policy_source(const SourceOptions& options, PolicyTarget target);

}  // namespace hotloop
