// The one list of what a training run reports. CSV and JSONL columns, TensorBoard tags and the reference in the README
// all come from it. A value is named CleanRL's way; where Stable-Baselines3 has a tag of the same meaning, TensorBoard
// shows it under that name too, so that dashboards made for either work.
#pragma once
#include <cstddef>
#include <string_view>

namespace hotloop {

struct MetricTag {
  std::string_view field;        // how the program names it
  std::string_view cleanrl;      // "": CleanRL reports no such thing
  std::string_view sb3;          // "": nor does Stable-Baselines3
  bool deterministic;            // the seed alone decides it: metrics.csv; otherwise performance.csv
  double sb3_factor = 1.0;       // SB3's value for ours
  std::string_view column = {};  // name in CSV and JSONL, and in TensorBoard where the other two are empty

  std::string_view name() const { return !column.empty() ? column : !cleanrl.empty() ? cleanrl : sb3; }
};

inline constexpr MetricTag kMetricTags[] = {
    {"episodic_return", "charts/episodic_return", "rollout/ep_rew_mean", true},  // mean over the episodes that ended
    {"episodic_length", "charts/episodic_length", "rollout/ep_len_mean", true},
    {"episodes", "", "time/episodes", true},  // ended since the start
    {"learning_rate", "charts/learning_rate", "train/learning_rate", true},
    // CleanRL's is half the squared error, SB3's the whole
    {"value_loss", "losses/value_loss", "train/value_loss", true, 2.0},
    {"policy_loss", "losses/policy_loss", "train/policy_gradient_loss", true},
    {"entropy", "losses/entropy", "train/entropy_loss", true, -1.0},  // SB3's is the negative, as it is minimised
    {"old_approx_kl", "losses/old_approx_kl", "", true},
    {"approx_kl", "losses/approx_kl", "train/approx_kl", true},
    {"clipfrac", "losses/clipfrac", "train/clip_fraction", true},
    {"explained_variance", "losses/explained_variance", "train/explained_variance", true},
    {"loss", "", "train/loss", true},
    {"clip_coef", "", "train/clip_range", true},
    {"ent_coef", "", "train/ent_coef", true},
    {"std", "", "train/std", true},              // mean over the actions; continuous actions only
    {"n_updates", "", "train/n_updates", true},  // epochs since the start
    {"grad_norm", "", "", true, 1.0, "losses/grad_norm"},
    {"non_finite_worlds", "", "", true, 1.0, "charts/non_finite_worlds"},  // worlds reset for NaN since the start
    {"eval_return", "eval/episodic_return", "eval/mean_reward", true},
    {"eval_return_std", "", "", true, 1.0, "eval/episodic_return_std"},
    {"eval_length", "eval/episodic_length", "eval/mean_ep_length", true},

    {"sps", "charts/SPS", "time/fps", false},  // [environment steps/s] since the start
    {"wall_time", "", "time/time_elapsed", false},
    {"host_us", "", "", false, 1.0, "performance/host_us"},                  // [us] of host work in an iteration
    {"gpu_utilization", "", "", false, 1.0, "performance/gpu_utilization"},  // [%] of the time with a kernel running
    {"gpu_memory_gib", "", "", false, 1.0, "performance/gpu_memory_gib"},    // [GiB] used on the card, by everyone
    {"gpu_power_w", "", "", false, 1.0, "performance/gpu_power_w"},          // [W]
    {"gpu_sm_mhz", "", "", false, 1.0, "performance/gpu_sm_mhz"},            // [MHz]
    {"gpu_memory_mhz", "", "", false, 1.0, "performance/gpu_memory_mhz"},    // [MHz]
};
inline constexpr std::size_t kNumMetricTags = sizeof kMetricTags / sizeof kMetricTags[0];

// Every row has these beside the list: x axis of all tags, and SB3's names for them.
inline constexpr std::string_view kStepTag = "time/total_timesteps", kIterationTag = "time/iterations";

}  // namespace hotloop
