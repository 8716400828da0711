#include "train/run_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include "data/file.h"
#include "sim/core/error.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 33;
constexpr const char *kStep = "global_step", *kTime = "time/time_elapsed";

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t comma; (comma = line.find(',')) != std::string_view::npos; line.remove_prefix(comma + 1))
    cells.push_back(line.substr(0, comma));
  cells.push_back(line);
  return cells;
}

// Two columns of a file that MetricWriter writes, the rows where both have a value. A last line without its end is one
// that is still being written.
std::vector<std::pair<double, double>> read_columns(const fs::path& path, const std::string& x, const std::string& y) {
  const std::string text = read_file(path, kMaxBytes);
  std::string_view rest = text;
  const auto next_line = [&] {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return line;
  };
  if (rest.find('\n') == std::string_view::npos) throw NoValues(path.string() + ": holds no rows yet");
  const std::vector<std::string_view> header = cells_of(next_line());
  const auto column = [&](const std::string& name) {
    const auto at = std::find(header.begin(), header.end(), name);
    if (at == header.end())
      throw Error(fmt::format("{}: has no column {}{}", path.string(), shown(name),
                              suggestion(name, std::vector<std::string>(header.begin(), header.end()))));
    return static_cast<std::size_t>(at - header.begin());
  };
  const std::size_t columns[] = {column(x), column(y)};
  std::vector<std::pair<double, double>> rows;
  for (int line = 2; rest.find('\n') != std::string_view::npos; ++line) {
    const std::vector<std::string_view> cells = cells_of(next_line());
    if (cells.size() != header.size())
      throw Error(
          fmt::format("{}:{}: {} cells, the first line has {}", path.string(), line, cells.size(), header.size()));
    double values[2];
    bool both = true;
    for (int k = 0; k < 2; ++k) {
      const std::string_view cell = cells[columns[k]];
      both = both && !cell.empty();
      const auto [end, reason] = std::from_chars(cell.data(), cell.data() + cell.size(), values[k]);
      if (!cell.empty() && (reason != std::errc() || end != cell.data() + cell.size() || !std::isfinite(values[k])))
        throw Error(fmt::format("{}:{}: {} is no number", path.string(), line, shown(cell)));
    }
    if (both) rows.emplace_back(values[0], values[1]);
  }
  return rows;
}

// y of rows at x, linear between them.
double interpolated(const std::vector<std::pair<double, double>>& rows, double x) {
  const auto after = std::lower_bound(rows.begin(), rows.end(), std::pair(x, -std::numeric_limits<double>::max()));
  if (after == rows.end()) return rows.back().second;
  if (after == rows.begin() || after->first == x) return after->second;
  const auto before = after - 1;
  return before->second + (after->second - before->second) * (x - before->first) / (after->first - before->first);
}

void read_seconds(const fs::path& path, std::vector<CurvePoint>& curve) {
  std::vector<std::pair<double, double>> rows = read_columns(path, kStep, kTime);
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
  for (const auto& [step, value] : read_columns(metrics, kStep, rule.metric))
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
