#include "app/policy_flags.h"

#include <filesystem>

#include "sim/core/error.h"
#include "sim/core/registry.h"
#include "sim/core/value.h"

namespace hotloop {

void add_policy_flags(CLI::App& command, PolicyFlags& flags, const std::string& or_task) {
  command.add_option(
      or_task.empty() ? "RUN|CHECKPOINT" : "RUN|CHECKPOINT|TASK", flags.target,
      "run folder, checkpoint file, or safetensors file of a CleanRL or Stable-Baselines3 policy" + or_task);
  command.add_option("--task", flags.task, "task of a CleanRL or Stable-Baselines3 policy")->type_name("TASK");
  command
      .add_option("--activation", flags.activation,
                  "of a CleanRL or Stable-Baselines3 policy: tanh, relu, elu or silu (default tanh)")
      ->type_name("A");
  command.add_option("--checkpoint", flags.checkpoint, "of a run folder: best or latest (default best, else latest)")
      ->type_name("C");
}

PolicyTarget parse_policy_flags(const std::string& command, const PolicyFlags& flags) {
  PolicyTarget target;
  target.path = flags.target;
  target.task = flags.task;
  if (!flags.checkpoint.empty()) {
    std::string choice;
    parse_value("--checkpoint", flags.checkpoint, {.choices = {"best", "latest"}}, choice);
    target.checkpoint = choice == "best" ? CheckpointChoice::best : CheckpointChoice::latest;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(flags.target, ignored))
      throw Error("--checkpoint " + choice + ": chooses in a run folder, and " + shown(flags.target) + " is a file");
  }
  if (!flags.activation.empty())
    parse_value("--activation", flags.activation, {.choices = {"tanh", "relu", "elu", "silu"}}, target.activation);
  if (!flags.task.empty()) find_environment(flags.task);
  if (flags.target.empty()) throw Error(command + ": name a run folder or a checkpoint file");
  return target;
}

}  // namespace hotloop
