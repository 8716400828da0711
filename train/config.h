// One training run's settings. visit_config() is the only list of keys: the command line, TOML files, the resolved
// configuration of a run folder, checkpoints and the reference in the README all come from it. Names are CleanRL's.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/env.h"
#include "sim/core/value.h"

namespace hotloop {

struct TrainConfig {
  std::string task;
  std::int64_t seed = 1;
  std::string device = "auto";
  std::string algo = "ppo";        // ppo, bc
  std::string dataset;             // of bc
  std::string init_from;           // checkpoint or policy to begin with; empty: none
  std::string init_parts = "all";  // of it: all, actor, critic
  bool init_partial = false;       // what does not fit is left out
  std::int64_t total_timesteps = 500000;
  std::int64_t num_envs = 4;
  std::int64_t num_steps = 128;

  double learning_rate = 2.5e-4;
  std::string lr_schedule = "linear";  // constant, linear, cosine, adaptive
  double desired_kl = 0.01;            // for lr_schedule = adaptive
  double min_learning_rate = 1e-5, max_learning_rate = 1e-2;
  double adam_eps = 1e-5, adam_beta1 = 0.9, adam_beta2 = 0.999;
  double gamma = 0.99, gae_lambda = 0.95;
  std::int64_t num_minibatches = 4, update_epochs = 4;
  bool norm_adv = true;
  double clip_coef = 0.2;
  bool clip_vloss = true;
  double ent_coef = 0.01, vf_coef = 0.5, max_grad_norm = 0.5;
  double target_kl = 0.0;  // 0: no early stop

  std::vector<std::int64_t> hidden_sizes = {64, 64};
  std::vector<std::int64_t> critic_hidden_sizes = {};  // empty: as hidden_sizes
  bool shared_network = false;
  std::string activation = "tanh";               // tanh, relu, elu, silu
  std::string action_distribution = "gaussian";  // gaussian, squashed_gaussian (continuous actions only)
  std::string std_type = "global";               // global, state
  double log_std_init = 0.0;
  bool normalize_observation = false, normalize_reward = false;
  double clip_observation = 10.0, clip_reward = 10.0;

  std::int64_t max_episode_steps = 0;  // 0: the task's own
  bool random_episode_start = false;

  std::string road = "auto";       // auto, fused, generic
  std::string precision = "fp32";  // fp32, tf32, fp16, bf16
  std::string capture = "auto";    // auto, on, off
  std::int64_t num_shards = 2;     // CPU: parts of a minibatch, each on one thread, summed in order
  std::int64_t num_threads = 0;    // 0: every core

  std::int64_t eval_interval = 20, eval_episodes = 100;
  std::int64_t checkpoint_interval = 50, keep_checkpoints = 3;
  std::int64_t log_interval = 1;

  EnvOptions env;  // env.NAME, randomize.FIELD or tables [env], [randomize]: options of the task; resolved: all

  std::string run_dir;  // empty: runs/<task>__<exp_name>__<seed>__<time>
  std::string exp_name = "ppo";

  friend bool operator==(const TrainConfig&, const TrainConfig&) = default;
};

template <class Config, class Visitor>
void visit_run_keys(Config& c, Visitor&& v) {
  v("task", c.task, KeyRule{.help = "environment, see `hotloop list`"});
  v("seed", c.seed, KeyRule{.low = 0, .high = 9e18, .help = "same seed, same bits"});
  v("device", c.device, KeyRule{.help = "auto, cpu, cuda or cuda:N", .may_change = true});
  v("algo", c.algo, KeyRule{.choices = {"ppo", "bc"}, .help = "algorithm; bc: behaviour cloning of a dataset"});
  v("dataset", c.dataset, KeyRule{.help = "of bc: a folder that `record --format tensordict` wrote"});
  v("init_from", c.init_from,
    KeyRule{.help = "run, checkpoint or safetensors file of CleanRL or SB3 whose parameters the run begins with"});
  v("init_parts", c.init_parts, KeyRule{.choices = {"all", "actor", "critic"}, .help = "what init_from gives"});
  v("init_partial", c.init_partial, KeyRule{.help = "take of init_from what fits, instead of refusing the rest"});
  v("total_timesteps", c.total_timesteps,
    KeyRule{.low = 1,
            .high = 1e15,
            .help = "environment steps (bc: steps of the dataset) in all, rounded up to whole rollouts",
            .aliases = {"n_timesteps", "max_frames"},
            .may_change = true});
  v("run_dir", c.run_dir, KeyRule{.help = "folder of the run; default runs/<task>__<exp_name>__<seed>__<time>"});
  v("exp_name", c.exp_name,
    KeyRule{.help = "part of the default folder's name", .aliases = {"experiment_name", "run_name"}});
}

template <class Config, class Visitor>
void visit_rollout_keys(Config& c, Visitor&& v) {
  v("num_envs", c.num_envs,
    KeyRule{
        .low = 1, .high = 16777216, .help = "parallel worlds", .aliases = {"n_envs", "num_actors", "total_agents"}});
  v("num_steps", c.num_steps,
    KeyRule{.low = 1,
            .high = 65536,
            .help = "steps of each world in one rollout",
            .aliases = {"n_steps", "horizon_length", "num_steps_per_env", "horizon"}});
  v("max_episode_steps", c.max_episode_steps, KeyRule{.low = 0, .high = 1e9, .help = "time limit; 0: the task's own"});
  v("random_episode_start", c.random_episode_start,
    KeyRule{.help = "first episodes start at a random time, so that time limits spread"});
  v("normalize_observation", c.normalize_observation,
    KeyRule{.help = "running mean and variance",
            .aliases = {"norm_obs", "normalize_input", "empirical_normalization"}});
  v("normalize_reward", c.normalize_reward,
    KeyRule{.help = "divide by the running deviation of the discounted return", .aliases = {"norm_reward"}});
  v("clip_observation", c.clip_observation,
    KeyRule{.low = 0.1, .high = 1e9, .help = "limit of normalised observations", .aliases = {"clip_obs"}});
  v("clip_reward", c.clip_reward, KeyRule{.low = 0.1, .high = 1e9, .help = "limit of normalised rewards"});
}

template <class Config, class Visitor>
void visit_ppo_keys(Config& c, Visitor&& v) {
  v("gamma", c.gamma, KeyRule{.low = 0, .high = 1, .help = "discount"});
  v("gae_lambda", c.gae_lambda, KeyRule{.low = 0, .high = 1, .help = "GAE's lambda", .aliases = {"tau", "lam"}});
  v("num_minibatches", c.num_minibatches,
    KeyRule{.low = 1, .high = 1e9, .help = "minibatches an epoch", .aliases = {"num_mini_batches"}});
  v("update_epochs", c.update_epochs,
    KeyRule{.low = 1,
            .high = 10000,
            .help = "passes over a rollout",
            .aliases = {"n_epochs", "mini_epochs", "num_learning_epochs"}});
  v("norm_adv", c.norm_adv,
    KeyRule{.help = "normalise advantages in each minibatch",
            .aliases = {"normalize_advantage", "normalize_advantage_per_mini_batch"}});
  v("clip_coef", c.clip_coef,
    KeyRule{.low = 0, .high = 100, .help = "PPO's clip range", .aliases = {"clip_range", "e_clip", "clip_param"}});
  v("clip_vloss", c.clip_vloss,
    KeyRule{.help = "clipped value loss", .aliases = {"clip_value", "use_clipped_value_loss"}});
  v("ent_coef", c.ent_coef, KeyRule{.low = 0, .high = 100, .help = "entropy weight", .aliases = {"entropy_coef"}});
  v("vf_coef", c.vf_coef,
    KeyRule{.low = 0, .high = 1000, .help = "value loss weight", .aliases = {"critic_coef", "value_loss_coef"}});
  v("max_grad_norm", c.max_grad_norm,
    KeyRule{.low = 1e-12, .high = 1e12, .help = "gradient norm limit", .aliases = {"grad_norm"}});
  v("target_kl", c.target_kl,
    KeyRule{.low = 0, .high = 1e6, .help = "stop the epochs of a rollout above this KL; 0: never"});
}

template <class Config, class Visitor>
void visit_optimizer_keys(Config& c, Visitor&& v) {
  v("learning_rate", c.learning_rate,
    KeyRule{.low = 0, .high = 10, .help = "Adam's step size at the start", .aliases = {"lr"}});
  v("lr_schedule", c.lr_schedule,
    KeyRule{
        .choices = {"constant", "linear", "cosine", "adaptive"},
        .choice_aliases = {{"fixed", "constant"}, {"identity", "constant"}, {"none", "constant"}, {"None", "constant"}},
        .help = "linear and cosine go to 0; adaptive follows desired_kl",
        .aliases = {"schedule"}});
  v("desired_kl", c.desired_kl,
    KeyRule{.low = 1e-12, .high = 100, .help = "KL that lr_schedule = adaptive holds", .aliases = {"kl_threshold"}});
  v("min_learning_rate", c.min_learning_rate, KeyRule{.low = 0, .high = 10, .help = "lower bound of adaptive"});
  v("max_learning_rate", c.max_learning_rate, KeyRule{.low = 0, .high = 10, .help = "upper bound of adaptive"});
  v("adam_eps", c.adam_eps, KeyRule{.low = 1e-30, .high = 1, .help = "Adam's epsilon"});
  v("adam_beta1", c.adam_beta1, KeyRule{.low = 0, .high = 0.9999999, .help = "Adam's first decay"});
  v("adam_beta2", c.adam_beta2, KeyRule{.low = 0, .high = 0.9999999, .help = "Adam's second decay"});
}

template <class Config, class Visitor>
void visit_network_keys(Config& c, Visitor&& v) {
  v("hidden_sizes", c.hidden_sizes,
    KeyRule{.low = 1, .high = 65536, .help = "hidden layers of the actor (and of a shared network)"});
  v("critic_hidden_sizes", c.critic_hidden_sizes,
    KeyRule{.low = 1, .high = 65536, .help = "hidden layers of the critic; empty: as hidden_sizes"});
  v("shared_network", c.shared_network, KeyRule{.help = "actor and critic share their hidden layers"});
  v("activation", c.activation,
    KeyRule{.choices = {"tanh", "relu", "elu", "silu"}, .help = "after every hidden layer"});
  v("action_distribution", c.action_distribution,
    KeyRule{.choices = {"gaussian", "squashed_gaussian"},
            .help = "for continuous actions: clipped to the bounds, or tanh to the bounds"});
  v("std_type", c.std_type,
    KeyRule{.choices = {"global", "state"}, .help = "one parameter an action, or an output of the actor"});
  v("log_std_init", c.log_std_init, KeyRule{.low = -10, .high = 4, .help = "log of the first standard deviation"});
}

template <class Config, class Visitor>
void visit_execution_keys(Config& c, Visitor&& v) {
  v("road", c.road,
    KeyRule{.choices = {"auto", "fused", "generic"},
            .help = "what runs the networks: fused, our own kernels; generic, LibTorch; auto: fused where it takes "
                    "the run",
            .may_change = true});
  v("precision", c.precision,
    KeyRule{.choices = {"fp32", "tf32", "fp16", "bf16"},
            .help = "of matrix products; parameters stay fp32; fp16 is for the fused road on a GPU"});
  v("capture", c.capture, KeyRule{.choices = {"auto", "on", "off"}, .help = "replay one CUDA graph an iteration"});
  v("num_shards", c.num_shards,
    KeyRule{.low = 1, .high = 1024, .help = "CPU: parts of a minibatch, summed in order; reaches the bits"});
  v("num_threads", c.num_threads,
    KeyRule{.low = 0, .high = 4096, .help = "CPU threads, 0: every core; does not reach the bits", .may_change = true});
}

template <class Config, class Visitor>
void visit_output_keys(Config& c, Visitor&& v) {
  v("eval_interval", c.eval_interval,
    KeyRule{.low = 0, .high = 1e9, .help = "iterations between evaluations; 0: only at the end", .may_change = true});
  v("eval_episodes", c.eval_episodes,
    KeyRule{.low = 1, .high = 1e6, .help = "episodes of an evaluation", .may_change = true});
  v("checkpoint_interval", c.checkpoint_interval,
    KeyRule{.low = 0, .high = 1e9, .help = "iterations between checkpoints; 0: only at the end", .may_change = true});
  v("keep_checkpoints", c.keep_checkpoints,
    KeyRule{.low = 1, .high = 1e6, .help = "rotating checkpoints kept beside best", .may_change = true});
  v("log_interval", c.log_interval,
    KeyRule{.low = 1, .high = 1e9, .help = "iterations between metric rows", .may_change = true});
}

template <class Config, class Visitor>
void visit_config(Config& c, Visitor&& v) {
  const auto in = [&v](const char* group) {
    return [&v, group](const char* name, auto& value, KeyRule rule) {
      rule.group = group;
      v(name, value, rule);
    };
  };
  visit_run_keys(c, in("Run"));
  visit_rollout_keys(c, in("Rollout"));
  visit_ppo_keys(c, in("PPO"));
  visit_optimizer_keys(c, in("Optimizer"));
  visit_network_keys(c, in("Network"));
  visit_execution_keys(c, in("Execution"));
  visit_output_keys(c, in("Evaluation and output"));
}

// One assignment as the user wrote it.
struct Setting {
  std::string key;    // dashes or underscores, any alias
  std::string text;   // the value
  std::string where;  // "file.toml:3"; empty for the command line

  std::string label() const;  // "--gamma" or "file.toml:3: gamma =", what messages start with
};

// The keys of a TOML file in their order; those of the tables [env] and [randomize] begin with their names. Error for a
// file that cannot be read, a syntax error, another table, an unknown key, a key set twice (also under two of its
// names), and a value of another type than the key's.
std::vector<Setting> read_settings(const std::filesystem::path& path);
// The same from memory; `source` stands for the file in messages.
std::vector<Setting> parse_settings(const std::string& text, const std::string& source);

// Built-in defaults with the settings laid over them, the last one of a key winning. Besides the keys of visit_config
// and their aliases: anneal_lr (CleanRL) chooses lr_schedule; minibatch_size and batch_size (rl_games, SB3) choose
// num_minibatches and max_iterations (rsl_rl) total_timesteps, both from the final num_envs * num_steps.
// Keys env.NAME and randomize.FIELD are options of the task; where it is a known one, they are checked and completed
// with its defaults. Error naming key, value and what is accepted. Cross checks are validate()'s.
TrainConfig resolve_settings(const std::vector<Setting>& settings);

// Lays one setting of visit_config's keys or their aliases over a configuration. Error as resolve_settings.
void apply_setting(TrainConfig& config, const Setting& setting);

// resolve_settings(read_settings(path)), validated.
TrainConfig load_config_file(const std::filesystem::path& path);

// The configuration of run folder `run` (its config.toml) with changes laid over it. Error for a folder that is no run
// and for a change of a key that a resumed run keeps.
TrainConfig resume_config(const std::filesystem::path& run, const std::vector<Setting>& changes);

// Contradictions between keys, as an Error naming both; with the task's actions, also those between keys and task.
void validate(const TrainConfig& config);
void validate(const TrainConfig& config, const ActionSpace& action);

// The full configuration with comments. Reading it back gives the same values to the last bit.
std::string to_toml(const TrainConfig& config);

// The key of visit_config that `spelling` means: itself, an alias, or the key that a derived spelling such as
// batch_size sets; env.NAME and randomize.FIELD for any option of a task. Nothing for an unknown spelling.
std::optional<std::string> canonical_key(const std::string& spelling);

// Every accepted spelling, with underscores.
std::vector<std::string> config_spellings();

bool is_flag_key(const std::string& spelling);  // its value is a boolean

// Configuration files that apply to a task, weakest first: the task's own under assets/configs where there is one.
std::vector<std::filesystem::path> task_config_files(const std::string& task);

}  // namespace hotloop
