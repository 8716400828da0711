#include <fmt/format.h>

#include <memory>

#include "app/cli.h"
#include "app/log_flags.h"
#include "app/policy_flags.h"
#include "sim/core/error.h"
#include "sim/core/registry.h"
#include "sim/core/value.h"
#include "train/commands.h"

namespace hotloop {
namespace {

constexpr std::int64_t kMaxEpisodes = 10'000'000;  // return and length of each are kept: 80 MB

struct PlayArguments {
  PlayOptions options;
  std::string episodes = "100", seed;
  PolicyFlags policy;
  LogFlags log;
};

int play(PlayArguments& arguments) {
  PlayOptions& options = arguments.options;
  parse_value("--episodes", arguments.episodes, {.low = 1, .high = kMaxEpisodes}, options.episodes);
  if (!arguments.seed.empty()) parse_value("--seed", arguments.seed, {.low = 0, .high = 9e18}, options.seed.emplace());
  options.policy = parse_policy_flags("play", arguments.policy);
  options.log = parse_log_flags(arguments.log);
  return play_command(options);
}

}  // namespace

void add_play(Cli& cli) {
  CLI::App* command = add_command(cli, "play", "Evaluate a trained policy: returns and lengths with 95 % intervals");
  auto arguments = std::make_shared<PlayArguments>();
  PlayOptions& options = arguments->options;
  add_policy_flags(*command, arguments->policy);
  command
      ->add_option("--episodes", arguments->episodes,
                   fmt::format("episodes to play, at most {} (default 100)", kMaxEpisodes))
      ->type_name("N");
  command->add_option("--seed", arguments->seed, "seed of the episodes (default: the run's)")->type_name("S");
  command->add_option("--device", options.device, "auto, cpu, cuda or cuda:N (default auto)")->type_name("D");
  command->add_flag("--stochastic", options.stochastic, "sample actions instead of taking the likeliest");
  add_log_flags(*command, arguments->log);
  command->add_flag("--json", options.json, "print one JSON object");
  command->callback([&cli, arguments] { cli.action = [arguments] { return play(*arguments); }; });
}

}  // namespace hotloop
