// compare_command: groups of runs beside each other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "data/file.h"
#include "sim/core/error.h"
#include "sim/core/value.h"
#include "train/commands.h"
#include "train/learning_curves.h"
#include "train/progress.h"
#include "train/text_table.h"

namespace hotloop {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kThresholds = 41;  // of a performance profile
constexpr std::size_t kShownThresholds[] = {4, 12, 20, 28, 36};
constexpr std::uint32_t kPairSamples = 1 << 12;    // numbers of samples from here on are those of pairs of groups
constexpr std::int64_t kMaxCurveResamples = 2000;  // as many for each of hundreds of points

struct GroupStatistics {
  Strata scores;  // normalised where the comparison is
  Estimate iqm, mean, median;
  std::vector<Estimate> profile;    // at Results::thresholds
  std::vector<Estimate> task_iqms;  // of the scores as they are
};

struct Results {
  std::vector<Interval95> ranges;  // of each task: scores that become 0 and 1; empty: not normalised
  std::vector<double> thresholds;
  std::vector<GroupStatistics> groups;
  std::vector<std::vector<Estimate>> improvement;  // [x][y] P(x > y); meaningless where x == y
};

// Resamples of a single run are that run: no interval.
bool is_resampled(const Strata& scores) {
  return std::all_of(scores.begin(), scores.end(), [](const auto& runs) { return runs.size() > 1; });
}
std::vector<Estimate> estimate(const std::vector<Strata>& samples, const Statistic& statistic, BootstrapConfig config) {
  const bool resampled = std::all_of(samples.begin(), samples.end(), is_resampled);
  if (!resampled) config.resamples = 1;
  std::vector<Estimate> estimates = bootstrap(samples, statistic, config);
  for (Estimate& e : estimates)
    if (!resampled) e.interval = {kNone, kNone};
  return estimates;
}

// TASK=LOW,HIGH of the command line, by task.
std::map<std::string, Interval95> parse_references(const std::vector<std::string>& texts,
                                                   const Comparison& comparison) {
  std::map<std::string, Interval95> references;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string task = text.substr(0, equals);
    if (equals == std::string::npos ||
        std::find(comparison.tasks.begin(), comparison.tasks.end(), task) == comparison.tasks.end())
      throw Error("--reference " + shown(text) + ": must be TASK=LOW,HIGH with a task of the runs" +
                  suggestion(task, comparison.tasks));
    Interval range;
    parse_value("--reference " + task + " =", text.substr(equals + 1), {}, range);
    if (!(range.low < range.high) || !std::isfinite(range.high - range.low))
      throw Error("--reference " + shown(text) + ": LOW must be below HIGH, and both finite");
    references[task] = {range.low, range.high};
  }
  return references;
}

// What scores of each task are divided by where there are several tasks, or references.
std::vector<Interval95> score_ranges(const Comparison& comparison,
                                     const std::map<std::string, Interval95>& references) {
  if (comparison.tasks.size() == 1 && references.empty()) return {};
  std::vector<Interval95> ranges;
  for (std::size_t t = 0; t < comparison.tasks.size(); ++t) {
    const auto given = references.find(comparison.tasks[t]);
    if (given != references.end()) {
      ranges.push_back(given->second);
      continue;
    }
    Interval95 range = {std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()};
    for (const RunGroup& group : comparison.groups)
      for (const ScoredRun& run : group.tasks[t])
        range = {std::min(range.low, run.score), std::max(range.high, run.score)};
    if (!(range.low < range.high))
      throw Error(fmt::format("compare: all runs of {0} score {1:g}: give --reference {0}=LOW,HIGH",
                              comparison.tasks[t], range.low));
    ranges.push_back(range);
  }
  return ranges;
}

Strata normalized(Strata scores, const std::vector<Interval95>& ranges) {
  for (std::size_t t = 0; t < ranges.size(); ++t)
    for (double& s : scores[t]) s = (s - ranges[t].low) / (ranges[t].high - ranges[t].low);
  return scores;
}

std::vector<double> thresholds_of(const std::vector<GroupStatistics>& groups) {
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  for (const GroupStatistics& group : groups)
    for (const std::vector<double>& runs : group.scores)
      for (const double s : runs) low = std::min(low, s), high = std::max(high, s);
  std::vector<double> thresholds;
  for (std::size_t k = 0; k < kThresholds; ++k)
    thresholds.push_back(low + (high - low) * static_cast<double>(k) / (kThresholds - 1));
  return thresholds;
}

void estimate_group(const RunGroup& group, const std::vector<double>& thresholds, const BootstrapConfig& config,
                    GroupStatistics& g) {
  const Statistic statistic = [&](const std::vector<Strata>& samples) {
    const Aggregates a = aggregate(samples[0]);
    std::vector<double> values = {a.iqm, a.mean, a.median};
    const std::vector<double> shares = shares_above(samples[0], thresholds);
    values.insert(values.end(), shares.begin(), shares.end());
    return values;
  };
  const std::vector<Estimate> estimates = estimate({g.scores}, statistic, config);
  g.iqm = estimates[0];
  g.mean = estimates[1];
  g.median = estimates[2];
  g.profile.assign(estimates.begin() + 3, estimates.end());
  const Statistic iqm = [](const std::vector<Strata>& s) { return std::vector<double>{aggregate(s[0]).iqm}; };
  for (const std::vector<double>& runs : group.scores()) g.task_iqms.push_back(estimate({{runs}}, iqm, config)[0]);
}

Results compute(const Comparison& comparison, const CompareOptions& options) {
  Results results;
  results.ranges = score_ranges(comparison, parse_references(options.references, comparison));
  for (const RunGroup& group : comparison.groups)
    results.groups.emplace_back().scores = normalized(group.scores(), results.ranges);
  results.thresholds = thresholds_of(results.groups);
  BootstrapConfig config = {options.resamples, static_cast<std::uint64_t>(options.seed), 0};
  for (std::size_t g = 0; g < results.groups.size(); ++g, ++config.first_sample)
    estimate_group(comparison.groups[g], results.thresholds, config, results.groups[g]);
  config.first_sample = kPairSamples;
  const Statistic improvement = [](const std::vector<Strata>& s) {
    return std::vector<double>{probability_of_improvement(s[0], s[1])};
  };
  const std::size_t n = results.groups.size();
  results.improvement.assign(n, std::vector<Estimate>(n));
  for (std::size_t x = 0; x < n; ++x)
    for (std::size_t y = x + 1; y < n; ++y, config.first_sample += 2) {
      const Estimate e = estimate({results.groups[x].scores, results.groups[y].scores}, improvement, config)[0];
      results.improvement[x][y] = e;
      results.improvement[y][x] = {1 - e.value, {1 - e.interval.high, 1 - e.interval.low}};
    }
  return results;
}

// ---- as JSON --------------------------------------------------------------------------------------------------------

Json json_of(const Estimate& e) { return {{"value", e.value}, {"ci95", {e.interval.low, e.interval.high}}}; }

Json json_of(const Comparison& comparison, const RunGroup& group, const GroupStatistics& g) {
  Json out = {{"name", group.name}, {"iqm", json_of(g.iqm)}, {"mean", json_of(g.mean)}, {"median", json_of(g.median)}};
  for (const Estimate& e : g.profile) {
    out["profile"]["shares"].push_back(e.value);
    out["profile"]["ci95"].push_back({e.interval.low, e.interval.high});
  }
  for (std::size_t t = 0; t < comparison.tasks.size(); ++t) {
    Json& task = out["tasks"][comparison.tasks[t]] = {{"iqm", json_of(g.task_iqms[t])}};
    for (const ScoredRun& run : group.tasks[t])
      task["runs"].push_back(
          {{"run", run.path}, {"seed", run.config.seed}, {"steps", run.curve.back().step}, {"score", run.score}});
  }
  return out;
}

Json json_of(const Comparison& comparison, const Results& results, const CompareOptions& options) {
  Json out = {{"metric", options.rule.metric}, {"score", options.score}, {"tasks", comparison.tasks}};
  out["normalization"] = nullptr;
  for (std::size_t t = 0; t < results.ranges.size(); ++t)
    out["normalization"][comparison.tasks[t]] = {results.ranges[t].low, results.ranges[t].high};
  out["resamples"] = options.resamples;
  out["seed"] = options.seed;
  out["thresholds"] = results.thresholds;
  for (std::size_t g = 0; g < comparison.groups.size(); ++g)
    out["groups"].push_back(json_of(comparison, comparison.groups[g], results.groups[g]));
  out["probability_of_improvement"] = Json::array();
  for (std::size_t x = 0; x < comparison.groups.size(); ++x)
    for (std::size_t y = 0; y < comparison.groups.size(); ++y) {
      if (x == y) continue;
      Json pair = {{"x", comparison.groups[x].name}, {"y", comparison.groups[y].name}};
      pair.update(json_of(results.improvement[x][y]));
      out["probability_of_improvement"].push_back(pair);
    }
  return out;
}

// ---- as text --------------------------------------------------------------------------------------------------------

// `digits` after the point.
std::string text_of(const Estimate& e, int digits) {
  if (std::isnan(e.interval.low)) return fmt::format("{:.{}f}", e.value, digits);
  return fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", e.value, digits, e.interval.low, digits, e.interval.high, digits);
}

std::string head_text(const Comparison& comparison, const Results& results, const CompareOptions& options) {
  const char* which = options.rule.kind == ScoreKind::mean ? "mean of all" : options.score.c_str();
  std::string text =
      fmt::format("score of a run: {} {}{}\n", which, options.rule.metric,
                  options.rule.until ? fmt::format(" up to step {}", count_text(*options.rule.until)) : "");
  for (std::size_t t = 0; t < results.ranges.size(); ++t)
    text += fmt::format("{}: scores from {:g} to {:g} become 0 to 1\n", comparison.tasks[t], results.ranges[t].low,
                        results.ranges[t].high);
  return text + fmt::format("95 % intervals: stratified bootstrap, {} resamples, seed {}\n\n", options.resamples,
                            options.seed);
}

std::string runs_text(const RunGroup& group) {
  std::string text;
  for (const auto& runs : group.tasks) text += (text.empty() ? "" : "+") + std::to_string(runs.size());
  return text;
}

std::string groups_text(const Comparison& comparison, const Results& results, int digits) {
  std::vector<std::vector<std::string>> rows = {{"group", "runs", "steps", "iqm", "mean", "median"}};
  if (comparison.tasks.size() == 1) rows[0].pop_back();  // of one task's mean
  for (std::size_t g = 0; g < comparison.groups.size(); ++g) {
    const GroupStatistics& s = results.groups[g];
    double steps = 0;
    for (const auto& runs : comparison.groups[g].tasks)
      for (const ScoredRun& run : runs) steps = std::max(steps, run.curve.back().step);
    rows.push_back({comparison.groups[g].name, runs_text(comparison.groups[g]), count_text(steps),
                    text_of(s.iqm, digits), text_of(s.mean, digits)});
    if (comparison.tasks.size() > 1) rows.back().push_back(text_of(s.median, digits));
  }
  std::string text = text_table(rows);
  if (comparison.tasks.size() == 1) return text;
  rows = {{"iqm of each task"}};
  rows[0].insert(rows[0].end(), comparison.tasks.begin(), comparison.tasks.end());
  for (std::size_t g = 0; g < comparison.groups.size(); ++g) {
    rows.push_back({comparison.groups[g].name});
    for (const Estimate& e : results.groups[g].task_iqms) rows.back().push_back(text_of(e, 2));
  }
  return text + "\n" + text_table(rows);
}

std::string pairs_text(const Comparison& comparison, const Results& results) {
  std::vector<std::vector<std::string>> rows = {{"P(row > column)"}};
  for (std::size_t x = 0; x < comparison.groups.size(); ++x) {
    rows[0].push_back(comparison.groups[x].name);
    rows.push_back({comparison.groups[x].name});
    for (std::size_t y = 0; y < comparison.groups.size(); ++y)
      rows.back().push_back(x == y ? "-" : text_of(results.improvement[x][y], 2));
  }
  return text_table(rows);
}

std::string profile_text(const Comparison& comparison, const Results& results, int digits) {
  std::vector<std::vector<std::string>> rows = {{"share of runs above"}};
  for (const std::size_t k : kShownThresholds) rows[0].push_back(fmt::format("{:.{}f}", results.thresholds[k], digits));
  for (std::size_t g = 0; g < comparison.groups.size(); ++g) {
    rows.push_back({comparison.groups[g].name});
    for (const std::size_t k : kShownThresholds) rows.back().push_back(text_of(results.groups[g].profile[k], 2));
  }
  return text_table(rows);
}

}  // namespace

int compare_command(const CompareOptions& options) {
  if (!options.plot.empty() && !options.plot.ends_with(".svg"))
    throw Error("--plot " + shown(options.plot) + ": must end in .svg");
  const Comparison comparison = read_comparison(options.targets, options.rule);
  for (const std::string& why : comparison.left_out) std::fputs(("left out: " + why + "\n").c_str(), stderr);
  const Results results = compute(comparison, options);
  if (!options.plot.empty()) {
    const BootstrapConfig config = {std::min(options.resamples, kMaxCurveResamples),
                                    static_cast<std::uint64_t>(options.seed), 0};
    write_file(options.plot, draw_learning_curves(comparison, options.rule, config));
  }
  if (options.json) {
    // names come from anywhere
    write_output(json_of(comparison, results, options).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    return 0;
  }
  const int digits = results.ranges.empty() ? 2 : 3;
  std::string text = head_text(comparison, results, options) + groups_text(comparison, results, digits);
  if (comparison.groups.size() > 1) text += "\n" + pairs_text(comparison, results);
  if (results.thresholds.front() < results.thresholds.back()) text += "\n" + profile_text(comparison, results, digits);
  write_output(text);
  return 0;
}

}  // namespace hotloop
