#include "train/metric_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "data/file.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 33;

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t comma; (comma = line.find(',')) != std::string_view::npos; line.remove_prefix(comma + 1))
    cells.push_back(line.substr(0, comma));
  cells.push_back(line);
  return cells;
}

}  // namespace

std::size_t MetricTable::find(const std::string& name) const {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) throw Error(fmt::format("{}: has no column {}{}", path, shown(name), suggestion(name, names)));
  return static_cast<std::size_t>(at - names.begin());
}

std::vector<std::pair<double, double>> MetricTable::pairs(const std::string& x, const std::string& y) const {
  const std::vector<double>&a = column[find(x)], &b = column[find(y)];
  std::vector<std::pair<double, double>> rows;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (const double value : {a[i], b[i]})
      if (std::isinf(value)) throw Error(fmt::format("{}:{}: {} is no number", path, i + 2, value));
    if (!std::isnan(a[i]) && !std::isnan(b[i])) rows.emplace_back(a[i], b[i]);
  }
  return rows;
}

MetricTable read_metric_table(const std::filesystem::path& path) {
  const std::string text = read_file(path, kMaxBytes);
  std::string_view rest = text;
  const auto next_line = [&] {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return line;
  };
  if (rest.find('\n') == std::string_view::npos) throw NoValues(path.string() + ": holds no rows yet");
  MetricTable table;
  table.path = path.string();
  for (const std::string_view name : cells_of(next_line())) table.names.emplace_back(name);
  table.column.resize(table.names.size());
  for (int line = 2; rest.find('\n') != std::string_view::npos; ++line) {
    const std::vector<std::string_view> cells = cells_of(next_line());
    if (cells.size() != table.names.size())
      throw Error(
          fmt::format("{}:{}: {} cells, the first line has {}", table.path, line, cells.size(), table.names.size()));
    for (std::size_t k = 0; k < cells.size(); ++k) {
      const std::string_view cell = cells[k];
      double value = std::numeric_limits<double>::quiet_NaN();
      const auto [end, reason] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
      if (!cell.empty() && (reason != std::errc() || end != cell.data() + cell.size() || std::isnan(value)))
        throw Error(fmt::format("{}:{}: {} is no number", table.path, line, shown(cell)));
      table.column[k].push_back(value);
    }
  }
  return table;
}

}  // namespace hotloop
