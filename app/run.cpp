#include "app/run.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <set>
#include <sstream>

#include "app/cli.h"
#include "app/log_check.h"
#include "data/file.h"
#include "sim/core/error.h"
#include "sim/core/shell.h"
#include "sim/core/value.h"
#include "sim/core/version.h"

namespace hotloop {
namespace {

constexpr std::size_t kMostMessage = 2000;  // [bytes]

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
  add_compare(cli);
  add_export(cli);
  add_record(cli);
  add_replay(cli);
  add_view(cli);
  add_convert(cli);
  add_inspect(cli);
  add_log_check(cli);
  add_repair(cli);
  add_bench(cli);
  add_list(cli);
  add_doctor(cli);
  add_test(cli);
  // last: subcommands would inherit it
  cli.root.footer("hotloop COMMAND --help shows the options of a command.");
}

// What CLI11 would say in words of its own, or take otherwise than meant (--json=7 for a count): options without their
// value, flags with one, options given twice. args[0] is the command.
void check_options(const CLI::App& command, const std::vector<std::string>& args) {
  std::set<std::string> given;
  for (std::size_t i = 1; i < args.size() && args[i] != "--"; ++i) {
    if (!is_option(args[i])) continue;
    const std::size_t equals = args[i].find('=');
    const std::string name = args[i].substr(0, equals);
    const CLI::Option* option = command.get_option_no_throw(name);
    if (!option) continue;
    const bool is_flag = option->get_expected_max() == 0;
    if (is_flag && equals != std::string::npos)
      throw Error(name + " " + shown(args[i].substr(equals + 1)) + ": takes no value");
    if (is_flag) continue;
    if (!given.insert(name).second && option->get_items_expected_max() <= 1)
      throw Error(name + ": given twice, keep one");
    if (equals == std::string::npos && (i + 1 == args.size() || is_option(args[i + 1])))
      throw Error(name + ": needs a value, " + option->get_description());
    if (equals == std::string::npos ? args[++i].empty() : equals + 1 == args[i].size())
      throw Error(name + " '': must not be empty");
  }
}

[[noreturn]] void refuse_command(const std::string& word, const std::vector<std::string>& names) {
  const bool option = is_option(word);
  throw Error((option ? "unknown option " : "unknown command ") + shown(word) +
              suggestion(word, option ? std::vector<std::string>{"--help", "--version"} : names) + "; see " +
              program_name() + " --help");
}

int parse_and_act(const std::vector<std::string>& command_line) {
  Cli cli;
  add_commands(cli);
  cli.command_line = command_line;
  std::vector<std::string> args(command_line.begin() + (command_line.empty() ? 0 : 1), command_line.end());
  if (args.empty()) args.emplace_back("--help");
  const std::vector<std::string> names = command_names(cli);
  const bool is_command = std::find(names.begin(), names.end(), args[0]) != names.end();
  if (!is_command && args[0] != "--help" && args[0] != "-h" && args[0] != "--version") refuse_command(args[0], names);
  if (takes_settings(args[0])) cli.settings = take_settings(args);
  if (args[0] == "view") cli.settings = take_settings(args, "env.");
  if (is_command) check_options(*cli.root.get_subcommand(args[0]), args);
  const std::string first = args[0];
  std::reverse(args.begin(), args.end());  // CLI11 takes them from the back
  try {
    cli.root.parse(args);
  } catch (const CLI::Success& help_or_version) {
    std::ostringstream text;
    const int status = cli.root.exit(help_or_version, text, text);
    write_output(text.str());
    return status;
  } catch (const CLI::ExtrasError&) {  // all others are left to refuse_unknown()
    const auto end_of_options = std::find(command_line.begin(), command_line.end(), "--");
    const bool known = end_of_options != command_line.end() && end_of_options + 1 != command_line.end();
    throw Error(first + ": unexpected argument" + (known ? " " + shown(end_of_options[1]) : "") + "; see " +
                program_name() + " " + first + " --help");
  } catch (const CLI::ParseError& e) {
    throw Error(first + ": " + e.what() + "; see " + program_name() + " --help");
  }
  for (const CLI::App* command : cli.root.get_subcommands()) refuse_unknown(*command);
  if (!cli.action) throw Error("unexpected arguments; see " + program_name() + " --help");
  return cli.action();
}

// A file opened later must not become descriptor 0, 1 or 2, where messages would be written into it. What is written to
// a closed standard output still fails.
void open_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) < 0)
      return;
}

// Of a message that repeats what is much too long to be read, a path of thousands of characters, the middle is left
// out.
std::string shortened(const std::string& text) {
  if (text.size() <= kMostMessage) return text;
  return text.substr(0, kMostMessage / 2) + " ... " + text.substr(text.size() - kMostMessage / 2);
}

int fail(int status, const std::string& text) {
  std::fputs(("hotloop: " + one_line(shortened(text)) + "\n").c_str(), stderr);
  return status;
}

}  // namespace

CLI::App* add_command(Cli& cli, const std::string& name, const std::string& summary) {
  CLI::App* command = cli.root.add_subcommand(name, summary);
  command->allow_extras();
  return command;
}

void refuse_unknown(const CLI::App& command) {
  std::vector<std::string> extra = command.remaining();
  std::erase(extra, "--");
  if (extra.empty()) return;
  const std::string help = "; see " + program_name() + " " + command.get_name() + " --help";
  const auto option = std::find_if(extra.begin(), extra.end(), [](const std::string& a) { return a.starts_with("-"); });
  if (option == extra.end()) throw Error(command.get_name() + ": unexpected argument " + shown(extra[0]) + help);
  const std::string word = option->substr(0, option->find('='));
  std::vector<std::string> known;
  for (const CLI::Option* o : command.get_options())
    for (const std::string& name : o->get_lnames()) known.push_back("--" + name);
  if (takes_settings(command.get_name()))
    for (std::string name : config_spellings()) {
      std::replace(name.begin(), name.end(), '_', '-');
      known.push_back("--" + name);
    }
  throw Error(command.get_name() + ": unknown option " + shown(word) + suggestion(word, known) + help);
}

int run(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a training must outlive whoever reads its progress
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a failed write, not an end
  open_standard_descriptors();
  try {
    if (argc > 0) set_program_name(argv[0]);
    return parse_and_act(std::vector<std::string>(argv, argv + argc));
  } catch (const Error& e) {
    return fail(2, e.what());
  } catch (const std::exception& e) {
    return fail(1, std::string("internal error: ") + e.what());
  } catch (...) {
    return fail(1, "internal error: unknown exception");
  }
}

}  // namespace hotloop
