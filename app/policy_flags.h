// RUN|CHECKPOINT and what says more of it: which policy a command is about.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "train/foreign_policy.h"

namespace hotloop {

// As typed.
struct PolicyFlags {
  std::string target, task, activation, checkpoint;
};

// or_task: TASK may stand in the policy's place, and the command says when.
void add_policy_flags(CLI::App& command, PolicyFlags& flags, const std::string& or_task = "");
// Error naming the flag, its value and what is accepted.
PolicyTarget parse_policy_flags(const std::string& command, const PolicyFlags& flags);

}  // namespace hotloop
