#include "train/commands.h"

#include "sim/core/error.h"

namespace hotloop {

int train_command(const TrainConfig& config, const TrainOptions& options) {
  if (options.resume.empty())
    RunDir::create(config.run_dir, config.task, config.exp_name, config.seed, config.keep_checkpoints);
  throw Error("train: not built yet");
}

int play_command(const PlayOptions& options) {
  resolve_checkpoint(options.target, options.checkpoint);
  throw Error("play: not built yet");
}

int bench_command(const BenchOptions&) { throw Error("bench: not built yet"); }

const std::vector<std::string>& bench_names() {
  static const std::vector<std::string> names = {"env", "train"};
  return names;
}

}  // namespace hotloop
