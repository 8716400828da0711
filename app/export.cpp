#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "app/cli.h"
#include "app/policy_flags.h"
#include "sim/core/error.h"
#include "sim/core/value.h"
#include "train/commands.h"

namespace hotloop {
namespace {

struct ExportArguments {
  ExportOptions options;
  PolicyFlags policy;
};

// A name that C and C++ take, and that does not begin one of the compiler's own.
void check_name(const std::string& name) {
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (name.empty() || name.size() > 60 || !is_letter(name[0]) || !std::all_of(name.begin(), name.end(), is_word))
    throw Error("--name " + shown(name) + ": must be a letter, then letters, digits and '_', 60 at most");
}

int export_policy(ExportArguments& arguments) {
  ExportOptions& options = arguments.options;
  options.policy = parse_policy_flags("export", arguments.policy);
  if (options.format.empty())
    throw Error(fmt::format("export: --to is missing: one of {}", fmt::join(kExportFormats, ", ")));
  parse_value("--to", options.format, {.choices = kExportFormats}, options.format);
  if (!options.name.empty()) {
    if (options.format != "c") throw Error("--name " + shown(options.name) + ": is of --to c");
    check_name(options.name);
  }
  return export_command(options);
}

}  // namespace

void add_export(Cli& cli) {
  CLI::App* command = add_command(cli, "export", "Write a trained policy as a file that runs without hotloop");
  auto arguments = std::make_shared<ExportArguments>();
  ExportOptions& options = arguments->options;
  add_policy_flags(*command, arguments->policy);
  command->add_option("--to", options.format, fmt::format("one of {}", fmt::join(kExportFormats, ", ")))
      ->type_name("F");
  command
      ->add_option("-o,--output", options.output,
                   "file to write, beside it OUTPUT.json with the facts (default policy.onnx, policy.pt, "
                   "policy.safetensors, policy.c)")
      ->type_name("PATH");
  command->add_flag("--value", options.value, "also the critic's value of the observation");
  command->add_option("--name", options.name, "name of the C function (default policy)")->type_name("NAME");
  command->callback([&cli, arguments] { cli.action = [arguments] { return export_policy(*arguments); }; });
}

}  // namespace hotloop
