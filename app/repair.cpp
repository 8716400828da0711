#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "app/cli.h"
#include "app/guarded.h"
#include "data/file.h"
#include "data/hdf5_handle.h"
#include "data/inspect/repair.h"
#include "data/log/log_format.h"
#include "sim/core/error.h"
#include "sim/core/value.h"
#include "train/progress.h"
#include "train/stop_signal.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInside = "repair-inside";  // the command that does the work, in a process of its own

struct RepairArguments {
  std::string path, output;
};

// What a repair that did not come to its end has left: unfinished segments of a log, or what was staged by process
// `child`. Nothing that another process may have made meanwhile: what has its final name, or is being written.
void remove_left(const fs::path& output, long child) {
  std::error_code ignored;
  for (const std::int64_t n : log_segments(output)) {
    const fs::path part = log_part_path(log_segment_path(output, n));
    if (fs::exists(part, ignored) && !is_held(part)) fs::remove(part, ignored);
  }
  const std::string staged = "." + output.filename().string() + ".tmp-" + std::to_string(child) + "-";
  const fs::path folder = output.has_parent_path() ? output.parent_path() : fs::path(".");
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with(staged)) left.push_back(entry.path());
  for (const fs::path& path : left) fs::remove_all(path, ignored);
}

int repair_guarded(const RepairArguments& arguments) {
  if (arguments.path.empty()) throw Error("repair: name a trajectory log or a dataset");
  if (arguments.output.empty()) throw Error("repair: -o: name the file or folder to write");
  const fs::path output = arguments.output;
  std::error_code ignored;
  const auto is_there = [&](const fs::path& path) { return fs::exists(fs::symlink_status(path, ignored)); };
  const bool is_new = !is_there(output) && !is_there(log_part_path(output));
  listen_for_stop();
  long child = 0;
  const int status = run_guarded({kInside, "-o", arguments.output, "--", arguments.path}, arguments.path, &child);
  if (status != 0 && is_new) remove_left(output, child);
  if (stop_status() != 0) std::fputs("stopped; nothing is kept of what was not finished\n", stderr);
  return status;
}

int repair_inside(const RepairArguments& arguments) {
  const Hdf5Quiet quiet;
  enter_guard();
  const Repaired repaired = repair(arguments.path, arguments.output);
  std::string text;
  for (const std::string& problem : repaired.problems) text += "problem: " + one_line(problem) + "\n";
  const std::string left_out = !repaired.lost_more     ? std::to_string(repaired.left_out)
                               : repaired.left_out > 0 ? fmt::format("at least {}", repaired.left_out)
                                                       : "an unknown number";
  text += fmt::format("{} recovered in {}, {} left out\n", counted(repaired.recovered, repaired.what),
                      shown(arguments.output), left_out);
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
