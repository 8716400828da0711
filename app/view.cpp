#include <fmt/format.h>

#include <memory>

#include "app/cli.h"
#include "app/log_check.h"
#include "app/show.h"
#include "sim/core/error.h"
#include "sim/core/value.h"
#include "train/stop_signal.h"
#include "viz/headless.h"
#include "viz/source/open_parts.h"
#include "viz/viewer.h"

namespace hotloop {
namespace {

constexpr double kMaxWorlds = 1e6, kMaxFrames = 1e9, kMaxSide = 16384;

// As typed; numbers are parsed when the command runs.
struct ViewArguments {
  SourceOptions source;
  ViewerOptions viewer;
  HeadlessOptions pictures;
  std::string worlds, seed, actions, frames, width, height, quality;
  bool headless = false, no_layout = false;
};

// HDF5's library may crash over damaged logs: they are read once in a process of their own.
bool logs_are_readable(const SourceOptions& source) {
  for (const std::string& what : {source.what, source.beside})
    if (!what.empty() && source_kind(what) == SourceKind::log && !log_is_readable(what)) return false;
  return true;
}

void check_headless_flags(const ViewArguments& arguments) {
  if (arguments.headless) {
    for (const auto& [flag, given] :
         {std::pair("--paused", arguments.viewer.paused), std::pair("--no-layout", arguments.no_layout)})
      if (given) throw Error(fmt::format("view: {} is for the window, not for --headless", flag));
    if (arguments.pictures.out.empty() && arguments.pictures.video.empty())
      throw Error("view: --headless needs --out DIR or --video FILE.mp4");
    return;
  }
  for (const auto& [flag, text] : {std::pair("--frames", arguments.frames), std::pair("--out", arguments.pictures.out),
                                   std::pair("--video", arguments.pictures.video)})
    if (!text.empty()) throw Error(fmt::format("view: {} is for --headless", flag));
}

// Of the window and of pictures, where it was given.
void set_side(const char* flag, const std::string& text, int& window, int& picture) {
  if (text.empty()) return;
  std::int64_t pixels = 0;
  parse_value(flag, text, {.low = 1, .high = kMaxSide}, pixels);
  window = picture = static_cast<int>(pixels);
}

int view_headless(WorldSource& source, const ViewArguments& arguments) {
  const HeadlessReport report = show_headless(source, arguments.pictures, arguments.viewer.camera);
  fmt::print("{}\n{}\n", report.line(), report.written);
  return stop_status();
}

// Options that change nothing of what is viewed are mistakes.
void refuse_unused(const ViewArguments& arguments, SourceKind kind) {
  const auto refuse = [&](const char* flag, bool given, const char* reason) {
    if (given) throw Error(fmt::format("view: {}: {}", flag, reason));
  };
  const SourceOptions& source = arguments.source;
  const bool by_policy = arguments.actions.empty() || arguments.actions == "policy";
  if (kind == SourceKind::log) {
    constexpr const char* kReason = "is not for a log, which shows what was recorded";
    refuse("--worlds", !arguments.worlds.empty(), kReason);
    refuse("--seed", !arguments.seed.empty(), kReason);
    refuse("--actions", !arguments.actions.empty(), kReason);
    refuse("--stochastic", source.stochastic, kReason);
  } else if (kind == SourceKind::policy) {
    refuse("--stochastic", source.stochastic && !by_policy, "is for --actions policy");
    return;
  } else {
    constexpr const char* kReason = "needs a policy: view a run or a checkpoint";
    refuse("--actions policy", arguments.actions == "policy", kReason);
    refuse("--stochastic", source.stochastic, kReason);
  }
  refuse("--task", !source.task.empty(), "is for policies of CleanRL and Stable-Baselines3");
}

int view(ViewArguments& arguments, const std::vector<Setting>& settings) {
  SourceOptions& source = arguments.source;
  if (source.what.empty()) throw Error("view: name a task, an MJCF or URDF file, a run, a checkpoint or a log");
  if (!arguments.worlds.empty())
    parse_value("--worlds", arguments.worlds, {.low = 1, .high = kMaxWorlds}, source.worlds);
  if (!arguments.seed.empty()) parse_value("--seed", arguments.seed, {.low = 0, .high = 9e18}, source.seed);
  if (!arguments.actions.empty())
    parse_value("--actions", arguments.actions, {.choices = {"policy", "random", "zero"}}, source.actions);
  if (!arguments.frames.empty())
    parse_value("--frames", arguments.frames, {.low = 1, .high = kMaxFrames}, arguments.pictures.frames);
  set_side("--width", arguments.width, arguments.viewer.width, arguments.pictures.width);
  set_side("--height", arguments.height, arguments.viewer.height, arguments.pictures.height);
  arguments.viewer.quality = parse_quality(arguments.quality);
  arguments.pictures.quality = picture_quality(arguments.viewer.quality);
  check_headless_flags(arguments);
  for (const Setting& setting : settings) source.env_options.push_back(setting.key + "=" + setting.text);
  source.warn = say;
  refuse_unused(arguments, source_kind(source.what));
  if (!logs_are_readable(source)) return 2;
  const std::unique_ptr<WorldSource> worlds = open_source(source);
  listen_for_stop();
  if (arguments.headless) return view_headless(*worlds, arguments);
  arguments.viewer.keep_layout = !arguments.no_layout;
  return run_viewer(*worlds, arguments.viewer);
}

void add_source_flags(CLI::App* command, ViewArguments& arguments) {
  command->add_option("TASK|MODEL.xml|RUN|LOG.h5", arguments.source.what,
                      "a task, an MJCF or URDF file, a run's folder or checkpoint, or a trajectory log");
  command->add_option("LOG.h5", arguments.source.beside, "another log of the same task, shown beside the first");
  command->add_option("--worlds", arguments.worlds, "how many worlds (default: as suits what is viewed)")
      ->type_name("N");
  command->add_option("--seed", arguments.seed, "seed of resets and random actions (default 1)")->type_name("S");
  command->add_option("--device", arguments.source.device, "auto, cpu, cuda or cuda:N (default auto)")->type_name("D");
  command
      ->add_option("--actions", arguments.actions,
                   "policy, random or zero: what worlds do where nobody else says it (default policy, else random)")
      ->type_name("A");
  command->add_flag("--stochastic", arguments.source.stochastic, "sample a policy's actions instead of its likeliest");
  command->add_option("--task", arguments.source.task, "task of a CleanRL or Stable-Baselines3 policy")
      ->type_name("TASK");
}

}  // namespace

void add_view(Cli& cli) {
  CLI::App* command = add_command(cli, "view", "Look into worlds: a task, a model, a policy at work, a recorded log");
  auto arguments = std::make_shared<ViewArguments>();
  add_source_flags(command, *arguments);
  command->add_option("--camera", arguments->viewer.camera, "a camera of the model to begin with")->type_name("NAME");
  command->add_option("--width", arguments->width, "of the window (default 1600) or pictures (1280)")->type_name("PX");
  command->add_option("--height", arguments->height, "of the window (default 900) or pictures (720)")->type_name("PX");
  add_quality_flag(*command, arguments->quality);
  command->add_flag("--paused", arguments->viewer.paused, "begin with time standing still");
  command->add_flag("--no-layout", arguments->no_layout, "panels where they are at first; nothing is kept");
  command->add_flag("--headless", arguments->headless, "no window: pictures or a film");
  command->add_option("--frames", arguments->frames, "how many pictures (default 1)")->type_name("N");
  command->add_option("--out", arguments->pictures.out, "folder of the pictures, frame_000000.png ...")
      ->type_name("DIR");
  command->add_option("--video", arguments->pictures.video, "a film, through ffmpeg")->type_name("FILE.mp4");
  command->footer(
      "--env.NAME VALUE sets an option of the task; hotloop list TASK shows them. F1 in the window shows all keys.");
  command->callback([&cli, arguments] { cli.action = [&cli, arguments] { return view(*arguments, cli.settings); }; });
}

}  // namespace hotloop
