// record_command: plays whole episodes into a spool beside the target, then writes the dataset from it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "data/crc32c.h"
#include "data/dataset/async_writer.h"
#include "data/dataset/describe.h"
#include "data/dataset/spool.h"
#include "data/dataset/target.h"
#include "data/dataset/work_folder.h"
#include "data/file.h"
#include "data/hdf5_handle.h"
#include "data/staged_path.h"
#include "sim/core/thread_pool.h"
#include "sim/core/version.h"
#include "train/checkpoint.h"
#include "train/commands.h"
#include "train/episode_player.h"
#include "train/progress.h"
#include "train/stop_signal.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Clock = ProgressLine::Clock;

constexpr std::int64_t kMaxNonFinite = 1000;   // more without a whole episode between them: the task is broken
constexpr std::int64_t kMostRounds = 1 << 30;  // as many as a recording may have episodes
constexpr auto kFlushInterval = std::chrono::seconds(2);

// What plays: a policy of a checkpoint, or random actions.
struct Actor {
  fs::path checkpoint;  // empty: random
  std::optional<Safetensors> file;
  TrainConfig config;
  const EnvEntry* env = nullptr;
  EnvSpec spec;
  int max_episode_steps = 0;
};

// A task where a policy belongs: the user has not said what plays.
void refuse_task(const std::string& target) {
  std::error_code ignored;
  if (fs::exists(target, ignored)) return;
  for (const EnvEntry& entry : environments())
    if (entry.spec.name == target)
      throw Error(fmt::format(
          "record: {} is a task; add --random for random actions, or name a run folder or checkpoint of it", target));
}

Actor make_actor(const RecordOptions& options) {
  Actor actor;
  if (options.random) {
    actor.env = &find_environment(options.policy.path);
    actor.config.env = resolve_options(*actor.env, {});
  } else {
    refuse_task(options.policy.path);
    actor.file.emplace(read_policy(options.policy));
    actor.checkpoint = actor.file->name();
    actor.config = checkpoint_info(*actor.file).config;
    actor.env = &find_environment(actor.config.task);
  }
  actor.spec = spec_with_options(*actor.env, actor.config.env);
  if (actor.file) check_policy(*actor.file, make_policy_spec(actor.config, actor.spec));
  if (actor.config.max_episode_steps > 0)
    actor.spec.max_episode_steps = static_cast<int>(actor.config.max_episode_steps);
  actor.max_episode_steps = actor.spec.max_episode_steps;
  return actor;
}

DatasetInfo describe(const RecordOptions& options, const Actor& actor) {
  DatasetInfo info;
  info.env = actor.spec;
  info.options = actor.config.env;
  info.algorithm = options.random ? "random" : actor.config.algo;
  info.dataset_id =
      options.dataset_id.empty() ? default_dataset_id(actor.spec.name, info.algorithm) : options.dataset_id;
  const std::string who = options.random
                              ? "a policy of uniformly random actions"
                              : fmt::format("a policy trained by {}, {}", info.algorithm,
                                            options.stochastic ? "its actions sampled" : "its likeliest actions taken");
  info.description = !options.description.empty()
                         ? options.description
                         : fmt::format(
                               "{} played by {}; recorded by hotloop {} with seed {}. The seed of an episode is "
                               "that of hotloop's batch of worlds, not one for Gymnasium's reset.",
                               actor.spec.name, who, version(), options.seed);
  info.authors = options.authors;
  info.author_emails = options.author_emails;
  info.ref_min_score = options.ref_min_score;
  info.ref_max_score = options.ref_max_score;
  return info;
}

// All that the recorded bits depend on, as a resumed recording must have it.
Json recording_json(const RecordOptions& options, const Actor& actor, const DatasetInfo& info, Device device,
                    std::int64_t worlds) {
  Json json = {{"version", version()},
               {"format", options.format},
               {"task", info.env.name},
               {"episodes", options.episodes},
               {"steps", options.steps},
               {"seed", options.seed},
               {"worlds", worlds},
               {"random", options.random},
               {"stochastic", options.stochastic},
               {"device", device.is_cuda() ? "cuda" : "cpu"}};
  json["dataset"] = provenance_json(info);
  if (actor.file) json["checkpoint"] = crc32c(read_file(actor.checkpoint, UINT64_MAX));
  return json;
}

class Recorder {
 public:
  Recorder(const RecordOptions& options, Actor& actor, const Exec& exec, std::int64_t worlds)
      : options_(options), actor_(actor), exec_(exec), worlds_(worlds) {}

  // Plays until the spool holds what was asked for.
  void fill(EpisodeSpool& spool) {
    std::optional<PolicyNet> net;
    if (actor_.file) {
      net.emplace(make_policy_spec(actor_.config, actor_.spec), exec_.device, worlds_);
      load_policy(*actor_.file, exec_, *net);
    }
    EpisodePlayer player({actor_.env, actor_.config.env, actor_.spec, actor_.max_episode_steps, worlds_,
                          net ? &*net : nullptr, options_.stochastic},
                         exec_);
    // rounds that the spool holds whole or in part
    std::int64_t round = 0;
    const std::int64_t last_seed = spool.last_seed(), last_world = spool.last_world();
    const auto seed = static_cast<std::uint64_t>(options_.seed);
    for (; last_seed >= 0 && round_seed(seed, round) != last_seed; ++round)
      if (round > kMostRounds) throw Error("'" + spool.folder().string() + "': its episodes are of another seed");
    auto flushed = Clock::now();
    for (; !complete(spool); ++round) {
      const bool begun = round_seed(seed, round) == last_seed;
      play_round(player, spool, round_seed(seed, round), begun ? last_world + 1 : 0);
      if (Clock::now() - flushed < kFlushInterval) continue;
      spool.flush();
      flushed = Clock::now();
    }
    spool.flush();
    line_.clear();
    if (non_finite_ > 0)
      message(fmt::format("left out, because they turned non-finite: {}", counted(non_finite_, "episode")));
  }

  void message(const std::string& text) {
    if (!options_.quiet) line_.message(text);
  }
  void progress(const std::string& text) {
    if (!options_.quiet) line_.update(text);
  }
  void clear() { line_.clear(); }

 private:
  bool complete(const EpisodeSpool& spool) const {
    return options_.episodes > 0 ? spool.episodes() >= options_.episodes : spool.steps() >= options_.steps;
  }

  // Worlds before `first` are in the spool already, or were left out.
  void play_round(EpisodePlayer& player, EpisodeSpool& spool, std::int64_t seed, std::int64_t first) {
    if (first >= worlds_) return;
    EpisodePlayer::Round round =
        player.play(seed, worlds_, [&](std::int64_t ended) { show(spool, std::max<std::int64_t>(0, ended - first)); });
    non_finite_ += round.non_finite;
    in_a_row_ = round.episodes.empty() ? in_a_row_ + round.non_finite : 0;
    if (in_a_row_ > kMaxNonFinite)
      throw Error(fmt::format("record: {} episodes of {} in a row turned non-finite", in_a_row_, actor_.spec.name));
    for (Episode& episode : round.episodes) {
      if (episode.world < first || complete(spool)) continue;
      episode.id = spool.episodes();
      spool.append(episode);
    }
  }

  void show(const EpisodeSpool& spool, std::int64_t ended) {
    check_stop();
    const std::chrono::duration<double> seconds = Clock::now() - start_;
    if (options_.episodes > 0)
      progress(episodes_text(spool.episodes() + ended, options_.episodes, seconds.count()));
    else
      progress(fmt::format("{} of {} steps", count_text(static_cast<double>(spool.steps())),
                           count_text(static_cast<double>(options_.steps))));
  }

  const RecordOptions& options_;
  Actor& actor_;
  Exec exec_;
  std::int64_t worlds_;
  ProgressLine line_;
  Clock::time_point start_ = Clock::now();
  std::int64_t non_finite_ = 0, in_a_row_ = 0;
};

// Taken up where it stopped, or new.
EpisodeSpool open_spool(const fs::path& folder, const RecordOptions& options, const Json& recording,
                        const EnvSpec& spec) {
  check_not_locked(folder);
  const std::string text = recording.dump(2) + "\n";
  const bool lost = EpisodeSpool::recording_of(folder).empty() && EpisodeSpool::holds_data(folder);
  const bool begun = lost || !EpisodeSpool::recording_of(folder).empty();
  const std::string target = "'" + target_of(folder).string() + "'";
  if (begun) EpisodeSpool::check_version(folder, version());
  if (options.resume && begun) {
    if (lost) EpisodeSpool::restore_recording(folder, text);
    EpisodeSpool::check_recording(folder, recording.dump());
    return EpisodeSpool::resume(folder, spec);
  }
  if (begun)
    throw Error("an interrupted recording of " + target +
                " is there; go on by the same command with --resume, or to record anew, " + remove_hint(folder));
  std::error_code ignored;
  if (options.resume && !fs::exists(folder, ignored)) throw Error("--resume: no interrupted recording of " + target);
  try {
    return EpisodeSpool::create(folder, text, spec);
  } catch (const Error& e) {
    throw Error(told_of_target(e.what(), folder));
  }
}

void write_from_spool(EpisodeSpool& spool, DatasetFormat format, const DatasetInfo& info, const fs::path& target,
                      Recorder& recorder) {
  const Hdf5Quiet quiet;
  const fs::path staged = spool.folder() / "dataset";
  std::error_code ignored;
  fs::remove_all(staged, ignored);  // of an attempt that was killed
  {
    AsyncWriter writer(make_dataset_writer(format, staged, info), staged);
    std::int64_t episodes = 0;
    spool.for_each([&](Episode& episode) {
      check_stop();
      writer.append(episode);
      recorder.progress(fmt::format("writing {}: {} of {} episodes", format_name(format),
                                    count_text(static_cast<double>(++episodes)),
                                    count_text(static_cast<double>(spool.episodes()))));
    });
    writer.finish();
  }
  recorder.clear();
  rename_new(staged, target);
}

// Says what a stopped recording leaves; the status to exit with.
int stop(EpisodeSpool& spool, const Stopped& stopped) {
  spool.flush();
  const bool kept = spool.episodes() > 0;
  if (!kept) spool.remove();
  ProgressLine().message(kept ? fmt::format("stopped; kept: {}; go on by the same command with --resume",
                                            counted(spool.episodes(), "whole episode"))
                              : "stopped before the first episode; nothing is kept");
  return stopped.status;
}

}  // namespace

int record_command(const RecordOptions& options) {
  Actor actor = make_actor(options);
  const DatasetInfo info = describe(options, actor);
  check_dataset_id(info.dataset_id);
  const DatasetFormat format = dataset_format(options.format);
  const fs::path target = dataset_target(format, options.output, info.dataset_id);
  const Device device = parse_device(options.device);
  ThreadPool pool(static_cast<int>(actor.config.num_threads));
  const StreamHandle stream(device);
  const Exec exec{device, stream.get(), &pool};
  const std::int64_t wanted = options.episodes > 0 ? std::min(options.num_envs, options.episodes) : options.num_envs;
  const std::int64_t worlds = worlds_of_a_round(actor.spec, actor.max_episode_steps, wanted);
  const Json recording = recording_json(options, actor, info, device, worlds);
  const fs::path folder = work_folder(target, "recording");
  const std::vector<fs::path> made = missing_folders(target);
  listen_for_stop();
  EpisodeSpool spool = open_spool(folder, options, recording, actor.spec);
  Recorder recorder(options, actor, exec, worlds);
  try {
    recorder.fill(spool);
    write_from_spool(spool, format, info, target, recorder);
  } catch (const Error& e) {
    const bool kept = spool.episodes() > 0;
    if (!kept) spool.remove(), remove_empty(made);
    throw Error(told_of_target(e.what(), folder) +
                (kept ? "; what was recorded is kept: go on by the same command with --resume" : ""));
  } catch (const Stopped& stopped) {
    recorder.clear();
    const int status = stop(spool, stopped);
    remove_empty(made);
    return status;
  }
  spool.remove();
  recorder.message(fmt::format("{}, {} of {} in {}", counted(spool.episodes(), "episode"),
                               counted(spool.steps(), "step"), info.env.name, target.string()));
  if (format == DatasetFormat::minari && gymnasium_spec_json(info).empty()) recorder.message(kNoEnvSpec);
  return 0;
}

}  // namespace hotloop
