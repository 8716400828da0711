// The kinds of things that open_source opens, one function each.
#pragma once
#include <memory>

#include "sim/core/env.h"
#include "viz/source/world_source.h"

namespace hotloop {

// A registered task: options.what is its name.
std::unique_ptr<WorldSource> open_task_source(const SourceOptions& options);
// An MJCF or URDF file.
std::unique_ptr<WorldSource> open_model_source(const SourceOptions& options);
// A run's folder or a checkpoint.
std::unique_ptr<WorldSource> open_policy_source(const SourceOptions& options);
// A trajectory log.
std::unique_ptr<WorldSource> open_log_source(const SourceOptions& options);

// Two of them, one beside the other.
std::unique_ptr<WorldSource> open_pair_source(const SourceOptions& options);

// What `what` is, from its name and, of a file, its first bytes; its kind is that of the source. Error, one line, where
// it is nothing that can be opened.
SourceKind source_kind(const std::string& what);

// "NAME=VALUE" as `hotloop view --env.NAME VALUE` hands them on.
EnvOptions parse_env_options(const std::vector<std::string>& texts);

}  // namespace hotloop
