#include <filesystem>
#include <memory>

#include "app/cli.h"
#include "sim/core/error.h"
#include "train/commands.h"
#include "train/config_value.h"

namespace hotloop {
namespace {

struct PlayArguments {
  PlayOptions options;
  std::string episodes = "100", seed;
};

int play(PlayArguments& arguments) {
  PlayOptions& options = arguments.options;
  parse_value("--episodes", arguments.episodes, {.low = 1, .high = 1e9}, options.episodes);
  if (!arguments.seed.empty()) parse_value("--seed", arguments.seed, {.low = 0, .high = 9e18}, options.seed.emplace());
  parse_value("--checkpoint", options.checkpoint, {.choices = {"best", "latest"}}, options.checkpoint);
  if (options.target.empty()) throw Error("play: name a run folder or a checkpoint file");
  std::error_code ignored;
  if (!std::filesystem::exists(options.target, ignored))
    throw Error(shown(options.target) + ": no such run folder or checkpoint file");
  return play_command(options);
}

}  // namespace

void add_play(Cli& cli) {
  CLI::App* command = add_command(cli, "play", "Evaluate a trained policy");
  auto arguments = std::make_shared<PlayArguments>();
  PlayOptions& options = arguments->options;
  command->add_option("RUN|CHECKPOINT", options.target, "run folder or checkpoint file");
  command->add_option("--episodes", arguments->episodes, "episodes to play (default 100)")->type_name("N");
  command->add_option("--seed", arguments->seed, "seed of the episodes (default: the run's)")->type_name("S");
  command->add_option("--device", options.device, "auto, cpu, cuda or cuda:N (default auto)")->type_name("D");
  command->add_option("--checkpoint", options.checkpoint, "of a run folder: best or latest (default best)")
      ->type_name("C");
  command->add_flag("--stochastic", options.stochastic, "sample actions instead of taking the likeliest");
  command->add_flag("--json", options.json, "print one JSON object");
  command->callback([&cli, arguments] { cli.action = [arguments] { return play(*arguments); }; });
}

}  // namespace hotloop
