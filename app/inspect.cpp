#include <memory>

#include "app/cli.h"
#include "app/guarded.h"
#include "data/file.h"
#include "data/inspect/inspect.h"
#include "sim/core/error.h"
#include "sim/core/value.h"
#include "train/stop_signal.h"

namespace hotloop {
namespace {

constexpr const char* kInside = "inspect-inside";  // the command that does the work, in a process of its own

struct InspectArguments {
  std::string path;
  bool json = false;
};

int inspect_guarded(const InspectArguments& arguments) {
  if (arguments.path.empty()) throw Error("inspect: name a trajectory log or a dataset");
  std::vector<std::string> words = {kInside};
  if (arguments.json) words.push_back("--json");
  words.insert(words.end(), {"--", arguments.path});
  end_at_stop("stopped\n");
  return run_guarded(words, arguments.path);
}

int inspect_inside(const InspectArguments& arguments) {
  enter_guard();
  try {
    const Report report = inspect(arguments.path, [](const LogInfo& log) {
      const TrainConfig config = resolve_settings(parse_settings(log.config, "attribute 'config'"));
      if (config.task != log.task)
        throw Error("attribute 'config': is of " + config.task + ", 'task' says " + log.task);
    });
    write_output(arguments.json ? report.json() : report.text());
    return report.problems().empty() ? 0 : 1;
  } catch (const std::bad_alloc&) {
    throw Error(shown(arguments.path) + ": asks for more memory than a dataset needs");
  }
}

CLI::App* add(Cli& cli, const char* name, int (*act)(const InspectArguments&)) {
  CLI::App* command = add_command(cli, name, "Say what a trajectory log or dataset holds, and whether it is whole");
  auto arguments = std::make_shared<InspectArguments>();
  command->add_option("FILE|DIR", arguments->path, "trajectory log, or minari, d4rl, robomimic or tensordict dataset");
  command->add_flag("--json", arguments->json, "print a JSON object");
  command->callback([&cli, arguments, act] { cli.action = [arguments, act] { return act(*arguments); }; });
  return command;
}

}  // namespace

void add_inspect(Cli& cli) {
  add(cli, "inspect", inspect_guarded);
  add(cli, kInside, inspect_inside)->group("");  // shown nowhere
}

}  // namespace hotloop
