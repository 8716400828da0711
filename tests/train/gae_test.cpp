// gae() and gather_truncated() against the definition written out: the advantage of a step is the sum over the rest of
// its segment of (gamma lambda)^k delta, in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/core/thread_pool.h"
#include "tests/train/device_data.h"
#include "train/rollout_ops.h"

namespace hotloop {
namespace {

struct Case {
  std::int64_t steps, envs;
  int limit;  // of an episode's steps: truncated there at the latest
  double gamma, lambda;
  bool scaled;
};

// A rollout with terminations and truncations anywhere, and the host's copy of it.
struct Rollout {
  std::vector<float> reward, value, last_value, final_observation;
  std::vector<std::uint8_t> terminated, truncated;

  Rollout(const Case& c, std::int64_t obs_dim, std::uint64_t seed) {
    const auto n = static_cast<std::size_t>(c.steps * c.envs);
    Rng rng(seed, RngStream::dynamics, 0, 0);
    for (std::size_t i = 0; i < n; ++i) {
      reward.push_back(3.0f * rng.normal());
      value.push_back(rng.normal());
    }
    for (std::int64_t w = 0; w < c.envs; ++w) last_value.push_back(rng.normal());
    terminated.assign(n, 0);
    truncated.assign(n, 0);
    for (std::int64_t w = 0; w < c.envs; ++w) {
      int elapsed = static_cast<int>(rng.uniform(0.0f, static_cast<float>(c.limit)));
      for (std::int64_t t = 0; t < c.steps; ++t) {
        const auto i = static_cast<std::size_t>(t * c.envs + w);
        truncated[i] = ++elapsed >= c.limit;
        terminated[i] = rng.uniform() < 0.15f;  // both at once happens too
        if (terminated[i] || truncated[i]) elapsed = 0;
      }
    }
    final_observation.resize(n * static_cast<std::size_t>(obs_dim));
    for (float& x : final_observation) x = rng.normal();
  }
};

// Any function of the observation serves as the critic.
float value_of(const float* observation, std::int64_t obs_dim) {
  float v = 0.25f;
  for (std::int64_t k = 0; k < obs_dim; ++k) v += static_cast<float>(k + 1) * observation[k];
  return v;
}

double delta(const Case& c, const Rollout& r, std::int64_t obs_dim, std::int64_t t, std::int64_t w, double scale,
             double clip) {
  const std::int64_t i = t * c.envs + w;
  const auto at = static_cast<std::size_t>(i);
  double reward = r.reward[at], next;
  if (c.scaled) reward = std::clamp(reward * scale, -clip, clip);
  if (r.terminated[at])
    next = 0;
  else if (r.truncated[at])
    next = value_of(&r.final_observation[static_cast<std::size_t>(i * obs_dim)], obs_dim);
  else
    next = t + 1 < c.steps ? r.value[at + static_cast<std::size_t>(c.envs)] : r.last_value[static_cast<std::size_t>(w)];
  return reward + c.gamma * next - r.value[at];
}

double advantage_by_definition(const Case& c, const Rollout& r, std::int64_t obs_dim, std::int64_t t, std::int64_t w,
                               double scale, double clip) {
  double sum = 0, weight = 1;
  for (std::int64_t s = t; s < c.steps; ++s) {
    sum += weight * delta(c, r, obs_dim, s, w, scale, clip);
    weight *= c.gamma * c.lambda;
    const auto at = static_cast<std::size_t>(s * c.envs + w);
    if (r.terminated[at] || r.truncated[at]) break;
  }
  return sum;
}

void check(const Case& c, Device device, std::uint64_t seed) {
  SCOPED_TRACE("T " + std::to_string(c.steps) + ", N " + std::to_string(c.envs) + ", limit " + std::to_string(c.limit));
  constexpr std::int64_t kObs = 3;
  constexpr float kScale = 0.6f, kClip = 1.5f;
  const Rollout r(c, kObs, seed);
  ThreadPool pool(2);
  const Exec exec{device, nullptr, &pool};
  const auto reward = upload(device, r.reward), value = upload(device, r.value), last = upload(device, r.last_value),
             final_observation = upload(device, r.final_observation),
             scale = upload(device, std::vector<float>{kScale});
  const auto terminated = upload(device, r.terminated), truncated = upload(device, r.truncated);
  const std::int64_t slots = bootstrap_slots(c.steps, c.limit);
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  Buffer<float> bootstrap_observation(device, size(slots * c.envs * kObs));
  Buffer<float> advantage(device, reward.size()), target(device, reward.size());
  RolloutView view;
  view.num_steps = c.steps;
  view.num_envs = c.envs;
  view.obs_dim = kObs;
  view.reward = reward.data();
  view.terminated = terminated.data();
  view.truncated = truncated.data();
  view.final_observation = final_observation.data();
  view.value = value.data();
  view.last_value = last.data();
  view.bootstrap_slots = slots;
  view.bootstrap_observation = bootstrap_observation.data();
  view.advantage = advantage.data();
  view.value_target = target.data();
  gather_truncated(exec, view);
  synchronize(exec);
  const std::vector<float> gathered = download(bootstrap_observation);
  std::vector<float> values;
  for (std::int64_t k = 0; k < slots * c.envs; ++k) values.push_back(value_of(&gathered[size(k * kObs)], kObs));
  const auto bootstrap_value = upload(device, values);
  view.bootstrap_value = bootstrap_value.data();
  gae(exec, view, c.gamma, c.lambda, c.scaled ? scale.data() : nullptr, kClip);
  synchronize(exec);
  const std::vector<float> a = download(advantage), v = download(target);
  for (std::int64_t t = 0; t < c.steps; ++t)
    for (std::int64_t w = 0; w < c.envs; ++w) {
      const std::size_t i = size(t * c.envs + w);
      const double expected = advantage_by_definition(c, r, kObs, t, w, kScale, kClip);
      ASSERT_NEAR(a[i], expected, 1e-5 * (10.0 + std::abs(expected))) << "step " << t << ", world " << w;
      ASSERT_FLOAT_EQ(v[i], a[i] + r.value[i]);
    }
}

const Case kCases[] = {
    {1, 1, 1, 0.99, 0.95, false},   {1, 1, 50, 0.99, 0.95, true}, {1, 7, 3, 0.9, 0.5, false},
    {33, 1, 4, 0.99, 0.95, true},   {32, 5, 1, 0.97, 0.9, false}, {40, 17, 6, 0.99, 0.95, false},
    {25, 9, 1000, 0.99, 1.0, true}, {31, 4, 10, 1.0, 0.0, false}, {64, 33, 9, 0.0, 0.95, true},
};

TEST(Gae, EqualsTheDefinition) {
  for (const Case& c : kCases)
    for (std::uint64_t seed = 1; seed <= 3; ++seed) check(c, {}, seed);
}

TEST(Gae, GpuEqualsTheDefinition) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  for (const Case& c : kCases) check(c, {Device::Kind::cuda, 0}, 1);
}

TEST(Gae, SlotsHoldTheMostTimeLimitsOfARollout) {
  for (std::int64_t steps = 1; steps < 20; ++steps)
    for (int limit = 1; limit < 25; ++limit) {
      std::int64_t most = 0;
      for (int elapsed = 0; elapsed < limit; ++elapsed) most = std::max<std::int64_t>(most, (elapsed + steps) / limit);
      EXPECT_EQ(bootstrap_slots(steps, limit), most) << steps << " steps, limit " << limit;
    }
}

// A target far from zero, so that cancellation would show.
TEST(Gae, VarianceTermsAreThoseOfTheDefinition) {
  constexpr std::int64_t kN = 10007;
  Rng rng(5, RngStream::dynamics, 0, 0);
  std::vector<float> value, target;
  double t = 0, tt = 0, e = 0, ee = 0;
  for (std::int64_t i = 0; i < kN; ++i) {
    target.push_back(100.0f + rng.normal());
    value.push_back(99.0f + rng.normal());
    const double y = target.back(), error = y - value.back();
    t += y, tt += y * y, e += error, ee += error * error;
  }
  ThreadPool pool(2);
  const Exec exec{{}, nullptr, &pool};
  Buffer<VarianceTerms> scratch({}, static_cast<std::size_t>(variance_scratch(kN))), out({}, 1);
  variance_terms(exec, kN, value.data(), target.data(), scratch.data(), out.data());
  EXPECT_NEAR(out.data()->target, t, 1e-9 * std::abs(t));
  EXPECT_NEAR(out.data()->target_squares, tt, 1e-9 * tt);
  EXPECT_NEAR(out.data()->error, e, 1e-9 * kN);
  EXPECT_NEAR(out.data()->error_squares, ee, 1e-9 * ee);
}

}  // namespace
}  // namespace hotloop
