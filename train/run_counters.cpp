#include "train/run_counters.h"

#include <algorithm>

namespace hotloop {

std::vector<std::string> reward_term_tags(const EnvEntry& env) {
  std::vector<std::string> tags;
  for (const std::string& term : env.spec.reward_terms) tags.push_back("reward/" + term);
  return tags;
}

void count_iteration(RunCounters& c, const TrainConfig& config, const IterationMetrics& m) {
  c.iteration = m.iteration;
  c.global_step = m.iteration * config.num_envs * config.num_steps;
  c.episodes += m.episodes.episodes;
  c.non_finite_worlds += m.episodes.nonfinite;
  c.epochs += config.algo == "bc" ? 1 : config.update_epochs;
  c.window_return_sum += m.episodes.return_sum;
  c.window_length_sum += m.episodes.length_sum;
  c.window_episodes += m.episodes.episodes;
  for (std::size_t k = 0; k < c.window_reward_terms.size(); ++k) c.window_reward_terms[k] += m.reward_terms.term[k];
}

MetricRow metric_row(RunCounters& c, const TrainConfig& config, const IterationMetrics& m,
                     const std::vector<std::string>& term_tags) {
  MetricRow row{c.global_step, c.iteration, {}};
  const auto add = [&](std::string_view field, double value) { row.values.emplace_back(field, value); };
  if (c.window_episodes > 0) {
    add("episodic_return", c.window_return_sum / static_cast<double>(c.window_episodes));
    add("episodic_length", c.window_length_sum / static_cast<double>(c.window_episodes));
    for (std::size_t k = 0; k < term_tags.size(); ++k)
      add(term_tags[k], c.window_reward_terms[k] / static_cast<double>(c.window_episodes));
  }
  std::fill(c.window_reward_terms.begin(), c.window_reward_terms.end(), 0.0);
  c.window_return_sum = c.window_length_sum = 0;
  c.window_episodes = 0;
  add("learning_rate", m.learning_rate);
  add("policy_loss", m.loss.policy_loss);
  add("entropy", m.loss.entropy);
  add("std", m.std);
  add("n_updates", static_cast<double>(c.epochs));
  add("grad_norm", m.grad_norm);
  if (config.algo == "ppo") {
    add("episodes", static_cast<double>(c.episodes));
    add("value_loss", m.loss.value_loss);
    add("old_approx_kl", m.loss.old_approx_kl);
    add("approx_kl", m.loss.approx_kl);
    add("clipfrac", m.loss.clipfrac);
    add("explained_variance", m.explained_variance);
    add("loss", m.loss.policy_loss - config.ent_coef * m.loss.entropy + config.vf_coef * m.loss.value_loss);
    add("clip_coef", config.clip_coef);
    add("ent_coef", config.ent_coef);
    add("non_finite_worlds", static_cast<double>(c.non_finite_worlds));
  }
  return row;
}

MetricRow evaluation_row(const RunCounters& c, const EvaluationResult& result) {
  return {c.global_step,
          c.iteration,
          {{"eval_return", result.return_mean},
           {"eval_return_std", result.return_std},
           {"eval_length", result.length_mean}}};
}

bool is_best(RunCounters& c, const EvaluationResult& result) {
  if (result.non_finite > 0 || !(result.return_mean >= c.best_return)) return false;
  c.best_return = result.return_mean;
  return true;
}

std::int64_t until_boundary(const TrainConfig& config, std::int64_t iteration, std::int64_t total_iterations) {
  std::int64_t left = total_iterations - iteration;
  for (const std::int64_t interval : {config.eval_interval, config.checkpoint_interval})
    if (interval > 0) left = std::min(left, interval - iteration % interval);
  return left;
}

}  // namespace hotloop
