// convert_command: the whole episodes of a training's log as a dataset.
#include <fmt/format.h>

#include "data/dataset/log_episodes.h"
#include "data/dataset/target.h"
#include "data/dataset/writer.h"
#include "data/hdf5_handle.h"
#include "data/staged_path.h"
#include "sim/core/error.h"
#include "sim/core/registry.h"
#include "sim/core/version.h"
#include "train/commands.h"
#include "train/progress.h"

namespace hotloop {
namespace {

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
                                 log.source == "play" ? "play" : "training", config.algo, log.seed, version());
  return info;
}

void check_spaces(const std::string& path, const LogReader& log, const DatasetInfo& info) {
  if (log.obs_dim() != info.env.obs_dim())
    throw Error(fmt::format("{}: observations of {} numbers, but {} has {}", path, log.obs_dim(), info.env.name,
                            info.env.obs_dim()));
}

}  // namespace

int convert_command(const ConvertOptions& options) {
  const Hdf5Quiet quiet;
  const LogReader log(options.log);
  const TrainConfig config = resolve_settings(parse_settings(log.info().config, options.log + " (config)"));
  const DatasetInfo info = describe(options, log.info(), config);
  check_dataset_id(info.dataset_id);
  check_spaces(options.log, log, info);
  const DatasetFormat format = dataset_format(options.format);
  StagedPath staged(dataset_target(format, options.output, info.dataset_id));
  ProgressLine line;
  for (const std::string& problem : log.problems()) line.message(problem);
  // a run begins with a reset of every world; those at random times begin no whole episode
  const bool starts_whole = !log.iterations().empty() && log.iterations()[0].index == 0 && !config.random_episode_start;
  const LoggedEpisodes episodes = find_episodes(log, starts_whole);
  if (episodes.whole.empty()) throw Error(options.log + ": holds no whole episode");
  std::int64_t steps = 0;
  {
    const std::unique_ptr<DatasetWriter> writer = make_dataset_writer(format, staged.path(), info);
    const auto start = ProgressLine::Clock::now();
    const auto total = static_cast<std::int64_t>(episodes.whole.size());
    read_episodes(log, info.env.action, episodes, [&](const Episode& episode) {
      writer->append(episode);
      steps += episode.length;
      const std::chrono::duration<double> seconds = ProgressLine::Clock::now() - start;
      if (!options.quiet) line.update(episodes_text(episode.id + 1, total, seconds.count()));
    });
    writer->finish();
  }
  staged.commit_new();
  line.clear();
  if (options.quiet) return 0;
  line.message(fmt::format("{} episodes, {} steps of {} in {}", episodes.whole.size(), steps, info.env.name,
                           staged.target().string()));
  line.message(
      fmt::format("left out: {} episodes begun before the log or in a gap of it, {} cut by a gap, {} unfinished",
                  episodes.begun_before, episodes.cut, episodes.unfinished));
  return 0;
}

}  // namespace hotloop
