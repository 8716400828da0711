#include "train/learning_curves.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.h"
#include "train/svg_plot.h"

namespace hotloop {
namespace {

constexpr std::size_t kPoints = 300;              // of a curve at most
constexpr std::uint32_t kCurveSamples = 1 << 14;  // numbers of samples from here on are those of curves

double along(const CurvePoint& p, bool seconds) { return seconds ? p.seconds : p.step; }

double value_at(const std::vector<CurvePoint>& curve, double x, bool seconds) {
  const auto less = [&](const CurvePoint& p, double at) { return along(p, seconds) < at; };
  const auto after = std::lower_bound(curve.begin(), curve.end(), x, less);
  if (after == curve.end()) return curve.back().value;
  if (after == curve.begin() || along(*after, seconds) == x) return after->value;
  const CurvePoint &a = *(after - 1), &b = *after;
  return a.value + (b.value - a.value) * (x - along(a, seconds)) / (along(b, seconds) - along(a, seconds));
}

// Where a curve of these runs is drawn: at every point of one of them that lies in the range of all.
std::vector<double> grid_of(const std::vector<ScoredRun>& runs, bool seconds) {
  double begin = along(runs[0].curve.front(), seconds), end = along(runs[0].curve.back(), seconds);
  for (const ScoredRun& run : runs) {
    begin = std::max(begin, along(run.curve.front(), seconds));
    end = std::min(end, along(run.curve.back(), seconds));
  }
  std::vector<double> all, grid;
  for (const ScoredRun& run : runs)
    for (const CurvePoint& p : run.curve)
      if (along(p, seconds) >= begin && along(p, seconds) <= end) all.push_back(along(p, seconds));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const std::size_t stride = all.size() / kPoints + 1;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i % stride == 0 || i + 1 == all.size()) grid.push_back(all[i]);
  return grid;
}

PlotSeries series_of(const std::vector<ScoredRun>& runs, bool seconds, const BootstrapConfig& config) {
  PlotSeries series;
  series.x = grid_of(runs, seconds);
  std::vector<std::vector<double>> values;  // [run][point]
  Strata numbers(1);                        // whole runs are resampled, not points
  for (std::size_t k = 0; k < runs.size(); ++k) {
    numbers[0].push_back(static_cast<double>(k));
    values.emplace_back();
    for (const double x : series.x) values.back().push_back(value_at(runs[k].curve, x, seconds));
  }
  const Statistic iqm = [&](const std::vector<Strata>& samples) {
    std::vector<double> means, at_point(runs.size());
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      for (std::size_t k = 0; k < runs.size(); ++k) at_point[k] = values[static_cast<std::size_t>(samples[0][0][k])][i];
      std::sort(at_point.begin(), at_point.end());
      means.push_back(interquartile_mean(at_point));
    }
    return means;
  };
  for (const Estimate& e : bootstrap({numbers}, iqm, config)) {
    series.y.push_back(e.value);
    if (runs.size() < 2) continue;
    series.low.push_back(e.interval.low);
    series.high.push_back(e.interval.high);
  }
  return series;
}

// Times of a panel in a unit that keeps numbers small.
std::string choose_time_unit(PlotPanel& panel) {
  double longest = 0;
  for (const PlotSeries& s : panel.series) longest = std::max(longest, s.x.back());
  const auto [unit, name] = longest > 3 * 3600 ? std::pair(3600.0, "h")
                            : longest > 300    ? std::pair(60.0, "min")
                                               : std::pair(1.0, "s");
  for (PlotSeries& s : panel.series)
    for (double& x : s.x) x /= unit;
  return fmt::format("time of training [{}]", name);
}

}  // namespace

std::string draw_learning_curves(const Comparison& comparison, const ScoreRule& rule, const BootstrapConfig& config) {
  std::vector<PlotPanel> panels;
  std::vector<std::string> names;
  BootstrapConfig draws = config;
  draws.first_sample = kCurveSamples;
  for (std::size_t t = 0; t < comparison.tasks.size(); ++t) {
    PlotPanel panel;
    panel.title = comparison.tasks[t];
    panel.x_label = "environment steps";
    panel.y_label = rule.metric;
    for (std::size_t g = 0; g < comparison.groups.size(); ++g) {
      const std::vector<ScoredRun>& runs = comparison.groups[g].tasks[t];
      PlotSeries series = series_of(runs, rule.seconds, draws);
      ++draws.first_sample;
      if (series.x.empty())
        throw Error(fmt::format("--plot: runs of group '{}' in {} have no {} in common", comparison.groups[g].name,
                                comparison.tasks[t], rule.seconds ? "time" : "steps"));
      series.color = g;
      panel.series.push_back(std::move(series));
    }
    if (rule.seconds) panel.x_label = choose_time_unit(panel);
    panels.push_back(std::move(panel));
  }
  for (const RunGroup& group : comparison.groups) {
    std::size_t fewest = group.tasks[0].size(), most = fewest;
    for (const auto& runs : group.tasks) fewest = std::min(fewest, runs.size()), most = std::max(most, runs.size());
    names.push_back(fewest == most ? fmt::format("{} ({})", group.name, most)
                                   : fmt::format("{} ({} to {})", group.name, fewest, most));
  }
  return plot_svg(panels, names, "Interquartile mean over the runs (number in brackets), 95 % bootstrap interval");
}

}  // namespace hotloop
