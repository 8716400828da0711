// Running mean and variance of observations and of discounted returns, in double, merged batch by batch (Chan, Golub,
// LeVeque 1979). They change once an iteration, after the update, so that a rollout and its update see the same
// statistics. Part of the policy: saved, resumed, frozen in evaluation.
#pragma once
#include <cstdint>

#include "sim/core/device.h"

namespace hotloop {

class ObservationNormalizer {
 public:
  ObservationNormalizer(Device device, std::int64_t dim, double clip);

  // out = clamp((in - mean) / sqrt(var + 1e-8), +-clip), rows of dim; only the clamp before the first
  // update.
  void apply(const Exec& exec, std::int64_t rows, const float* in, float* out) const;
  // Merges `rows` rows, `stride` numbers apart (0: dim); scratch-free, capturable.
  void update(const Exec& exec, std::int64_t rows, const float* in, std::int64_t stride = 0);

  // [2 * dim + 1] doubles on the device: mean, sum of squared deviations, count: the whole state.
  double* state() const { return state_.data(); }
  std::size_t state_size() const { return state_.size(); }
  // After state() was overwritten from outside.
  void refresh(const Exec& exec);

  struct View {
    const float *mean = nullptr, *scale = nullptr;  // [dim]; null mean: identity
    float clip = 0;
  };
  View view() const { return {mean_.data(), scale_.data(), static_cast<float>(clip_)}; }
  void reserve(std::int64_t rows);  // sizes scratch for update()

 private:
  std::int64_t dim_;
  double clip_;
  Buffer<double> state_;
  Buffer<float> mean_, scale_;
  Buffer<double> scratch_;
};

// Rewards divided by the deviation of the discounted return, as Gymnasium's NormalizeReward.
class RewardNormalizer {
 public:
  RewardNormalizer(Device device, std::int64_t num_envs, std::int64_t num_steps, double gamma);

  // Walks the rollout's rewards world by world and merges the discounted returns [num_steps, num_envs].
  void update(const Exec& exec, const float* reward, const std::uint8_t* terminated, const std::uint8_t* truncated);
  // Device pointer to 1 / deviation; 1 before the first update.
  const float* scale() const { return scale_.data(); }

  double* state() const { return state_.data(); }  // mean, sum of squared deviations, count
  std::size_t state_size() const { return state_.size(); }
  float* running() const { return running_.data(); }  // [num_envs] discounted return under way
  std::size_t running_size() const { return running_.size(); }
  void refresh(const Exec& exec);

 private:
  std::int64_t num_envs_, num_steps_;
  double gamma_;
  Buffer<double> state_;
  Buffer<float> scale_, running_, discounted_;
  Buffer<double> scratch_;
};

}  // namespace hotloop
