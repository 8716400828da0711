#include <memory>

#include "app/cli.h"
#include "app/log_check.h"
#include "sim/core/error.h"
#include "train/commands.h"

namespace hotloop {

void add_replay(Cli& cli) {
  CLI::App* command = add_command(cli, "replay", "Simulate a trajectory log again and compare bit by bit");
  auto options = std::make_shared<ReplayOptions>();
  command->add_option("LOG.h5", options->log, "trajectory log with state (train --log-keys all,state)");
  command->add_flag("--check", options->check, "compare every value (what it does anyway)");
  command->add_option("--device", options->device, "auto, cpu, cuda or cuda:N (default: as the log's)")->type_name("D");
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([&cli, options] {
    cli.action = [options] {
      if (options->log.empty()) throw Error("replay: name a trajectory log");
      if (!log_is_readable(options->log)) return 2;
      return replay_command(*options);
    };
  });
}

}  // namespace hotloop
