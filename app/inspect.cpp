#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "app/cli.h"
#include "app/guarded.h"
#include "data/file.h"
#include "data/inspect/inspect.h"
#include "sim/core/error.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInside = "inspect-inside";  // the command that does the work, in a process of its own
constexpr double kSeconds = 60, kBytesPerSecond = 4e6;

struct InspectArguments {
  std::string path;
  bool json = false;
};

double bytes_below(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const std::uintmax_t bytes = fs::file_size(path, error);
    return error ? 0 : static_cast<double>(bytes);
  }
  double sum = 0;
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
    if (std::error_code ignored; entry->is_regular_file(ignored)) sum += static_cast<double>(entry->file_size(ignored));
  return sum;
}

int inspect_guarded(const InspectArguments& arguments) {
  if (arguments.path.empty()) throw Error("inspect: name a trajectory log or a dataset");
  std::vector<std::string> words = {kInside};
  if (arguments.json) words.push_back("--json");
  words.insert(words.end(), {"--", arguments.path});
  try {
    return run_guarded(words, kSeconds + bytes_below(arguments.path) / kBytesPerSecond, shown(arguments.path));
  } catch (const Error& e) {
    std::fputs(("hotloop: " + one_line(e.what()) + "\n").c_str(), stderr);
    return 1;
  }
}

int inspect_inside(const InspectArguments& arguments) {
  limit_memory();
  try {
    const Report report = inspect(arguments.path);
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
