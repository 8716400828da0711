// play_command: evaluates a trained policy.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "data/file.h"
#include "sim/core/error.h"
#include "sim/core/thread_pool.h"
#include "sim/core/value.h"
#include "train/checkpoint.h"
#include "train/commands.h"
#include "train/evaluate.h"
#include "train/foreign_policy.h"
#include "train/play_log.h"
#include "train/play_seed.h"
#include "train/progress.h"
#include "train/statistics.h"
#include "train/text_table.h"

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

using Json = nlohmann::ordered_json;

constexpr const char* kIntervals =
    "95 % intervals: of the mean by Student's t, of the interquartile mean (iqm) by Tukey and McLaughlin's t for "
    "trimmed "
    "means, of the median by order statistics";

// What play says, beside the result.
struct Played {
  std::string checkpoint, task;
  std::uint64_t seed = 0;
  Device device;
};

void add_summary(Json& out, const std::string& what, const Summary& s) {
  const auto pair = [](const Interval95& i) { return Json::array({i.low, i.high}); };
  out[what + "_mean"] = s.mean;
  out[what + "_mean_ci95"] = pair(s.mean_interval);
  out[what + "_std"] = s.std;
  out[what + "_iqm"] = s.iqm;
  out[what + "_iqm_ci95"] = pair(s.iqm_interval);
  out[what + "_median"] = s.median;
  out[what + "_median_ci95"] = pair(s.median_interval);
  out[what + "_min"] = s.min;
  out[what + "_max"] = s.max;
}

Json json_report(const PlayOptions& options, const Played& played, const EvaluationResult& r, const Summary& returns,
                 const Summary& lengths, const std::vector<std::string>& terms) {
  Json out = {{"task", played.task}, {"checkpoint", played.checkpoint}, {"episodes", r.episodes}};
  add_summary(out, "return", returns);
  add_summary(out, "length", lengths);
  out["terminated_episodes"] = r.terminated;
  out["truncated_episodes"] = r.truncated;
  out["non_finite_episodes"] = r.non_finite;
  out["deterministic"] = !options.stochastic;
  out["seed"] = played.seed;
  out["device"] = played.device.str();
  out["intervals"] = kIntervals;
  for (std::size_t k = 0; k < terms.size(); ++k) out["reward_terms"][terms[k]] = r.reward_terms[k];
  return out;
}

std::vector<std::string> summary_row(const std::string& what, const Summary& s) {
  const auto with = [](double value, const Interval95& i) {
    return std::isnan(i.low) ? fmt::format("{:.2f}", value)
                             : fmt::format("{:.2f} [{:.2f}, {:.2f}]", value, i.low, i.high);
  };
  const auto plain = [](double value) { return fmt::format("{:.2f}", value); };
  return {what,
          with(s.mean, s.mean_interval),
          with(s.iqm, s.iqm_interval),
          with(s.median, s.median_interval),
          plain(s.min),
          plain(s.max),
          plain(s.std)};
}

std::string text_report(const PlayOptions& options, const Played& played, const EvaluationResult& r,
                        const Summary& returns, const Summary& lengths, const std::vector<std::string>& terms) {
  if (r.non_finite == r.episodes)
    return fmt::format("{}: none of {} of {} stayed finite\n", played.checkpoint, counted(r.episodes, "episode"),
                       played.task);
  std::string text =
      fmt::format("{}: {} of {}, {} actions, seed {}\n", played.checkpoint, counted(r.episodes, "episode"), played.task,
                  options.stochastic ? "sampled" : "likeliest", played.seed);
  text += text_table({{"", "mean", "iqm", "median", "min", "max", "std"},
                      summary_row("return", returns),
                      summary_row("length", lengths)});
  text += fmt::format("ended: {} terminated, {} at the time limit\n", r.terminated, r.truncated);
  if (r.non_finite > 0)
    text += fmt::format("{} of the episodes turned non-finite and are in no number above\n", r.non_finite);
  if (!terms.empty()) text += "terms of the reward, means of their sums over an episode:\n";
  for (std::size_t k = 0; k < terms.size(); ++k) text += fmt::format("  {} {:.2f}\n", terms[k], r.reward_terms[k]);
  return text + kIntervals + "\n";
}

}  // namespace

int play_command(const PlayOptions& options) {
  const Safetensors file = read_policy(options.policy);
  const CheckpointInfo info = checkpoint_info(file);
  const EnvEntry& env = find_environment(info.config.task);
  const PolicySpec policy = make_policy_spec(info.config, spec_with_options(env, info.config.env));
  check_policy(file, policy);  // before memory is asked for as the file's configuration says
  const Device device = parse_device(options.device);
  ThreadPool pool(static_cast<int>(info.config.num_threads));
  const StreamHandle stream(device);
  const Exec exec{device, stream.get(), &pool};
  const std::uint64_t seed = play_seed(options.seed, info.config);
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
  const Summary returns = summarize({r.returns.begin(), r.returns.end()});
  const Summary lengths = summarize({r.lengths.begin(), r.lengths.end()});
  const Played played = {file.name(), info.config.task, seed, device};
  const std::vector<std::string>& terms = env.spec.reward_terms;
  if (options.json)
    write_output(json_report(options, played, r, returns, lengths, terms).dump() + "\n");
  else
    write_output(text_report(options, played, r, returns, lengths, terms));
  return 0;
}

}  // namespace hotloop
