#include "train/run_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "sim/core/error.h"
#include "sim/core/value.h"
#include "train/metric_table.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr const char *kStep = "global_step", *kTime = "time/time_elapsed";

// y of rows at x, linear between them.
double interpolated(const std::vector<std::pair<double, double>>& rows, double x) {
  const auto after = std::lower_bound(rows.begin(), rows.end(), std::pair(x, -std::numeric_limits<double>::max()));
  if (after == rows.end()) return rows.back().second;
  if (after == rows.begin() || after->first == x) return after->second;
  const auto before = after - 1;
  return before->second + (after->second - before->second) * (x - before->first) / (after->first - before->first);
}

void read_seconds(const fs::path& path, std::vector<CurvePoint>& curve) {
  std::vector<std::pair<double, double>> rows = read_metric_table(path).pairs(kStep, kTime);
  if (rows.empty()) throw Error(path.string() + ": no value of " + kTime + " yet");
  double before = 0, last = 0;  // each process of a resumed run counts from its own start
  for (auto& [step, seconds] : rows) {
    if (seconds < last) before += last;
    last = seconds;
    seconds += before;
  }
  for (CurvePoint& p : curve) p.seconds = interpolated(rows, p.step);
}

double score_of(const std::vector<CurvePoint>& curve, ScoreKind kind) {
  const auto less = [](const CurvePoint& a, const CurvePoint& b) { return a.value < b.value; };
  if (kind == ScoreKind::best) return std::max_element(curve.begin(), curve.end(), less)->value;
  if (kind == ScoreKind::last) return curve.back().value;
  const auto add = [](double sum, const CurvePoint& p) { return sum + p.value; };
  return std::accumulate(curve.begin(), curve.end(), 0.0, add) / static_cast<double>(curve.size());
}

}  // namespace

ScoredRun read_run(const fs::path& folder, const ScoreRule& rule) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) throw Error("no run " + shown(folder.string()));
  if (!fs::is_regular_file(folder / "config.toml", ignored))
    throw Error(shown(folder.string()) + ": is not a run folder, it holds no config.toml");
  const fs::path metrics = folder / "metrics.csv";
  if (!fs::exists(metrics, ignored)) throw NoValues(shown(folder.string()) + ": the run holds no metrics.csv");
  ScoredRun run;
  run.path = folder.string();
  run.config = resolve_settings(read_settings(folder / "config.toml"));
  if (run.config.task.empty()) throw Error((folder / "config.toml").string() + ": task is missing");
  for (const auto& [step, value] : read_metric_table(metrics).pairs(kStep, rule.metric))
    if (!rule.until || step <= *rule.until) run.curve.push_back({step, 0, value});
  if (run.curve.empty())
    throw NoValues(fmt::format("{}: no value of {}{}", metrics.string(), rule.metric,
                               rule.until ? fmt::format(" up to step {:.0f}", *rule.until) : std::string(" yet")));
  if (rule.seconds) read_seconds(folder / "performance.csv", run.curve);
  run.score = score_of(run.curve, rule.kind);
  return run;
}

Strata RunGroup::scores() const {
  Strata strata;
  for (const std::vector<ScoredRun>& runs : tasks) {
    strata.emplace_back();
    for (const ScoredRun& run : runs) strata.back().push_back(run.score);
  }
  return strata;
}

}  // namespace hotloop
