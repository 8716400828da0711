// The networks of the LibTorch road and the torch-free PolicyNet against a plain network in double.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sim/core/thread_pool.h"
#include "tests/train/device_data.h"
#include "train/activation.h"
#include "train/generic/library.h"
#include "train/policy_net.h"

namespace hotloop {
namespace {

struct NetCase {
  const char* activation;
  bool shared;
  std::vector<std::int64_t> hidden, critic_hidden;
  ActionSpace action;
  const char* distribution;
  const char* std_type;
};

std::vector<NetCase> cases() {
  const ActionSpace box = ActionSpace::box({-1.0f, -2.0f, 0.0f}, {1.0f, 2.0f, 5.0f});
  return {{"tanh", false, {16, 16}, {}, ActionSpace::discrete(3), "gaussian", "global"},
          {"relu", true, {17, 33}, {}, ActionSpace::multi_discrete({2, 5}), "gaussian", "global"},
          {"elu", false, {40}, {9, 7, 5}, box, "gaussian", "global"},
          {"silu", true, {16, 8}, {}, box, "squashed_gaussian", "state"},
          {"silu", false, {8, 8, 8}, {4}, box, "gaussian", "state"}};
}

constexpr std::int64_t kObs = 6;

PolicySpec policy_of(const NetCase& n) {
  TrainConfig c;
  c.activation = n.activation;
  c.shared_network = n.shared;
  c.hidden_sizes = n.hidden;
  c.critic_hidden_sizes = n.critic_hidden;
  c.action_distribution = n.distribution;
  c.std_type = n.std_type;
  EnvSpec env;
  env.observation.low.assign(kObs, -1.0f);
  env.action = n.action;
  return make_policy_spec(c, env);
}

std::vector<float> random_numbers(std::int64_t n, std::uint64_t seed, float size) {
  Rng rng(seed, RngStream::init, 0, 0);
  std::vector<float> x;
  for (std::int64_t i = 0; i < n; ++i) x.push_back(size * rng.normal());
  return x;
}

// Layers one after another, by the definition.
std::vector<double> run(const std::vector<LayerSpec>& net, const std::vector<float>& p, std::vector<double> x) {
  for (const LayerSpec& l : net) {
    std::vector<double> y;
    for (std::int64_t o = 0; o < l.out; ++o) {
      double sum = p[static_cast<std::size_t>(l.bias + o)];
      for (std::int64_t i = 0; i < l.in; ++i)
        sum +=
            static_cast<double>(p[static_cast<std::size_t>(l.weight + o * l.in + i)]) * x[static_cast<std::size_t>(i)];
      y.push_back(activate(l.activation, sum));
    }
    x = y;
  }
  return x;
}

struct Outputs {
  std::vector<double> head, value;  // [rows, head_dim], [rows]
};

Outputs expected_outputs(const PolicySpec& policy, const std::vector<float>& p, const std::vector<float>& observation) {
  Outputs out;
  for (std::size_t r = 0; r < observation.size(); r += kObs) {
    const std::vector<double> row(observation.begin() + static_cast<std::ptrdiff_t>(r),
                                  observation.begin() + static_cast<std::ptrdiff_t>(r + kObs));
    const std::vector<double> hidden = run(policy.trunk, p, row), head = run(policy.actor, p, hidden);
    out.head.insert(out.head.end(), head.begin(), head.end());
    out.value.push_back(run(policy.critic, p, hidden)[0]);
  }
  return out;
}

template <class Real>
void expect_near(const std::vector<Real>& ours, const double* expected, double tolerance) {
  for (std::size_t i = 0; i < ours.size(); ++i)
    ASSERT_NEAR(ours[i], expected[i], tolerance * (1.0 + std::abs(expected[i]))) << "element " << i;
}

template <class Real>
void check_network(const NetCase& n, Device device, Precision precision, double tolerance) {
  SCOPED_TRACE(std::string(n.activation) + (n.shared ? ", shared" : ", separate"));
  const PolicySpec policy = policy_of(n);
  constexpr std::int64_t kRows = 37;
  const std::vector<float> parameters = random_numbers(policy.num_parameters, 1, 0.3f);
  const std::vector<float> observation = random_numbers(kRows * kObs, 2, 1.0f);
  const Outputs expected = expected_outputs(policy, parameters, observation);
  const Buffer<Real> p = upload(device, std::vector<Real>(parameters.begin(), parameters.end()));
  const Buffer<Real> x = upload(device, std::vector<Real>(observation.begin(), observation.end()));
  ThreadPool pool(3);
  const StreamHandle stream(device);
  const Exec exec{device, stream.get(), &pool};
  for (const std::int64_t shards : {1, 3, 8}) {
    NetworkConfig config;
    config.policy = policy;
    config.device = device;
    config.precision = precision;
    config.max_rows = kRows;
    config.num_shards = shards;
    hotloop_generic_library()->configure(device, precision);
    std::unique_ptr<Network<Real>> network;
    if constexpr (std::is_same_v<Real, double>)
      network = make_mlp_double(config, p.data());
    else
      network = make_mlp(config, p.data());
    network->parameters_changed(exec);
    for (const std::int64_t rows : {kRows, std::int64_t{5}, std::int64_t{1}}) {
      const Buffer<Real> head(device, static_cast<std::size_t>(rows * policy.head_dim()));
      const Buffer<Real> value(device, static_cast<std::size_t>(rows)), critic(device, value.size());
      network->act(exec, rows, x.data(), head.data(), value.data());
      network->evaluate(exec, rows, x.data(), critic.data());
      synchronize(exec);
      expect_near(download(head), expected.head.data(), tolerance);
      expect_near(download(value), expected.value.data(), tolerance);
      EXPECT_EQ(download(critic), download(value));
    }
  }
}

TEST(MlpNetwork, EqualsAPlainNetwork) {
  for (const NetCase& n : cases()) {
    check_network<double>(n, {}, Precision::fp32, 1e-13);
    check_network<float>(n, {}, Precision::fp32, 3e-6);
    check_network<float>(n, {}, Precision::bf16, 4e-2);
  }
}

TEST(MlpNetwork, GpuEqualsAPlainNetwork) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const Device card{Device::Kind::cuda, 0};
  for (const NetCase& n : cases()) {
    check_network<double>(n, card, Precision::fp32, 1e-13);
    check_network<float>(n, card, Precision::fp32, 3e-6);
    check_network<float>(n, card, Precision::tf32, 1e-2);
    check_network<float>(n, card, Precision::bf16, 4e-2);
  }
}

// The action that the head's outputs mean, without exploration.
std::vector<double> mode(const PolicySpec& policy, const double* head) {
  std::vector<double> action;
  if (policy.action.is_box()) {
    for (std::size_t k = 0; k < policy.action.low.size(); ++k) {
      const double low = policy.action.low[k], high = policy.action.high[k];
      action.push_back(policy.head == HeadKind::gaussian ? clamp(head[k], low, high)
                                                         : low + 0.5 * (high - low) * (std::tanh(head[k]) + 1.0));
    }
    return action;
  }
  for (const std::int64_t n : policy.action.nvec) {
    action.push_back(static_cast<double>(std::max_element(head, head + n) - head));
    head += n;
  }
  return action;
}

void check_policy_net(const NetCase& n, Device device) {
  SCOPED_TRACE(std::string(n.activation) + (n.shared ? ", shared" : ", separate"));
  PolicySpec policy = policy_of(n);
  policy.normalize_observation = true;
  policy.clip_observation = 1.2;
  constexpr std::int64_t kRows = 33;
  const std::vector<float> parameters = random_numbers(policy.num_parameters, 1, 0.4f);
  const std::vector<float> observation = random_numbers(kRows * kObs, 2, 2.0f);
  std::vector<double> state(2 * kObs + 1, 0.5);  // mean 0.5, variance 0.5 / 0.125 = 4
  state[2 * kObs] = 0.125;
  std::vector<float> normalised;
  for (const float x : observation) normalised.push_back(clamp((x - 0.5f) / 2.0f, -1.2f, 1.2f));
  const Outputs expected = expected_outputs(policy, parameters, normalised);
  ThreadPool pool(2);
  const StreamHandle stream(device);
  const Exec exec{device, stream.get(), &pool};
  PolicyNet net(policy, device, kRows);
  const Buffer<float> p = upload(device, parameters), x = upload(device, observation);
  const Buffer<double> s = upload(device, state);
  net.load(exec, p.data(), s.data());
  const auto size = static_cast<std::size_t>(kRows * policy.action.dim());
  const Buffer<std::int64_t> choice(device, size);
  const Buffer<float> box(device, size);
  void* action = policy.action.is_box() ? static_cast<void*>(box.data()) : choice.data();
  net.act(exec, kRows, x.data(), nullptr, true, {}, action);
  synchronize(exec);
  const std::vector<std::int64_t> choices = download(choice);
  const std::vector<float> numbers = download(box);
  std::size_t i = 0;
  for (std::int64_t r = 0; r < kRows; ++r)
    for (const double a : mode(policy, &expected.head[static_cast<std::size_t>(r * policy.head_dim())])) {
      EXPECT_NEAR(policy.action.is_box() ? numbers[i] : static_cast<double>(choices[i]), a, 1e-5) << "row " << r;
      ++i;
    }
}

TEST(PolicyNet, ActsAsTheNetworkMeans) {
  for (const NetCase& n : cases()) check_policy_net(n, {});
}

TEST(PolicyNet, GpuActsAsTheNetworkMeans) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  for (const NetCase& n : cases()) check_policy_net(n, {Device::Kind::cuda, 0});
}

}  // namespace
}  // namespace hotloop
