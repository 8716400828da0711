#include <memory>
#include <string>

#include "app/cli.h"
#include "app/log_flags.h"
#include "bench/bench.h"
#include "sim/core/value.h"

namespace hotloop {

void add_bench(Cli& cli) {
  CLI::App* command = add_command(cli, "bench", "Measure, and print lines of name, unit and value");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("BENCHMARK", options->names, "env, physics, train, log, export, view; default: all");
  command->add_option("--results", options->results, "folder of the CSV files (default bench/results)")
      ->type_name("DIR");
  command
      ->add_option("--model", options->models,
                   "model file for physics, may be given several times; default: the tasks' models")
      ->type_name("FILE");
  command
      ->add_option("--max-contacts", options->max_contacts,
                   "contacts that a world of physics has room for (default: sized from the model)")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  command->add_flag("--generic", options->generic,
                    "physics on a GPU with the generic kernel, not one made for the model");
  command->add_flag("--staged", options->staged, "time of each part of physics, a launch each");
  auto seconds = std::make_shared<std::string>();
  command
      ->add_option("--seconds", *seconds,
                   "length of one of the five windows of train, log, export and view (default 2)")
      ->type_name("S");
  auto log = std::make_shared<LogFlags>();
  add_log_flags(*command, *log);
  command->footer(settings_help);
  command->callback([&cli, options, seconds, log] {
    cli.action = [&cli, options, seconds, log] {
      for (std::string& name : options->names) parse_value("bench", name, {.choices = bench_names()}, name);
      if (!seconds->empty()) parse_value("--seconds", *seconds, {.low = 0.001, .high = 3600}, options->seconds);
      options->seconds_given = !seconds->empty();
      options->log_flag = given_log_flag(*log);
      if (!log->path) log->path = std::string("bench_log.h5");  // of log, in the current folder
      options->log = parse_log_flags(*log);
      options->settings = cli.settings;
      options->command_line = cli.command_line;
      resolve_settings(options->settings);  // refuses bad values before anything is measured
      return bench_command(*options);
    };
  });
}

}  // namespace hotloop
