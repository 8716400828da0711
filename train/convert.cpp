// convert_command: the whole episodes of a training's log as a dataset.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/dataset/async_writer.h"
#include "data/dataset/describe.h"
#include "data/dataset/log_episodes.h"
#include "data/dataset/target.h"
#include "data/dataset/work_folder.h"
#include "data/file.h"
#include "data/hdf5_handle.h"
#include "data/staged_path.h"
#include "sim/core/error.h"
#include "sim/core/registry.h"
#include "sim/core/value.h"
#include "sim/core/version.h"
#include "train/commands.h"
#include "train/progress.h"
#include "train/stop_signal.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

// The task of the log as it was configured.
DatasetInfo describe(const ConvertOptions& options, const LogInfo& log, const TrainConfig& config) {
  DatasetInfo info;
  info.env = spec_with_options(find_environment(log.task), config.env);
  if (log.max_episode_steps > 0) info.env.max_episode_steps = static_cast<int>(log.max_episode_steps);
  info.options = config.env;
  info.algorithm = config.algo;
  info.dataset_id =
      options.dataset_id.empty() ? default_dataset_id(log.task, config.algo + "-" + log.source) : options.dataset_id;
  info.description = fmt::format("{} from the log of a {} of {} with seed {}; converted by hotloop {}.", log.task,
                                 log.source == kPlaySource ? "play" : "training", config.algo, log.seed, version());
  return info;
}

void check_keys(const std::string& path, const LogReader& log) {
  for (const char* key : kEpisodeKeys)
    if (!log.contains(key))
      throw Error(fmt::format("{}: holds no '{}'; convert needs a log with --log-keys {} (or without --log-keys)", path,
                              key, fmt::join(kEpisodeKeys, ",")));
}

void check_spaces(const std::string& path, const LogReader& log, const DatasetInfo& info) {
  if (log.obs_dim() != info.env.obs_dim())
    throw Error(fmt::format("{}: observations of {} numbers, but {} has {}", path, log.obs_dim(), info.env.name,
                            info.env.obs_dim()));
}

// Logs may be without them: those of some keys only, and of versions before they were logged.
void take_terms(const std::string& path, const LogReader& log, EnvSpec& env) {
  if (!log.contains(kRewardTermsKey)) {
    env.reward_terms.clear();
    return;
  }
  const std::vector<std::string>& logged = log.key(kRewardTermsKey).names;
  if (logged != env.reward_terms)
    throw Error(fmt::format("{}: '{}' holds '{}', but {} has '{}'", path, kRewardTermsKey,
                            one_line(fmt::format("{}", fmt::join(logged, ","))), env.name,
                            fmt::join(env.reward_terms, ",")));
}

// Where the dataset is made. One that a killed process has left is emptied.
class ConvertFolder {
 public:
  explicit ConvertFolder(const fs::path& target)
      : folder_(work_folder(target, "converting")),
        made_(missing_folders(target)),
        lock_((make_folder(folder_), lock_work_folder(folder_))) {
    std::error_code ignored;
    fs::remove_all(dataset(), ignored);
  }
  ~ConvertFolder() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    remove_empty(made_);
  }
  ConvertFolder(const ConvertFolder&) = delete;
  ConvertFolder& operator=(const ConvertFolder&) = delete;

  const fs::path& path() const { return folder_; }
  fs::path dataset() const { return folder_ / "dataset"; }

 private:
  fs::path folder_;
  std::vector<fs::path> made_;
  detail::Descriptor lock_;
};

// Returns the steps written.
std::int64_t write_dataset(const ConvertOptions& options, const LogReader& log, const LoggedEpisodes& episodes,
                           const DatasetInfo& info, const fs::path& path, ProgressLine& line) {
  AsyncWriter writer(make_dataset_writer(dataset_format(options.format), path, info), path);
  const auto start = ProgressLine::Clock::now();
  const auto total = static_cast<std::int64_t>(episodes.whole.size());
  std::int64_t steps = 0, read = 0;
  read_episodes(log, info.env, episodes, [&](Episode& episode) {
    check_stop();
    steps += episode.length;
    writer.append(episode);
    const std::chrono::duration<double> seconds = ProgressLine::Clock::now() - start;
    if (!options.quiet) line.update(episodes_text(++read, total, seconds.count()));
  });
  writer.finish();
  return steps;
}

// Under the names that the user knows.
template <class Work>
void told_of(const ConvertFolder& folder, const Work& work) {
  try {
    work();
  } catch (const Error& e) {
    throw Error(told_of_target(e.what(), folder.path()));
  }
}

}  // namespace

int convert_command(const ConvertOptions& options) {
  const Hdf5Quiet quiet;
  const LogReader log(options.log);
  const TrainConfig config = resolve_settings(parse_settings(log.info().config, options.log + " (config)"));
  DatasetInfo info = describe(options, log.info(), config);
  check_dataset_id(info.dataset_id);
  check_keys(options.log, log);
  take_terms(options.log, log, info.env);
  check_spaces(options.log, log, info);
  const fs::path target = dataset_target(dataset_format(options.format), options.output, info.dataset_id);
  ProgressLine line;
  for (const std::string& problem : log.problems()) line.message(problem);
  // a run begins with a reset of every world; those at random times begin no whole episode
  const bool starts_whole = !log.iterations().empty() && log.iterations()[0].index == 0 && !config.random_episode_start;
  const LoggedEpisodes episodes = find_episodes(log, starts_whole);
  if (episodes.whole.empty())
    throw Error(options.log + ": holds no whole episode" +
                (log.lost_iterations() ? " in the parts that can be read" : ""));
  std::int64_t steps = 0;
  listen_for_stop();
  try {
    const ConvertFolder folder(target);
    told_of(folder, [&] {
      steps = write_dataset(options, log, episodes, info, folder.dataset(), line);
      rename_new(folder.dataset(), target);
    });
  } catch (const Stopped& stopped) {
    line.message(kConvertStopped);
    return stopped.status;
  }
  line.clear();
  const int status = log.lost_iterations() ? 1 : 0;
  if (options.quiet) return status;
  line.message(fmt::format("{}, {} of {} in {}", counted(static_cast<std::int64_t>(episodes.whole.size()), "episode"),
                           counted(steps, "step"), info.env.name, target.string()));
  if (dataset_format(options.format) == DatasetFormat::minari && gymnasium_spec_json(info).empty())
    line.message(kNoEnvSpec);
  // a play's worlds go on until the last of them has ended its episode
  const bool play = log.info().source == kPlaySource;
  line.message(fmt::format("left out: {} begun before the log or in a gap of it, {} cut by a gap, {} {}{}",
                           counted(episodes.begun_before, "episode"), episodes.cut, episodes.unfinished,
                           play ? "begun beyond those of the play" : "unfinished",
                           status == 0 ? "" : "; and an unknown number in parts of the log that cannot be read"));
  return status;
}

}  // namespace hotloop
