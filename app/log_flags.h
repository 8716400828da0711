// The flags of trajectory logs, --log-...: no configuration keys, as they leave the run what it is.
#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "train/log_options.h"

namespace hotloop {

// As typed.
struct LogFlags {
  std::optional<std::string> path, keys, envs, every, policy, gzip, flush_seconds, segment_gib;
};

void add_log_flags(CLI::App& command, LogFlags& flags);
std::string given_log_flag(const LogFlags& flags);  // the first one with its value, or ""
// Error naming the flag, its value and what is accepted.
LogOptions parse_log_flags(const LogFlags& flags);

}  // namespace hotloop
