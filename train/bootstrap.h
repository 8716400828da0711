// The statistics of Agarwal et al. 2021, "Deep reinforcement learning at the edge of the statistical precipice", which
// their library rliable computes: aggregates of scores over tasks and runs, with stratified bootstrap intervals.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "train/statistics.h"

namespace hotloop {

// Scores of an algorithm: of each task (a stratum) those of its runs.
using Strata = std::vector<std::vector<double>>;

struct Aggregates {
  double iqm = 0;     // over all runs of all tasks
  double mean = 0;    // over tasks, of the means of their runs
  double median = 0;  // the same
};
Aggregates aggregate(const Strata& scores);

// P(X > Y) of a run each, ties counted half, averaged over tasks: Mann and Whitney's U over the number of pairs.
double probability_of_improvement(const Strata& x, const Strata& y);

// Share of all runs whose score is above each threshold: a performance profile.
std::vector<double> shares_above(const Strata& scores, const std::vector<double>& thresholds);

struct Estimate {
  double value = 0;
  Interval95 interval;
};

struct BootstrapConfig {
  std::int64_t resamples = 10000;
  std::uint64_t seed = 0;
  std::uint32_t first_sample = 0;  // number of the first sample: other samples, other draws
};

// Fills `index` with the runs that resample `resample` takes of a stratum of index.size() runs.
using Draw = std::function<void(std::int64_t resample, std::size_t sample, std::size_t stratum,
                                std::vector<std::size_t>& index)>;
Draw philox_draw(const BootstrapConfig& config);

// Numbers computed from some samples, each stratum of each resampled on its own with replacement: their values, and the
// 2.5 % and 97.5 % quantiles of their values over the resamples.
using Statistic = std::function<std::vector<double>(const std::vector<Strata>& samples)>;
std::vector<Estimate> bootstrap(const std::vector<Strata>& samples, const Statistic& statistic, std::int64_t resamples,
                                const Draw& draw);
inline std::vector<Estimate> bootstrap(const std::vector<Strata>& samples, const Statistic& statistic,
                                       const BootstrapConfig& config) {
  return bootstrap(samples, statistic, config.resamples, philox_draw(config));
}

}  // namespace hotloop
