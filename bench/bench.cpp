#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "bench/physics_bench.h"
#include "bench/view_bench.h"
#include "data/file.h"
#include "sim/core/error.h"
#include "sim/core/value.h"
#include "train/nvml.h"

namespace hotloop {
namespace {

std::string first_line_of(const char* command) {
  std::FILE* pipe = popen(command, "r");
  if (pipe == nullptr) return "";
  char line[256] = "";
  if (std::fgets(line, sizeof line, pipe) == nullptr) line[0] = 0;
  pclose(pipe);
  std::string text = line;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string commit() {
  const char* given = std::getenv("HOTLOOP_COMMIT");
  return given != nullptr ? given : first_line_of("git rev-parse --short HEAD 2>/dev/null");
}

std::string today() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::strftime(text, sizeof text, "%Y-%m-%d", gmtime_r(&now, &parts));
  return text;
}

std::string csv_quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : one_line(text)) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// One row a result, with what it was measured on and by.
void append_csv(const BenchOptions& options, const std::string& benchmark, Device device,
                const std::vector<BenchResult>& results) {
  make_folder(options.results);
  AppendFile file(std::filesystem::path(options.results) / (benchmark + ".csv"));
  if (file.size() == 0) file.append("date,commit,card,driver,command,name,unit,value,min,max,hash,peer,peer_value\n");
  std::string command = "hotloop";  // without the folder it was started from
  for (std::size_t i = 1; i < options.command_line.size(); ++i) command += " " + options.command_line[i];
  const std::string card = device.is_cuda() ? cuda_device_info(device.index).name
                                            : first_line_of("sed -n 's/^model name.*: //p' /proc/cpuinfo");
  for (const BenchResult& r : results)
    file.append(fmt::format("{},{},{},{},{},{},{},{:.6g},{:.6g},{:.6g},{:016x},,\n", today(), commit(),
                            csv_quoted(card), device.is_cuda() ? nvidia_driver_version() : "", csv_quoted(command),
                            r.name.find_first_of(",\"") == std::string::npos ? r.name : csv_quoted(r.name), r.unit,
                            r.value, r.min, r.max, r.hash));
  file.flush();
}

void print(const std::vector<BenchResult>& results) {
  for (const BenchResult& r : results)
    write_output(fmt::format("{} {} {:.6g}   (min {:.6g}, max {:.6g}{})\n", r.name, r.unit, r.value, r.min, r.max,
                             r.hash != 0 ? fmt::format(", hash {:016x}", r.hash) : ""));
}

TrainConfig config_of(const BenchOptions& options, std::vector<Setting> own) {
  own.insert(own.end(), options.settings.begin(), options.settings.end());
  return resolve_settings(own);
}

bool set_by_user(const BenchOptions& options, const std::string& key) {
  for (const Setting& s : options.settings)
    if (canonical_key(s.key) == key) return true;
  return false;
}

void run_env(const BenchOptions& options) {
  const TrainConfig config = config_of(options, {});
  EnvBenchOptions env;
  env.device = parse_device(config.device);
  env.seed = static_cast<std::uint64_t>(config.seed);
  env.threads = static_cast<int>(config.num_threads);
  if (!config.task.empty()) env.tasks = {config.task};
  env.options = config.env;
  if (set_by_user(options, "num_envs")) env.num_envs = {config.num_envs};
  const std::vector<BenchResult> results = bench_env(env);
  append_csv(options, "env", env.device, results);
  print(results);
}

void run_physics(const BenchOptions& options) {
  const TrainConfig config = config_of(options, {});
  PhysicsBenchOptions physics;
  physics.device = parse_device(config.device);
  physics.threads = static_cast<int>(config.num_threads);
  physics.models = options.models;
  physics.max_contacts = options.max_contacts;
  physics.generic = options.generic;
  physics.staged = options.staged;
  if (set_by_user(options, "num_envs")) physics.num_worlds = config.num_envs;
  const std::vector<BenchResult> results = bench_physics(physics);
  append_csv(options, "physics", physics.device, results);
  print(results);
}

// The comparison that the field runs: CartPole, 4096 worlds x 32 steps, 4 epochs x 4 minibatches, separate 2x64
// networks.
void run_train(const BenchOptions& options) {
  std::vector<std::string> precisions = {"fp32", "tf32"};
  const TrainConfig asked = config_of(options, {});
  const Device device = parse_device(asked.device);
  if (set_by_user(options, "precision")) precisions = {asked.precision};
  if (!device.is_cuda() && !set_by_user(options, "precision")) precisions = {"fp32"};
  for (const std::string& precision : precisions) {
    const std::vector<Setting> own = {
        {"task", "CartPole-v1", ""},     {"num_envs", "4096", ""},        {"num_steps", "32", ""},
        {"num_minibatches", "4", ""},    {"update_epochs", "4", ""},      {"learning_rate", "1e-3", ""},
        {"lr_schedule", "constant", ""}, {"total_timesteps", "1e12", ""}, {"precision", precision, ""}};
    const TrainConfig config = config_of(options, own);
    validate(config);
    const std::vector<BenchResult> results = bench_train(config, options.seconds);
    append_csv(options, "train", device, results);
    print(results);
  }
}

void run_log(const BenchOptions& options) {
  const std::vector<Setting> own = {{"task", "CartPole-v1", ""},  {"num_envs", "4096", ""},
                                    {"num_steps", "32", ""},      {"num_minibatches", "4", ""},
                                    {"update_epochs", "4", ""},   {"total_timesteps", "1e12", ""},
                                    {"learning_rate", "1e-3", ""}};
  const TrainConfig config = config_of(options, own);
  validate(config);
  const std::vector<BenchResult> results = bench_log(config, options.log, options.seconds);
  append_csv(options, "log", parse_device(config.device), results);
  print(results);
}

void run_view(const BenchOptions& options) {
  const TrainConfig config = config_of(options, {{"task", "Ant-v5", ""}});
  ViewBenchOptions view;
  view.task = config.task;
  view.device = parse_device(config.device);
  view.seed = config.seed;
  view.seconds = options.seconds;
  if (set_by_user(options, "num_envs")) view.worlds = config.num_envs;
  const std::vector<BenchResult> results = bench_view(view);
  append_csv(options, "view", view.device, results);
  print(results);
}

// Error for what is set and used by none of the named benchmarks.
void refuse_unused(const BenchOptions& options, const std::vector<std::string>& names) {
  const auto runs = [&](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  const bool physics = runs("physics"), trains = runs("train") || runs("log") || runs("export"), views = runs("view");
  const auto refuse = [](const std::string& label, const std::string& users) {
    throw Error(label + ": is used only by " + users);
  };
  if (!physics && !options.models.empty()) refuse("--model " + shown(options.models.front()), "bench physics");
  if (!physics && options.max_contacts > 0)
    refuse("--max-contacts " + std::to_string(options.max_contacts), "bench physics");
  if (!physics && options.generic) refuse("--generic", "bench physics");
  if (!physics && options.staged) refuse("--staged", "bench physics");
  if (!trains && !views && options.seconds_given)
    refuse(fmt::format("--seconds {}", options.seconds), "bench train, log, export and view");
  if (!runs("log") && !options.log_flag.empty()) refuse(options.log_flag, "bench log");
  if (trains) return;  // they take every key
  std::vector<std::string> used = {"device", "num_threads", "num_envs"};
  if (runs("env") || views) used.insert(used.end(), {"seed", "task"});
  for (const Setting& s : options.settings) {
    const std::string key = canonical_key(s.key).value_or(s.key);
    if (std::find(used.begin(), used.end(), key) != used.end()) continue;
    if (runs("env") && key.starts_with("env.")) {
      if (set_by_user(options, "task")) continue;
      throw Error(s.label() + " " + shown(s.text) + ": is an option of one task; name it with --task");
    }
    refuse(s.label() + " " + shown(s.text),
           runs("env") ? "bench train, log and export" : "bench env, train, log and export");
  }
}

// A small task and a robot, with the network of most tasks' configurations.
void run_export(const BenchOptions& options) {
  std::vector<TrainConfig> configs;
  for (const char* task : {"CartPole-v1", "Ant-v5"})
    configs.push_back(
        config_of(options, {{"task", task, ""}, {"hidden_sizes", "64,64", ""}, {"normalize_observation", "true", ""}}));
  if (set_by_user(options, "task")) configs.resize(1);
  const std::vector<BenchResult> results = bench_export(configs, options.seconds);
  append_csv(options, "export", Device{}, results);
  print(results);
}

}  // namespace

BenchResult summary(const std::string& name, const std::string& unit, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {name, unit, values[values.size() / 2], values.front(), values.back(), 0};
}

const std::vector<std::string>& bench_names() {
  static const std::vector<std::string> names = {"env", "physics", "train", "log", "export", "view"};
  return names;
}

int bench_command(const BenchOptions& options) {
  const std::vector<std::string>& names = options.names.empty() ? bench_names() : options.names;
  refuse_unused(options, names);
  for (const std::string& name : names) {  // what cannot be written is known before anything is measured
    make_folder(options.results);
    AppendFile(std::filesystem::path(options.results) / (name + ".csv"));
  }
  for (const std::string& name : names) {
    if (name == "env") run_env(options);
    if (name == "physics") run_physics(options);
    if (name == "train") run_train(options);
    if (name == "log") run_log(options);
    if (name == "export") run_export(options);
    if (name == "view") run_view(options);
  }
  return 0;
}

}  // namespace hotloop
