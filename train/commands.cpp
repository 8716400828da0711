#include "train/commands.h"

#include "sim/core/error.h"
#include "train/run_folder.h"

namespace hotloop {

int train_command(const TrainConfig& config, const TrainOptions&) {
  create_run_folder(config);
  throw Error("train: not built yet");
}
int play_command(const PlayOptions&) { throw Error("play: not built yet"); }
int bench_command(const BenchOptions&) { throw Error("bench: not built yet"); }

const std::vector<std::string>& bench_names() {
  static const std::vector<std::string> names = {"env", "train"};
  return names;
}

}  // namespace hotloop
