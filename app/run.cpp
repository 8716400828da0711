#include "app/run.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "app/cli.h"
#include "sim/core/error.h"
#include "sim/core/value.h"
#include "sim/core/version.h"

namespace hotloop {
namespace {

std::vector<std::string> command_names(const Cli& cli) {
  std::vector<std::string> names;
  for (const CLI::App* command : cli.root.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

void add_commands(Cli& cli) {
  cli.root.name("hotloop");
  cli.root.description("Trains control policies by reinforcement learning on one machine.");
  cli.root.set_version_flag("--version", std::string("hotloop ") + version());
  cli.root.require_subcommand(0, 1);
  add_train(cli);
  add_play(cli);
  add_bench(cli);
  add_list(cli);
  add_doctor(cli);
  add_test(cli);
  // last: subcommands would inherit it
  cli.root.footer("hotloop COMMAND --help shows the options of a command.");
}

// CLI11 would take --json=7 for a count.
void refuse_valued_flags(const Cli& cli, const std::vector<std::string>& args) {
  for (const std::string& arg : args) {
    const std::size_t equals = arg.find('=');
    if (equals == std::string::npos || !arg.starts_with("--")) continue;
    const CLI::Option* option = cli.root.get_subcommand(args[0])->get_option_no_throw(arg.substr(0, equals));
    if (option && option->get_expected_max() == 0)
      throw Error(arg.substr(0, equals) + " " + shown(arg.substr(equals + 1)) + ": takes no value");
  }
}

int parse_and_act(const std::vector<std::string>& command_line) {
  Cli cli;
  add_commands(cli);
  cli.command_line = command_line;
  std::vector<std::string> args(command_line.begin() + (command_line.empty() ? 0 : 1), command_line.end());
  if (args.empty()) args.emplace_back("--help");
  const std::vector<std::string> names = command_names(cli);
  const bool is_command = std::find(names.begin(), names.end(), args[0]) != names.end();
  if (!is_command && args[0] != "--help" && args[0] != "-h" && args[0] != "--version")
    throw Error("unknown command " + shown(args[0]) + suggestion(args[0], names) + "; see hotloop --help");
  if (takes_settings(args[0])) cli.settings = take_settings(args);
  if (is_command) refuse_valued_flags(cli, args);
  std::reverse(args.begin(), args.end());  // CLI11 takes them from the back
  try {
    cli.root.parse(args);
  } catch (const CLI::Success& help_or_version) {
    return cli.root.exit(help_or_version);
  } catch (const CLI::ParseError& e) {
    throw Error(e.what());
  }
  for (const CLI::App* command : cli.root.get_subcommands()) refuse_unknown(*command);
  if (!cli.action) throw Error("unexpected arguments; see hotloop --help");
  return cli.action();
}

// A full disk behind stdout is an error; a reader that left (`hotloop list | head -1`) is not.
void flush_output() {
  errno = 0;
  if ((std::fflush(stdout) != 0 || std::ferror(stdout)) && errno != EPIPE)
    throw Error(std::string("standard output: ") + std::strerror(errno ? errno : EIO));
}

// A file opened later must not become descriptor 0, 1 or 2, where messages would be written into it.
void open_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDWR) < 0) return;
}

int fail(int status, const std::string& text) {
  std::fflush(stdout);
  std::fputs(("hotloop: " + one_line(text) + "\n").c_str(), stderr);
  return status;
}

}  // namespace

CLI::App* add_command(Cli& cli, const std::string& name, const std::string& summary) {
  CLI::App* command = cli.root.add_subcommand(name, summary);
  command->allow_extras();
  return command;
}

void refuse_unknown(const CLI::App& command) {
  const std::vector<std::string> extra = command.remaining();
  if (extra.empty()) return;
  const auto option = std::find_if(extra.begin(), extra.end(), [](const std::string& a) { return a.starts_with("-"); });
  if (option == extra.end())
    throw Error(command.get_name() + ": unexpected argument " + shown(extra[0]) + "; see hotloop " +
                command.get_name() + " --help");
  const std::string word = option->substr(0, option->find('='));
  std::vector<std::string> known;
  for (const CLI::Option* o : command.get_options())
    for (const std::string& name : o->get_lnames()) known.push_back("--" + name);
  if (takes_settings(command.get_name()))
    for (std::string name : config_spellings()) {
      std::replace(name.begin(), name.end(), '_', '-');
      known.push_back("--" + name);
    }
  throw Error(command.get_name() + ": unknown option " + shown(word) + suggestion(word, known) + "; see hotloop " +
              command.get_name() + " --help");
}

int run(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a training must outlive whoever reads its progress
  open_standard_descriptors();
  try {
    const int status = parse_and_act(std::vector<std::string>(argv, argv + argc));
    flush_output();
    return status;
  } catch (const Error& e) {
    return fail(2, e.what());
  } catch (const std::exception& e) {
    return fail(1, std::string("internal error: ") + e.what());
  } catch (...) {
    return fail(1, "internal error: unknown exception");
  }
}

}  // namespace hotloop
