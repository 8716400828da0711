#include <memory>

#include "app/cli.h"
#include "bench/bench.h"
#include "train/config_value.h"

namespace hotloop {

void add_bench(Cli& cli) {
  CLI::App* command = add_command(cli, "bench", "Measure, and print lines of name, unit and value");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("BENCHMARK", options->names, "env, train; default: all");
  command->add_option("--results", options->results, "folder of the CSV files (default bench/results)")
      ->type_name("DIR");
  command->add_option("--seconds", options->seconds, "length of one of the five windows (default 2)")->type_name("S");
  command->footer(settings_help);
  command->callback([&cli, options] {
    cli.action = [&cli, options] {
      for (std::string& name : options->names) parse_value("bench", name, {.choices = bench_names()}, name);
      options->settings = cli.settings;
      options->command_line = cli.command_line;
      resolve_settings(options->settings);  // refuses bad values before anything is measured
      return bench_command(*options);
    };
  });
}

}  // namespace hotloop
