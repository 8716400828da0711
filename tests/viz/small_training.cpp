#include "tests/viz/small_training.h"

namespace hotloop {

TrainConfig small_training(const std::filesystem::path& run, const std::vector<Setting>& more) {
  std::vector<Setting> settings = {{"task", "CartPole-v1", ""},   {"device", "cpu", ""},
                                   {"num_threads", "2", ""},      {"num_envs", "8", ""},
                                   {"num_steps", "32", ""},       {"total_timesteps", "15360", ""},
                                   {"hidden_sizes", "16,16", ""}, {"eval_interval", "20", ""},
                                   {"eval_episodes", "4", ""},    {"run_dir", run.string(), ""}};
  settings.insert(settings.end(), more.begin(), more.end());
  return resolve_settings(settings);
}

int train_quietly(const TrainConfig& config, const LogOptions& log, TrainObserver* observer) {
  TrainOptions options;
  options.quiet = true;
  options.log = log;
  options.observer = observer;
  return train_command(config, options);
}

LogOptions log_to(const std::filesystem::path& file) {
  LogOptions log;
  log.path = file.string();
  log.keys = "all,state";
  return log;
}

}  // namespace hotloop
