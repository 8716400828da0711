// Statistics of samples: interquartile means, quantiles, and confidence intervals in closed form.
#pragma once
#include <cstdint>
#include <vector>

namespace hotloop {

struct Interval95 {
  double low = 0, high = 0;  // NaN: the sample says nothing about it
};

// The quantile p of sorted values, linear between neighbours (type 7 of Hyndman & Fan 1996, numpy's default).
double quantile(const std::vector<double>& sorted, double p);

// Mean of sorted values without the lowest and the highest quarter: floor(n / 4) from either end, as scipy's
// trim_mean(x, 0.25).
double interquartile_mean(const std::vector<double>& sorted);

// The quantile p in (0.5, 1) of Student's t distribution with df >= 1 degrees of freedom.
double student_t_quantile(double p, std::int64_t df);

// A sample in numbers. Intervals hold the population's value with 95 % confidence where the sample was drawn
// independently: of the mean by Student's t; of the interquartile mean by the t interval of a trimmed mean with its
// winsorised variance (Tukey & McLaughlin 1963; of a dozen values it holds it with 92 %); of the median by order
// statistics, without assumptions about the distribution. Of fewer than two (median: six) values there is none, of no
// values everything is NaN.
struct Summary {
  std::int64_t count = 0;
  double mean = 0, std = 0, median = 0, iqm = 0, min = 0, max = 0;  // std: of the population
  Interval95 mean_interval, median_interval, iqm_interval;
};
Summary summarize(std::vector<double> values);

}  // namespace hotloop
