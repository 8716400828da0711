#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "app/cli.h"
#include "app/log_flags.h"
#include "app/policy_flags.h"
#include "app/show.h"
#include "sim/core/error.h"
#include "sim/core/registry.h"
#include "sim/core/value.h"
#include "train/checkpoint.h"
#include "train/commands.h"
#include "train/play_seed.h"
#include "train/stop_signal.h"
#include "viz/source/policy_source.h"
#include "viz/video.h"
#include "viz/viewer.h"

namespace hotloop {
namespace {

constexpr std::int64_t kMaxEpisodes = 10'000'000;  // return and length of each are kept: 80 MB

struct PlayArguments {
  PlayOptions options;
  std::string episodes = "100", seed;
  PolicyFlags policy;
  LogFlags log;
  std::string video;  // file; empty: none
  bool view = false;
  std::string quality;  // of either
};

// The episodes that were played, from their start.
std::unique_ptr<WorldSource> open_played(const PlayOptions& options, std::int64_t worlds) {
  SourceOptions source;
  source.what = options.policy.path;
  source.worlds = worlds;
  source.device = options.device;
  source.stochastic = options.stochastic;
  source.seed = static_cast<std::int64_t>(play_seed(options.seed, checkpoint_info(read_policy(options.policy)).config));
  source.warn = say;
  return open_policy_source(source, options.policy);
}

// The first episode, to its last step.
int film(const PlayArguments& arguments) {
  const std::unique_ptr<WorldSource> world = open_played(arguments.options, 1);
  std::vector<WorldSource::EpisodeEnd> ends;
  while (ends.empty() && stop_status() == 0) {
    world->step();
    world->take_episode_ends(ends);
  }
  if (stop_status() != 0) return stop_status();
  world->restart(world->info().seed);
  HeadlessOptions options;
  options.video = arguments.video;
  options.quality = picture_quality(parse_quality(arguments.quality));
  options.frames_per_second = std::clamp(1 / world->info().control_period, 1.0, 60.0);
  const double seconds = static_cast<double>(ends[0].length - 1) * world->info().control_period;
  options.frames = 1 + static_cast<std::int64_t>(std::floor(seconds * options.frames_per_second + 1e-6));
  const HeadlessReport report = show_headless(*world, options, "");
  say(fmt::format("{}: the first episode, return {:.2f} in {} steps", report.written, ends[0].episode_return,
                  ends[0].length));
  return stop_status();
}

int play(PlayArguments& arguments) {
  PlayOptions& options = arguments.options;
  parse_value("--episodes", arguments.episodes, {.low = 1, .high = kMaxEpisodes}, options.episodes);
  if (!arguments.seed.empty()) parse_value("--seed", arguments.seed, {.low = 0, .high = 9e18}, options.seed.emplace());
  options.policy = parse_policy_flags("play", arguments.policy);
  options.log = parse_log_flags(arguments.log);
  if (!arguments.video.empty()) check_video(arguments.video);
  ViewerOptions viewer;
  viewer.quality = parse_quality(arguments.quality);
  if (!arguments.quality.empty() && arguments.video.empty() && !arguments.view)
    throw Error("play: --quality is for --video and --view");
  int status = play_command(options);
  listen_for_stop();
  if (!arguments.video.empty() && status == 0) status = film(arguments);
  if (arguments.view && status == 0) status = run_viewer(*open_played(options, 0), viewer);
  return status;
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
  command->add_option("--video", arguments->video, "then film the first of the episodes, through ffmpeg")
      ->type_name("FILE.mp4");
  command->add_flag("--view", arguments->view, "then open the viewer on such episodes");
  add_quality_flag(*command, arguments->quality);
  command->add_flag("--json", options.json, "print one JSON object");
  command->callback([&cli, arguments] { cli.action = [arguments] { return play(*arguments); }; });
}

}  // namespace hotloop
