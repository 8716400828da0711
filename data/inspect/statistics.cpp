#include "data/inspect/statistics.h"

#include <algorithm>
#include <cmath>

namespace hotloop {
namespace {

constexpr double kMostBin = 1e15;        // its number is exact in a double
constexpr std::int64_t kMostBins = 512;  // between the lowest and the highest

// The same counts in bins of twice the width.
std::map<std::int64_t, std::int64_t> merged(const std::map<std::int64_t, std::int64_t>& bins) {
  std::map<std::int64_t, std::int64_t> wide;
  for (const auto& [bin, count] : bins) wide[bin >> 1] += count;
  return wide;
}

std::int64_t span(const std::map<std::int64_t, std::int64_t>& bins) {
  return bins.empty() ? 0 : bins.rbegin()->first - bins.begin()->first + 1;
}

}  // namespace

void Statistics::add(double value) {
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = count_ == 0 ? value : std::max(max_, value);
  ++count_;
  const double from_mean = value - mean_;
  mean_ += from_mean / static_cast<double>(count_);
  squares_ += from_mean * (value - mean_);
  // fine enough for the first numbers; it only grows
  if (width_ == 0) width_ = std::ldexp(1, std::max(std::ilogb(std::max(std::abs(value), 1e-300)) - 10, -1000));
  while (std::abs(value) / width_ > kMostBin) width_ *= 2, bins_ = merged(bins_);
  ++bins_[static_cast<std::int64_t>(std::floor(value / width_))];
  while (span(bins_) > kMostBins) width_ *= 2, bins_ = merged(bins_);
}

double Statistics::std() const { return count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_)); }

std::vector<Statistics::Bin> Statistics::histogram(std::size_t most) const {
  std::map<std::int64_t, std::int64_t> bins = bins_;
  double width = width_;
  while (span(bins) > static_cast<std::int64_t>(most)) width *= 2, bins = merged(bins);
  std::vector<Bin> list;
  if (bins.empty()) return list;
  for (std::int64_t bin = bins.begin()->first; bin <= bins.rbegin()->first; ++bin) {
    const auto found = bins.find(bin);
    const double low = static_cast<double>(bin) * width;
    list.push_back({low, low + width, found == bins.end() ? 0 : found->second});
  }
  return list;
}

}  // namespace hotloop
