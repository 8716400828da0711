// What it costs a training that someone looks at it.
#pragma once
#include <vector>

#include "bench/env_bench.h"
#include "train/config.h"

namespace hotloop {

// The same training alone and with a viewer's scene of its worlds (1920x1080, no window) drawn beside it as `train
// --watch` draws, in turns, and with the observations of all worlds read for each picture: steps/s of both, their
// ratio, and frames/s.
std::vector<BenchResult> bench_watch(const TrainConfig& config, double seconds);

}  // namespace hotloop
