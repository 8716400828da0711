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

void add_policy_flags(CLI::App& command, PolicyFlags& flags);
// Error naming the flag, its value and what is accepted.
PolicyTarget parse_policy_flags(const std::string& command, const PolicyFlags& flags);

}  // namespace hotloop
