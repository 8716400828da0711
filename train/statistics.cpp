#include "train/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace hotloop {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kUpper = 0.975;  // two-sided 95 %

double mean_of(const double* begin, const double* end) {
  return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

double squares_about(double mean, const double* begin, const double* end) {
  return std::accumulate(begin, end, 0.0, [&](double sum, double x) { return sum + (x - mean) * (x - mean); });
}

double normal_quantile(double p) {
  double low = 0, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double x = 0.5 * (low + high);
    (0.5 * std::erfc(-x / std::numbers::sqrt2) < p ? low : high) = x;
  }
  return low;
}

// P(T <= t), t >= 0 (Abramowitz & Stegun 26.7.3 and 26.7.4: finite series for whole degrees of freedom).
double student_t_cdf(double t, std::int64_t df) {
  const double theta = std::atan(t / std::sqrt(static_cast<double>(df)));
  const double c = std::cos(theta), s = std::sin(theta);
  const bool odd = df % 2 == 1;
  double term = odd ? c : 1.0, sum = df == 1 ? 0.0 : term;
  for (std::int64_t k = odd ? 3 : 2; k <= df - 2; k += 2) {
    term *= c * c * static_cast<double>(k - 1) / static_cast<double>(k);
    sum += term;
  }
  const double inside = odd ? 2 / std::numbers::pi * (theta + s * sum) : s * sum;  // P(|T| <= t)
  return 0.5 + 0.5 * inside;
}

Interval95 around(double centre, double radius) { return {centre - radius, centre + radius}; }

Interval95 iqm_interval(const std::vector<double>& sorted, double iqm) {
  const auto n = static_cast<std::int64_t>(sorted.size()), cut = n / 4, kept = n - 2 * cut;
  if (kept < 2) return {kNone, kNone};
  const double *begin = sorted.data() + cut, *end = begin + kept;
  const double low = *begin, high = *(end - 1), g = static_cast<double>(cut);
  const double size = static_cast<double>(n);
  const double winsorized = (std::accumulate(begin, end, 0.0) + g * (low + high)) / size;
  const double squares = squares_about(winsorized, begin, end) +
                         g * ((low - winsorized) * (low - winsorized) + (high - winsorized) * (high - winsorized));
  const double deviation = std::sqrt(squares / (size - 1));
  const double part = static_cast<double>(kept) / size;
  return around(iqm, student_t_quantile(kUpper, kept - 1) * deviation / (part * std::sqrt(size)));
}

// The order statistics between which the median lies with at least 95 %: their ranks are quantiles of the binomial
// distribution of n fair coins, summed exactly for few values and by its normal limit for many.
Interval95 median_interval(const std::vector<double>& sorted) {
  const auto n = static_cast<std::int64_t>(sorted.size());
  if (n < 6) return {kNone, kNone};  // 2 * 0.5^5 > 5 %
  std::int64_t rank = 0;             // as many values at either end are left out
  if (n <= 1000) {
    double log_term = -static_cast<double>(n) * std::numbers::ln2, below = std::exp(log_term);
    while (below <= 1 - kUpper) {
      ++rank;
      log_term += std::log(static_cast<double>(n - rank + 1) / static_cast<double>(rank));
      below += std::exp(log_term);
    }
    --rank;
  } else {
    const double size = static_cast<double>(n);
    rank = static_cast<std::int64_t>(0.5 * size - 0.5 - normal_quantile(kUpper) * 0.5 * std::sqrt(size));
  }
  return {sorted[static_cast<std::size_t>(rank)], sorted[static_cast<std::size_t>(n - 1 - rank)]};
}

}  // namespace

double quantile(const std::vector<double>& sorted, double p) {
  if (sorted.empty()) return kNone;
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(at), sorted.size() - 1);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double interquartile_mean(const std::vector<double>& sorted) {
  const std::size_t cut = sorted.size() / 4;
  return mean_of(sorted.data() + cut, sorted.data() + sorted.size() - cut);
}

double student_t_quantile(double p, std::int64_t df) {
  const double z = normal_quantile(p);
  if (df > 200) {  // Abramowitz & Stegun 26.7.5, good to 1e-9 here
    const double v = static_cast<double>(df), z2 = z * z;
    const double g1 = z * (z2 + 1) / 4, g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
    const double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
    return z + g1 / v + g2 / (v * v) + g3 / (v * v * v);
  }
  double low = 0, high = 1e6;
  for (int i = 0; i < 200; ++i) {
    const double t = 0.5 * (low + high);
    (student_t_cdf(t, df) < p ? low : high) = t;
  }
  return low;
}

Summary summarize(std::vector<double> values) {
  Summary s;
  s.count = static_cast<std::int64_t>(values.size());
  s.mean_interval = s.median_interval = s.iqm_interval = {kNone, kNone};
  s.mean = s.std = s.median = s.iqm = s.min = s.max = kNone;
  if (values.empty()) return s;
  std::sort(values.begin(), values.end());
  const double size = static_cast<double>(values.size()), *begin = values.data(), *end = begin + values.size();
  s.mean = mean_of(begin, end);
  const double squares = squares_about(s.mean, begin, end);
  s.std = std::sqrt(squares / size);
  s.median = quantile(values, 0.5);
  s.iqm = interquartile_mean(values);
  s.min = values.front();
  s.max = values.back();
  s.median_interval = median_interval(values);
  s.iqm_interval = iqm_interval(values, s.iqm);
  if (s.count > 1)
    s.mean_interval = around(s.mean, student_t_quantile(kUpper, s.count - 1) * std::sqrt(squares / (size - 1) / size));
  return s;
}

}  // namespace hotloop
