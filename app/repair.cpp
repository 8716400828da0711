#include <fmt/format.h>

#include <memory>

#include "app/cli.h"
#include "app/guarded.h"
#include "data/file.h"
#include "data/hdf5_handle.h"
#include "data/inspect/repair.h"
#include "sim/core/error.h"
#include "sim/core/value.h"
#include "train/progress.h"

namespace hotloop {
namespace {

constexpr const char* kInside = "repair-inside";  // the command that does the work, in a process of its own

struct RepairArguments {
  std::string path, output;
};

int repair_guarded(const RepairArguments& arguments) {
  if (arguments.path.empty()) throw Error("repair: name a trajectory log or a dataset");
  if (arguments.output.empty()) throw Error("repair: -o: name the file or folder to write");
  return run_guarded({kInside, "-o", arguments.output, "--", arguments.path}, arguments.path);
}

int repair_inside(const RepairArguments& arguments) {
  const Hdf5Quiet quiet;
  limit_memory();
  const Repaired repaired = repair(arguments.path, arguments.output);
  std::string text;
  for (const std::string& problem : repaired.problems) text += "problem: " + one_line(problem) + "\n";
  text += fmt::format("{} recovered in {}, {} left out\n", counted(repaired.recovered, repaired.what),
                      shown(arguments.output), repaired.left_out);
  write_output(text);
  return 0;
}

CLI::App* add(Cli& cli, const char* name, int (*act)(const RepairArguments&)) {
  CLI::App* command =
      add_command(cli, name, "Copy what can be read of a damaged trajectory log or dataset into a new one");
  auto arguments = std::make_shared<RepairArguments>();
  command->add_option("LOG.h5|DATASET", arguments->path, "trajectory log, or its .part; dataset of any format");
  command->add_option("-o,--output", arguments->output, "what to write")->type_name("PATH");
  command->callback([&cli, arguments, act] { cli.action = [arguments, act] { return act(*arguments); }; });
  return command;
}

}  // namespace

void add_repair(Cli& cli) {
  add(cli, "repair", repair_guarded);
  add(cli, kInside, repair_inside)->group("");  // shown nowhere
}

}  // namespace hotloop
