#include "train/normalizer.h"

#include "sim/core/launch.h"
#include "sim/core/math.h"
#include "train/column_sum.h"
#include "train/running_moments.h"

namespace hotloop {
namespace {

struct ObservationTerm {
  const float* x;
  const double* state;
  std::int64_t dim, stride;
  SIM_HD Moments operator()(std::int64_t r, std::int64_t c) const {
    const double d = static_cast<double>(x[r * stride + c]) - origin(state[c], state[2 * dim], x[c]);
    return {d, d * d};
  }
};

struct MergeObservationOp {
  std::int64_t dim;
  double rows;
  const Moments* batch;
  const float* x;
  double* state;  // mean [dim], m2 [dim], count
  SIM_HD void operator()(std::int64_t c) const {
    merge(state[c], state[dim + c], state[2 * dim], rows, batch[c], x[c]);
  }
};

struct AddCountOp {
  double* count;
  double n;
  SIM_HD void operator()(std::int64_t) const { *count += n; }
};

struct RefreshObservationOp {
  std::int64_t dim;
  const double* state;
  float *mean, *scale;
  SIM_HD void operator()(std::int64_t c) const {
    const double count = state[2 * dim];
    mean[c] = count > 0 ? static_cast<float>(state[c]) : 0.0f;
    scale[c] = inverse_deviation(state[dim + c], count);
  }
};

struct NormalizeOp {
  const float* in;
  float* out;
  std::int64_t dim;
  ObservationNormalizer::View view;
  SIM_HD void operator()(std::int64_t i) const {
    const std::int64_t c = i % dim;
    out[i] = clamp((in[i] - view.mean[c]) * view.scale[c], -view.clip, view.clip);
  }
};

struct DiscountOp {
  std::int64_t num_envs, num_steps;
  float gamma;
  const float* reward;
  const std::uint8_t *terminated, *truncated;
  float *running, *discounted;
  SIM_HD void operator()(std::int64_t w) const {
    float r = running[w];
    for (std::int64_t t = 0; t < num_steps; ++t) {
      const std::int64_t i = t * num_envs + w;
      r = gamma * r + reward[i];
      discounted[i] = r;
      if (terminated[i] || truncated[i]) r = 0.0f;
    }
    running[w] = r;
  }
};

struct ReturnTerm {
  const float* x;
  const double* state;
  SIM_HD Moments operator()(std::int64_t i) const {
    const double d = static_cast<double>(x[i]) - origin(state[0], state[2], x[0]);
    return {d, d * d};
  }
};

struct MergeReturnOp {
  double n;
  const Moments* batch;
  const float* x;
  double* state;
  float* scale;
  SIM_HD void operator()(std::int64_t) const {
    if (n > 0) {
      merge(state[0], state[1], state[2], n, *batch, x[0]);
      state[2] += n;
    }
    *scale = inverse_deviation(state[1], state[2]);
  }
};

Moments* moments(const Buffer<double>& b) { return reinterpret_cast<Moments*>(b.data()); }

}  // namespace

ObservationNormalizer::ObservationNormalizer(Device device, std::int64_t dim, double clip)
    : dim_(dim),
      clip_(clip),
      state_(device, static_cast<std::size_t>(2 * dim + 1)),
      mean_(device, static_cast<std::size_t>(dim)),
      scale_(device, static_cast<std::size_t>(dim)) {
  const Exec exec{device};
  refresh(exec);
  synchronize(exec);
}

void ObservationNormalizer::reserve(std::int64_t rows) {
  scratch_ = Buffer<double>(state_.device(), static_cast<std::size_t>(2 * (column_sum_scratch(rows, dim_) + dim_)));
}

void ObservationNormalizer::refresh(const Exec& exec) {
  parallel_for(exec, dim_, RefreshObservationOp{dim_, state_.data(), mean_.data(), scale_.data()});
}

void ObservationNormalizer::apply(const Exec& exec, std::int64_t rows, const float* in, float* out) const {
  parallel_for(exec, rows * dim_, NormalizeOp{in, out, dim_, view()}, 256);
}

void ObservationNormalizer::update(const Exec& exec, std::int64_t rows, const float* in, std::int64_t stride) {
  Moments* batch = moments(scratch_);
  column_sum(exec, rows, dim_, ObservationTerm{in, state_.data(), dim_, stride > 0 ? stride : dim_}, batch + dim_,
             batch);
  const auto n = static_cast<double>(rows);
  parallel_for(exec, dim_, MergeObservationOp{dim_, n, batch, in, state_.data()});
  parallel_for(exec, 1, AddCountOp{state_.data() + 2 * dim_, n});
  refresh(exec);
}

RewardNormalizer::RewardNormalizer(Device device, std::int64_t num_envs, std::int64_t num_steps, double gamma)
    : num_envs_(num_envs),
      num_steps_(num_steps),
      gamma_(gamma),
      state_(device, 3),
      scale_(device, 1),
      running_(device, static_cast<std::size_t>(num_envs)),
      discounted_(device, static_cast<std::size_t>(num_envs * num_steps)),
      scratch_(device, static_cast<std::size_t>(2 * (tree_sum_scratch(num_envs * num_steps) + 1))) {
  const Exec exec{device};
  refresh(exec);
  synchronize(exec);
}

void RewardNormalizer::refresh(const Exec& exec) {
  parallel_for(exec, 1, MergeReturnOp{0.0, nullptr, nullptr, state_.data(), scale_.data()});
}

void RewardNormalizer::update(const Exec& exec, const float* reward, const std::uint8_t* terminated,
                              const std::uint8_t* truncated) {
  const std::int64_t n = num_envs_ * num_steps_;
  parallel_for(exec, num_envs_,
               DiscountOp{num_envs_, num_steps_, static_cast<float>(gamma_), reward, terminated, truncated,
                          running_.data(), discounted_.data()});
  Moments* batch = moments(scratch_);
  tree_sum(exec, n, ReturnTerm{discounted_.data(), state_.data()}, batch + 1, batch);
  parallel_for(exec, 1, MergeReturnOp{static_cast<double>(n), batch, discounted_.data(), state_.data(), scale_.data()});
}

}  // namespace hotloop
