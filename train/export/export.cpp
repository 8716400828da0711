// export_command: a trained policy as a file that runs without hotloop.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "data/file.h"
#include "data/staged_path.h"
#include "sim/core/error.h"
#include "sim/core/value.h"
#include "train/checkpoint.h"
#include "train/commands.h"
#include "train/export/formats.h"
#include "train/network.h"
#include "train/progress.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

std::string extension(const std::string& format) { return format == "torchscript" ? ".pt" : "." + format; }

// Error where something is there already: nothing is replaced.
fs::path checked_target(const std::string& output) {
  const fs::path path = output_path(output);
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(path, ignored)))
    throw Error("'" + path.string() + "' exists; remove it or name another -o");
  return path;
}

// The file's content; safetensors are written to their file at once.
std::string content_of(const ExportOptions& options, const PolicyGraph& graph, const OrderedJson& metadata) {
  if (options.format == "onnx") return onnx_content(graph, metadata);
  if (options.format == "c") return c_content(graph, metadata, options.name.empty() ? "policy" : options.name);
  if (options.format == "torchscript") return load_generic().torchscript(graph, metadata.dump(1));
  return "";
}

// Both files or none, and none that another process has made meanwhile: the side file comes first, so that who has
// its name has the other's too.
void write_files(const fs::path& path, const fs::path& side, const ExportOptions& options, const PolicyGraph& graph,
                 const OrderedJson& metadata) {
  StagedPath policy(path), facts(side);
  try {
    if (options.format == "safetensors")
      write_policy_safetensors(policy.path(), graph, metadata);
    else
      write_file(policy.path(), content_of(options, graph, metadata));
    write_file(facts.path(), metadata.dump(2) + "\n");
  } catch (const Error& e) {
    std::string text = e.what();  // by the names that were asked for
    for (const StagedPath* staged : {&policy, &facts})
      if (const auto at = text.find(staged->path().string()); at != std::string::npos)
        text.replace(at, staged->path().string().size(), staged->target().string());
    throw Error(text);
  }
  facts.commit_new();
  try {
    policy.commit_new();
  } catch (...) {
    std::error_code ignored;
    fs::remove(side, ignored);
    throw;
  }
}

}  // namespace

int export_command(const ExportOptions& options) {
  const Safetensors file = read_policy(options.policy);
  const CheckpointInfo info = checkpoint_info(file);
  const EnvEntry& env = find_environment(info.config.task);
  const EnvSpec spec = spec_with_options(env, info.config.env);
  const PolicySpec policy = make_policy_spec(info.config, spec);
  check_policy(file, policy);
  const std::string output = options.output.empty() ? "policy" + extension(options.format) : options.output;
  const fs::path target = checked_target(output), side_target = checked_target(target.string() + ".json");
  PolicyGraph graph;
  try {
    const PolicyWeights weights = policy_weights(file, policy);
    graph = make_policy_graph(policy, weights.parameters, weights.normalizer, options.value);
  } catch (const Error& e) {
    throw Error(file.name() + ": " + e.what());
  }
  const OrderedJson metadata = export_metadata(info, file.metadata_value("hotloop_version"), env, spec, policy, graph);
  write_files(target, side_target, options, graph, metadata);
  write_output(fmt::format("{}: policy of {} after {} steps\n{}: {} with {}; the same facts in {}\n", file.name(),
                           info.config.task, count_text(static_cast<double>(info.counters.global_step)), output,
                           options.format, fmt::join(graph.outputs, ", "), output + ".json"));
  return 0;
}

}  // namespace hotloop
