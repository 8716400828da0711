// What a training has counted, and the rows of metrics that come of it: of one run, or of each member of a population.
#pragma once
#include <string>
#include <vector>

#include "train/checkpoint.h"
#include "train/control.h"
#include "train/evaluate.h"
#include "train/metrics.h"

namespace hotloop {

// Columns of the reward's terms.
std::vector<std::string> reward_term_tags(const EnvEntry& env);

void count_iteration(RunCounters& counters, const TrainConfig& config, const IterationMetrics& m);

// The row of what the seed decides; begins a new window. term_tags must live as long as the row.
MetricRow metric_row(RunCounters& counters, const TrainConfig& config, const IterationMetrics& m,
                     const std::vector<std::string>& term_tags);
MetricRow evaluation_row(const RunCounters& counters, const EvaluationResult& result);

// Whether an evaluation is the best so far; keeps its return then. A policy that drives worlds to non-finite states is
// not to be kept for what the others return.
bool is_best(RunCounters& counters, const EvaluationResult& result);

// Iterations from `iteration` on until a training must stand still: for an evaluation, a checkpoint, or its end.
std::int64_t until_boundary(const TrainConfig& config, std::int64_t iteration, std::int64_t total_iterations);

}  // namespace hotloop
