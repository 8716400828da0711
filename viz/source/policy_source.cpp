#include "viz/source/policy_source.h"

#include <cmath>

#include "sim/core/error.h"
#include "train/foreign_policy.h"
#include "train/metric_table.h"
#include "train/trainer.h"
#include "viz/source/open_parts.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

PolicySpec policy_of(const CheckpointInfo& info) {
  return make_policy_spec(info.config, spec_with_options(find_environment(info.config.task), info.config.env));
}

// The folder that a checkpoint lies in, where it is that of a run.
fs::path run_of(const std::string& path) {
  std::error_code ignored;
  for (fs::path folder : {fs::path(path), fs::path(path).parent_path(), fs::path(path).parent_path().parent_path()})
    if (fs::is_regular_file(folder / "metrics.csv", ignored)) return folder;
  return {};
}

// Iterations that a run was asked for; 0 where its folder does not say.
std::int64_t total_iterations(const fs::path& run) {
  std::error_code ignored;
  if (!fs::is_regular_file(run / "config.toml", ignored)) return 0;
  return num_iterations(resolve_settings(read_settings(run / "config.toml")));
}

// The last value of a column; 0 before there is one.
double last_value(const MetricTable& table, const std::string& name) {
  const std::vector<double>& column = table.column[table.find(name)];
  for (std::size_t i = column.size(); i-- > 0;)
    if (!std::isnan(column[i])) return column[i];
  return 0;
}

std::vector<TelemetryCurve> curves_of(const MetricTable& table) {
  const std::size_t step = table.find("global_step"), iteration = table.find("iteration");
  std::vector<TelemetryCurve> curves;
  for (std::size_t k = 0; k < table.names.size(); ++k) {
    if (k == step || k == iteration) continue;
    TelemetryCurve curve{table.names[k], {}, {}};
    for (std::size_t i = 0; i < table.column[k].size(); ++i) {
      if (std::isnan(table.column[k][i])) continue;  // an empty cell
      curve.step.push_back(table.column[step][i]);
      curve.value.push_back(table.column[k][i]);
    }
    if (!curve.value.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

// What the folder of a run tells, which may be under way.
Telemetry run_telemetry(const fs::path& run) {
  Telemetry t;
  t.run_dir = run.string();
  const MetricTable table = read_metric_table(run / "metrics.csv");
  t.curves = curves_of(table);
  t.global_step = std::llround(last_value(table, "global_step"));
  t.iteration = std::llround(last_value(table, "iteration"));
  t.total_iterations = total_iterations(run);
  t.finished = t.total_iterations > 0 && t.iteration >= t.total_iterations;
  std::error_code ignored;
  if (fs::file_size(run / "performance.csv", ignored) > 0 && !ignored) {
    const MetricTable performance = read_metric_table(run / "performance.csv");
    t.steps_per_second = last_value(performance, "charts/SPS");
    t.elapsed_seconds = last_value(performance, "time/time_elapsed");
  }
  return t;
}

}  // namespace

PolicySource::PolicySource(const Safetensors& file, const CheckpointInfo& info, const BatchConfig& config,
                           bool stochastic, const std::string& path)
    : TaskSource(find_environment(info.config.task), config, Actions::zero),
      net_(policy_of(info), config.device, config.num_envs),
      stochastic_(stochastic),
      run_(run_of(path)) {
  info_.kind = SourceKind::policy;
  info_.path = path;
  load_policy(file, exec(), net_);
}

void PolicySource::choose_actions() {
  DrawKey key;
  key.seed = static_cast<std::uint64_t>(info_.seed);
  key.stream += kEvaluationStreams;
  key.t = static_cast<std::uint64_t>(position());
  net_.act(exec(), info_.num_worlds, buffers().observation.data(), buffers().action_mask.data(), !stochastic_, key,
           buffers().action.data());
}

const Telemetry* PolicySource::telemetry() {
  if (run_.empty()) return nullptr;
  std::error_code gone;
  const std::uintmax_t bytes = fs::file_size(run_ / "metrics.csv", gone);
  if (gone || bytes == read_bytes_) return telemetry_ ? &*telemetry_ : nullptr;
  read_bytes_ = bytes;
  try {
    telemetry_ = run_telemetry(run_);
  } catch (const Error& e) {
    if (!telemetry_) telemetry_.emplace();
    telemetry_->log_lines = {e.what()};
  }
  return &*telemetry_;
}

std::unique_ptr<WorldSource> open_policy_source(const SourceOptions& options, PolicyTarget target) {
  if (!options.env_options.empty())
    throw Error("--" + options.env_options[0] + ": " + options.what + " says the options of its task itself");
  target.path = options.what;
  const Safetensors file = read_policy(target);
  const CheckpointInfo info = checkpoint_info(file);
  check_policy(file, policy_of(info));  // before memory is asked for as the file's configuration says
  BatchConfig config;
  config.device = parse_device(options.device);
  config.num_envs = options.worlds > 0 ? options.worlds : config.device.is_cuda() ? 1024 : 16;
  config.seed = static_cast<std::uint64_t>(options.seed);
  config.max_episode_steps = static_cast<int>(info.config.max_episode_steps);
  config.evaluation = true;
  config.options = info.config.env;
  return std::make_unique<PolicySource>(file, info, config, options.stochastic, options.what);
}

std::unique_ptr<WorldSource> open_policy_source(const SourceOptions& options) {
  return open_policy_source(options, {.path = {}, .task = options.task, .activation = {}});
}

}  // namespace hotloop
