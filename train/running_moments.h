// Running mean and variance in double, merged batch by batch (Chan, Golub, LeVeque 1979). For normalizer.cu and kernels
// compiled at run time.
#pragma once
#include "sim/core/hd.h"
#include "sim/core/math.h"

namespace hotloop {

// Sums over a batch of what values differ from origin().
struct Moments {
  double sum = 0, squares = 0;
};
SIM_HD Moments operator+(const Moments& a, const Moments& b) { return {a.sum + b.sum, a.squares + b.squares}; }

// What deviations are taken from: the mean so far, or a first value where there is none yet. Small numbers, so that the
// one-pass variance does not cancel.
SIM_HD double origin(double mean, double count, float first) { return count > 0 ? mean : static_cast<double>(first); }

// Merges n values, the first of which is `first`, with the given moments about origin() into (mean, m2, count).
SIM_HD void merge(double& mean, double& m2, double count, double n, const Moments& batch, float first) {
  mean = origin(mean, count, first);
  const double delta = batch.sum / n;  // mean of the batch minus the old mean
  const double batch_m2 = batch.squares - batch.sum * delta;
  const double total = count + n;
  mean += delta * n / total;
  m2 += (batch_m2 > 0 ? batch_m2 : 0) + delta * delta * count * n / total;
}

// 1 / deviation of `count` values with the sum of squared deviations m2; 1 of none.
SIM_HD float inverse_deviation(double m2, double count) {
  return count > 0 ? static_cast<float>(1.0 / sqrt(m2 / count + 1e-8)) : 1.0f;
}

}  // namespace hotloop
