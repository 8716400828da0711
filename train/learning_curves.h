// Learning curves of groups of runs: the interquartile mean over the runs and its bootstrap interval, along steps or
// time.
#pragma once
#include <string>

#include "train/run_scores.h"

namespace hotloop {

// An SVG picture with a panel for each task. `seconds`: along the time of training, which the runs must have read.
std::string draw_learning_curves(const Comparison& comparison, const ScoreRule& rule, const BootstrapConfig& config);

}  // namespace hotloop
