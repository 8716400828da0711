// What the commands share while the command line is parsed.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "train/config.h"

namespace hotloop {

struct Cli {
  CLI::App root;
  std::vector<std::string> command_line;  // as typed, with the program's name
  std::vector<Setting> settings;          // configuration keys, taken out before CLI11 sees the rest
  std::function<int()> action;            // set by the command that was chosen
};

// One per command, each in its own file.
void add_train(Cli& cli);
void add_play(Cli& cli);
void add_compare(Cli& cli);
void add_export(Cli& cli);
void add_record(Cli& cli);
void add_convert(Cli& cli);
void add_inspect(Cli& cli);
void add_repair(Cli& cli);
void add_bench(Cli& cli);
void add_replay(Cli& cli);
void add_list(Cli& cli);
void add_doctor(Cli& cli);
void add_test(Cli& cli);
void add_view(Cli& cli);

// A subcommand whose unknown arguments are refused by refuse_unknown() rather than by CLI11.
CLI::App* add_command(Cli& cli, const std::string& name, const std::string& summary);

// True for the commands that take configuration keys as flags.
bool takes_settings(const std::string& command);

// --name or --name=value; "-1" and "--" are values.
bool is_option(const std::string& argument);

// Moves every configuration key out of `args` into settings: --key value, --key=value, --flag, --no-flag; dashes and
// underscores are the same. Error for a missing value and a key given twice. prefix: only keys that begin with it.
std::vector<Setting> take_settings(std::vector<std::string>& args, const std::string& prefix = "");

// Error naming the first argument that `command` does not know, with the nearest option.
void refuse_unknown(const CLI::App& command);

// Every configuration key with what it accepts and its default, by group: the second half of --help.
std::string settings_help();

}  // namespace hotloop
