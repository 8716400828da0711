// metrics.csv and performance.csv of a run, read back.
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/error.h"

namespace hotloop {

// Of a run that has no value of a metric: it was stopped before, or has not come so far.
struct NoValues : Error {
  using Error::Error;
};

struct MetricTable {
  std::string path;
  std::vector<std::string> names;           // of the columns
  std::vector<std::vector<double>> column;  // as names; NaN: an empty cell

  // Place of a column. Error naming the nearest where there is none.
  std::size_t find(const std::string& name) const;
  // The rows where both columns have a value. Error naming the line of an infinite one.
  std::vector<std::pair<double, double>> pairs(const std::string& x, const std::string& y) const;
};

// A file that MetricWriter writes, maybe at this moment: a last line without its end is left out. NoValues where it
// holds none yet, Error naming file and line for what is no such file.
MetricTable read_metric_table(const std::filesystem::path& path);

}  // namespace hotloop
