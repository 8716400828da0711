// What a viewer may know of a training: plain numbers, copied out by the run loop after an iteration. The training
// never waits for who reads them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace hotloop {

// One metric over iterations, as in metrics.csv.
struct TelemetryCurve {
  std::string name;                 // "charts/episodic_return", "losses/value_loss" ...
  std::vector<double> step, value;  // global steps
};

struct Telemetry {
  std::int64_t iteration = 0, total_iterations = 0, global_step = 0;
  double steps_per_second = 0, elapsed_seconds = 0;
  std::vector<TelemetryCurve> curves;
  std::vector<std::string> log_lines;  // what the run printed, newest last
  bool finished = false;
  std::string run_dir;
};

}  // namespace hotloop
