// play_command: evaluates a trained policy.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "data/file.h"
#include "sim/core/error.h"
#include "sim/core/thread_pool.h"
#include "train/checkpoint.h"
#include "train/commands.h"
#include "train/evaluate.h"
#include "train/play_log.h"
#include "train/progress.h"
#include "train/run_dir.h"

namespace hotloop {
namespace {

EvaluationResult play(Evaluator& evaluator, const PlayOptions& options) {
  if (options.json) return evaluator.run();
  ProgressLine line;
  const auto start = ProgressLine::Clock::now();
  const EvaluationResult result = evaluator.run([&](std::int64_t ended) {
    const std::chrono::duration<double> seconds = ProgressLine::Clock::now() - start;
    line.update(episodes_text(ended, options.episodes, seconds.count()));
  });
  line.clear();
  return result;
}

}  // namespace

int play_command(const PlayOptions& options) {
  const auto path = resolve_checkpoint(options.target, options.checkpoint);
  const Safetensors file = read_checkpoint(path);
  const CheckpointInfo info = checkpoint_info(file);
  const EnvEntry& env = find_environment(info.config.task);
  const PolicySpec policy = make_policy_spec(info.config, spec_with_options(env, info.config.env));
  check_policy(file, policy);  // before memory is asked for as the file's configuration says
  const Device device = parse_device(options.device);
  ThreadPool pool(static_cast<int>(info.config.num_threads));
  const StreamHandle stream(device);
  const Exec exec{device, stream.get(), &pool};
  // other start states than the evaluations that chose the checkpoint
  const auto seed = static_cast<std::uint64_t>(options.seed.value_or(info.config.seed + 1000003));
  Evaluator evaluator(env, info.config.env, policy, exec, options.episodes, seed,
                      static_cast<int>(info.config.max_episode_steps), options.stochastic);
  load_policy(file, exec, evaluator.net());
  std::optional<PlayLog> log;
  if (!options.log.path.empty()) {
    if (options.episodes > evaluator.worlds())
      throw Error(fmt::format("--episodes {}: with --log-trajectories at most {}, a round", options.episodes,
                              evaluator.worlds()));
    evaluator.set_log(&log.emplace(info.config, policy, options.log));
  }
  const EvaluationResult r = play(evaluator, options);
  if (log) ProgressLine().message(log->close());
  const std::vector<std::string>& terms = env.spec.reward_terms;
  if (options.json) {
    nlohmann::ordered_json out = {{"task", info.config.task},
                                  {"checkpoint", path.string()},
                                  {"episodes", r.episodes},
                                  {"return_mean", r.return_mean},
                                  {"return_std", r.return_std},
                                  {"length_mean", r.length_mean},
                                  {"non_finite_episodes", r.non_finite},
                                  {"deterministic", !options.stochastic},
                                  {"device", device.str()}};
    for (std::size_t k = 0; k < terms.size(); ++k) out["reward_terms"][terms[k]] = r.reward_terms[k];
    write_output(out.dump() + "\n");
    return 0;
  }
  if (r.non_finite == r.episodes) {
    write_output(fmt::format("{}: none of {} of {} stayed finite\n", path.string(), counted(r.episodes, "episode"),
                             info.config.task));
    return 0;
  }
  write_output(fmt::format("{}: {} of {}{}\nreturn {:.2f} +- {:.2f}   length {:.1f}\n", path.string(),
                           counted(r.episodes, "episode"), info.config.task,
                           options.stochastic ? ", actions sampled" : "", r.return_mean, r.return_std, r.length_mean));
  if (r.non_finite > 0)
    write_output(fmt::format("{} of the episodes turned non-finite and are in no mean\n", r.non_finite));
  for (std::size_t k = 0; k < terms.size(); ++k)
    write_output(fmt::format("  {} {:.2f}\n", terms[k], r.reward_terms[k]));
  return 0;
}

}  // namespace hotloop
