#include "train/bootstrap.h"

#include <algorithm>
#include <numeric>

#include "sim/core/rng.h"

namespace hotloop {
namespace {

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> pooled_sorted(const Strata& scores) {
  std::vector<double> all;
  for (const std::vector<double>& runs : scores) all.insert(all.end(), runs.begin(), runs.end());
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

Aggregates aggregate(const Strata& scores) {
  std::vector<double> means;
  for (const std::vector<double>& runs : scores) means.push_back(mean_of(runs));
  Aggregates a;
  a.iqm = interquartile_mean(pooled_sorted(scores));
  a.mean = mean_of(means);
  std::sort(means.begin(), means.end());
  a.median = quantile(means, 0.5);
  return a;
}

double probability_of_improvement(const Strata& x, const Strata& y) {
  double sum = 0;
  for (std::size_t task = 0; task < x.size(); ++task) {
    double wins = 0;
    for (const double a : x[task])
      for (const double b : y[task]) wins += a > b ? 1.0 : (a == b ? 0.5 : 0.0);
    sum += wins / static_cast<double>(x[task].size() * y[task].size());
  }
  return sum / static_cast<double>(x.size());
}

std::vector<double> shares_above(const Strata& scores, const std::vector<double>& thresholds) {
  const std::vector<double> all = pooled_sorted(scores);
  std::vector<double> shares;
  for (const double t : thresholds) {
    const auto above = all.end() - std::upper_bound(all.begin(), all.end(), t);
    shares.push_back(static_cast<double>(above) / static_cast<double>(all.size()));
  }
  return shares;
}

Draw philox_draw(const BootstrapConfig& config) {
  return [config](std::int64_t resample, std::size_t sample, std::size_t stratum, std::vector<std::size_t>& index) {
    const auto world =
        (config.first_sample + static_cast<std::uint32_t>(sample)) << 16 | static_cast<std::uint32_t>(stratum & 0xffff);
    Rng rng(config.seed, RngStream::resample, world, static_cast<std::uint64_t>(resample));
    for (std::size_t& i : index) i = static_cast<std::size_t>(std::uint64_t{rng.bits()} * index.size() >> 32);
  };
}

std::vector<Estimate> bootstrap(const std::vector<Strata>& samples, const Statistic& statistic, std::int64_t resamples,
                                const Draw& draw) {
  const std::vector<double> values = statistic(samples);
  std::vector<std::vector<double>> drawn(values.size());
  std::vector<Strata> resampled = samples;
  std::vector<std::size_t> index;
  for (std::int64_t r = 0; r < resamples; ++r) {
    for (std::size_t s = 0; s < samples.size(); ++s)
      for (std::size_t k = 0; k < samples[s].size(); ++k) {
        const std::vector<double>& from = samples[s][k];
        index.resize(from.size());
        draw(r, s, k, index);
        for (std::size_t i = 0; i < index.size(); ++i) resampled[s][k][i] = from[index[i]];
      }
    const std::vector<double> again = statistic(resampled);
    for (std::size_t v = 0; v < again.size(); ++v) drawn[v].push_back(again[v]);
  }
  std::vector<Estimate> estimates;
  for (std::size_t v = 0; v < values.size(); ++v) {
    std::sort(drawn[v].begin(), drawn[v].end());
    estimates.push_back({values[v], {quantile(drawn[v], 0.025), quantile(drawn[v], 0.975)}});
  }
  return estimates;
}

}  // namespace hotloop
