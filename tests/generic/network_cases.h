// Networks of drawn shapes that divide nothing, and what passes through them: shared by the tests that hold a road's
// networks against those of the generic road in double.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "sim/core/thread_pool.h"
#include "tests/generic/golden_case.h"
#include "train/network.h"

namespace hotloop {

struct Case {
  PolicySpec policy;
  std::int64_t rows = 0, shards = 0;
  std::string text;
  // Small whole numbers everywhere, of which numbers of 16 bits and their sums lose nothing.
  bool integers = false;
};

// widest, layers: of hidden layers; layers 0: drawn. most_inputs: of observations.
inline Case draw_case(std::uint32_t seed, int widest = 90, int layers = 0, int most_inputs = 40) {
  std::mt19937 random(seed);
  const auto any = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const auto sizes = [&](int least) {
    std::vector<std::int64_t> list;
    for (int n = layers > 0 ? layers : any(least, 4); n > 0; --n)
      list.push_back(any(0, 4) == 0 ? 16 * any(1, 8) : any(1, widest));
    return list;
  };
  TrainConfig c;
  c.activation = std::vector<const char*>{"tanh", "relu", "elu", "silu"}[seed % 4];
  c.shared_network = any(0, 2) == 0;
  c.hidden_sizes = sizes(1);
  if (!c.shared_network) c.critic_hidden_sizes = sizes(0);
  c.action_distribution = any(0, 1) == 0 ? "gaussian" : "squashed_gaussian";
  c.std_type = any(0, 1) == 0 ? "global" : "state";
  EnvSpec env;
  env.observation.low.assign(static_cast<std::size_t>(any(1, most_inputs)), -1.0f);
  switch (any(0, 2)) {
    case 0:
      env.action = ActionSpace::discrete(any(2, 9));
      break;
    case 1:
      env.action = ActionSpace::multi_discrete({any(2, 4), any(2, 7)});
      break;
    default:
      const auto dim = static_cast<std::size_t>(any(1, 9));
      env.action = ActionSpace::box(std::vector<float>(dim, -1.0f), std::vector<float>(dim, 1.0f));
  }
  if (!env.action.is_box()) c.action_distribution = "gaussian";
  Case result;
  result.policy = make_policy_spec(c, env);
  result.shards = any(1, 3);
  result.rows = result.shards * any(1, 150);
  result.text = to_toml(c) + "rows " + std::to_string(result.rows) + ", shards " + std::to_string(result.shards) +
                ", observations " + std::to_string(result.policy.obs_dim) + ", outputs " +
                std::to_string(result.policy.head_dim());
  return result;
}

// n of size -1, 0, 1; zeros where a uniform number exceeds `often`.
template <class Real>
std::vector<Real> integers(std::size_t n, std::uint32_t seed, double size, double often) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform;
  std::vector<Real> x;
  for (std::size_t i = 0; i < n; ++i) {
    const double u = uniform(random);
    x.push_back(static_cast<Real>(u > often ? 0.0 : (2 * u > often ? size : -size)));
  }
  return x;
}

template <class Real>
std::vector<Real> numbers(std::size_t n, std::uint32_t seed, double size) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<Real> x;
  for (std::size_t i = 0; i < n; ++i) x.push_back(static_cast<Real>(static_cast<float>(size) * normal(random)));
  return x;
}

// Outputs and gradients of a network for a loss that is the sum of outputs times fixed numbers, and of the global log
// standard deviations times the row's number.
template <class Real>
struct Passes {
  // The fused road computes a row alike in any company; LibTorch's products do not.
  static constexpr double kSameHead = std::is_same_v<Real, float> ? 0.0 : 1e-12;
  std::vector<Real> head, value, gradient;

  Passes(Network<Real>& network, const Case& c, ThreadPool& pool) {
    const Exec exec{{}, nullptr, &pool};
    const auto rows = static_cast<std::size_t>(c.rows), dim = static_cast<std::size_t>(c.policy.head_dim());
    const auto draw = [&](std::size_t n, std::uint32_t seed, double size) {
      return c.integers ? integers<Real>(n, seed, size, 0.7) : numbers<Real>(n, seed, size);
    };
    const std::vector<Real> x = draw(rows * static_cast<std::size_t>(c.policy.obs_dim), 2, 1.0);
    const std::vector<Real> d_head = draw(rows * dim, 3, 1.0 / static_cast<double>(rows));
    const std::vector<Real> d_value = draw(rows, 4, 1.0 / static_cast<double>(rows));
    head.resize(rows * dim);
    value.resize(rows);
    network.act(exec, c.rows, x.data(), head.data(), value.data());
    const auto size = static_cast<std::size_t>(c.policy.num_parameters);
    std::vector<Real> sums(size * static_cast<std::size_t>(c.shards), Real(7));
    network.forward_backward(exec, x.data(), sums.data(), [&](const Exec&, const Part<Real>& part) {
      const auto n = static_cast<std::size_t>(part.end - part.begin), first = static_cast<std::size_t>(part.begin);
      for (std::size_t i = 0; i < n * dim; ++i) {
        EXPECT_NEAR(part.head[i], head[first * dim + i], kSameHead);
        part.d_head[i] = d_head[first * dim + i];
      }
      for (std::size_t r = 0; r < n; ++r) part.d_value[r] = d_value[first + r];
      if (part.d_log_std == nullptr) return;
      for (std::int64_t k = 0; k < c.policy.action.dim(); ++k) {
        part.d_log_std[k] = 0;
        for (std::size_t r = 0; r < n; ++r) part.d_log_std[k] += static_cast<Real>(first + r);
      }
    });
    gradient.assign(size, Real(0));
    for (std::size_t i = 0; i < sums.size(); ++i) gradient[i % size] += sums[i];
  }
};

inline NetworkConfig network_config(const Case& c) {
  NetworkConfig config;
  config.policy = c.policy;
  config.max_rows = c.rows;
  config.minibatch_rows = c.rows;
  config.num_shards = c.shards;
  return config;
}

template <class Real>
std::vector<Real> parameters_of(const Case& c) {
  const auto n = static_cast<std::size_t>(c.policy.num_parameters);
  if (!c.integers) return numbers<Real>(n, 1, 0.25);
  std::vector<Real> all(n);
  for (const ParameterSpec& p : c.policy.parameters) {
    // about two weights an output, so that numbers stay small from layer to layer
    const double often = p.shape.size() == 2 ? std::min(1.0, 2.0 / static_cast<double>(p.shape[1])) : 0.3;
    const std::vector<Real> own =
        integers<Real>(static_cast<std::size_t>(p.numel), static_cast<std::uint32_t>(p.offset), 1.0, often);
    std::copy(own.begin(), own.end(), all.begin() + p.offset);
  }
  return all;
}

inline Passes<double> exact(const Case& c) {
  ThreadPool pool(1);
  const std::vector<double> parameters = parameters_of<double>(c);
  const auto network = make_mlp_double(network_config(c), parameters.data());
  network->parameters_changed({});
  return Passes<double>(*network, c, pool);
}

// Relative errors of outputs and of every parameter's gradient.
inline void expect_close(const Case& c, const Passes<float>& ours, const Passes<double>& expected, double head,
                         double value, double gradient) {
  const auto compare = [](const std::vector<float>& a, const std::vector<double>& b, double tolerance,
                          const std::string& what) {
    double norm = 0;
    for (const double x : b) norm += std::abs(x);
    if (norm > 0) {
      EXPECT_LT(relative_error(a, b), tolerance) << what;
    } else {
      EXPECT_EQ(std::vector<double>(a.begin(), a.end()), b) << what;
    }
  };
  compare(ours.head, expected.head, head, "head");
  compare(ours.value, expected.value, value, "value");
  for (const ParameterSpec& p : c.policy.parameters) {
    const auto slice = [&p](const auto& all) {
      return std::decay_t<decltype(all)>(all.begin() + p.offset, all.begin() + p.offset + p.numel);
    };
    compare(slice(ours.gradient), slice(expected.gradient), gradient, p.name);
  }
}

}  // namespace hotloop
