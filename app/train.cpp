#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "app/cli.h"
#include "app/log_flags.h"
#include "sim/core/error.h"
#include "sim/core/registry.h"
#include "sim/core/shell.h"
#include "sim/core/value.h"
#include "train/commands.h"
#include "viz/watch.h"

namespace hotloop {
namespace {

struct TrainArguments {
  std::string target;
  bool has_target = false;
  std::string num_seeds;  // empty: not given
  TrainOptions options;
  LogFlags log;
  bool watch = false;
};

bool is_config_file(const std::string& target) {
  for (const EnvEntry& entry : environments())
    if (entry.spec.name == target) return false;
  return target.ends_with(".toml") || target.find('/') != std::string::npos;
}

void append(std::vector<Setting>& to, const std::vector<Setting>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

const Setting* find_task(const std::vector<Setting>& settings) {
  for (const Setting& s : settings)
    if (canonical_key(s.key) == "task") return &s;
  return nullptr;
}

// Built-in defaults, then the task's file, then the user's file, then the command line.
TrainConfig layered_config(const TrainArguments& arguments, const std::vector<Setting>& flags,
                           std::vector<std::string>& sources) {
  const bool file = is_config_file(arguments.target);
  const std::vector<Setting> user =
      file ? read_settings(arguments.target) : std::vector<Setting>{{"task", arguments.target, ""}};
  const Setting* task = find_task(flags);
  if (task && !file && task->text != arguments.target)
    throw Error("--task " + shown(task->text) + ": contradicts the task " + shown(arguments.target) + ", keep one");
  if (!task) task = find_task(user);
  if (!task)
    throw Error(shown(arguments.target) + ": task is missing; add task = \"CartPole-v1\" (or another of " +
                program_name() + " list)");
  find_environment(task->text);
  std::vector<Setting> settings;
  for (const std::filesystem::path& path : task_config_files(task->text)) {
    append(settings, read_settings(path));
    sources.push_back(path.string());
  }
  append(settings, user);
  if (file) sources.push_back(arguments.target);
  append(settings, flags);
  return resolve_settings(settings);
}

// A run folder where a task belongs: the user wants to go on with it or to see it.
void refuse_run_folder(const std::string& target) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(std::filesystem::path(target) / "config.toml", ignored)) return;
  const std::string folder = shell_quoted(target);
  throw Error(fmt::format("train: {} is a run folder; go on with it by {} train --resume {}, or see it by {} play {}",
                          shown(target), program_name(), folder, program_name(), folder));
}

int train(Cli& cli, TrainArguments& arguments) {
  TrainOptions& options = arguments.options;
  for (const Setting& s : cli.settings)
    if (canonical_key(s.key) == "run_dir" && s.text.empty()) throw Error("--run-dir '': must name a folder");
  options.command_line = cli.command_line;
  if (!arguments.has_target && options.resume.empty())
    throw Error("train: name a task (see " + program_name() + " list), a CONFIG.toml, or --resume RUN");
  if (arguments.has_target && !options.resume.empty())
    throw Error("--resume " + shown(options.resume) + ": takes its task from the run; leave out " +
                shown(arguments.target));
  if (arguments.has_target) refuse_run_folder(arguments.target);
  if (!arguments.num_seeds.empty()) {
    parse_value("--num-seeds", arguments.num_seeds, {.low = 1, .high = 1'000'000}, options.num_seeds);
    if (!options.resume.empty())
      throw Error("--num-seeds " + arguments.num_seeds + ": a resumed population keeps its members");
  }
  if (!options.sweep.empty() && !options.resume.empty())
    throw Error("--sweep " + shown(options.sweep) + ": a resumed population keeps its members");
  options.log = parse_log_flags(arguments.log);
  const TrainConfig config = options.resume.empty() ? layered_config(arguments, cli.settings, options.sources)
                                                    : resume_config(options.resume, cli.settings);
  validate(config, find_environment(config.task).spec.action);
  if (is_population(options.resume) || options.num_seeds > 1 || !options.sweep.empty()) {
    if (arguments.watch) throw Error("--watch: looks at one training, not at a population");
    return population_command(config, options);
  }
  return arguments.watch ? watch_training(config, options, {}) : train_command(config, options);
}

}  // namespace

void add_train(Cli& cli) {
  CLI::App* command = add_command(cli, "train", "Train a policy");
  auto arguments = std::make_shared<TrainArguments>();
  CLI::Option* target = command->add_option("TASK|CONFIG.toml", arguments->target, "task name or configuration file");
  CLI::Option* resume = command->add_option("--resume", arguments->options.resume, "run folder to go on with");
  resume->type_name("RUN");
  command->add_flag("--quiet", arguments->options.quiet, "no progress line");
  command
      ->add_option("--num-seeds,--num_seeds", arguments->num_seeds,
                   "train so many policies at once, with seeds from --seed on")
      ->type_name("N");
  command
      ->add_option("--sweep", arguments->options.sweep,
                   "file of settings in which the policies of a population differ, see the README")
      ->type_name("FILE.toml");
  command->add_flag("--watch", arguments->watch, "open a window on the training's worlds, curves and tensors");
  add_log_flags(*command, arguments->log);
  command->footer(settings_help);
  command->callback([&cli, arguments, target, resume] {
    cli.action = [&cli, arguments, target, resume] {
      arguments->has_target = target->count() > 0;
      if (resume->count() > 0 && arguments->options.resume.empty()) throw Error("--resume '': must name a run folder");
      return train(cli, *arguments);
    };
  });
}

}  // namespace hotloop
