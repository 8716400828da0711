#include "train/policy_net.h"

#include <algorithm>

#include "sim/core/launch.h"
#include "train/activation.h"
#include "train/fused/cpu_network.h"

namespace hotloop {
namespace {

struct TransposeOp {
  std::int64_t in, out;
  const float* from;  // [out, in]
  float* to;          // [in, out]
  SIM_HD void operator()(std::int64_t i) const { to[i] = from[i % out * in + i / out]; }
};

// One output of one row; adds its terms in the order of the inputs.
struct LinearOp {
  std::int64_t in, out;
  const float *x, *weights, *bias;
  Activation activation;
  float* y;
  SIM_HD void operator()(std::int64_t i) const {
    const std::int64_t row = i / out, col = i % out;
    float sum = 0;
    for (std::int64_t k = 0; k < in; ++k) sum += x[row * in + k] * weights[k * out + col];
    y[i] = activate(activation, sum + bias[col]);
  }
};

std::int64_t widest(const PolicySpec& policy) {
  std::int64_t width = std::max(policy.obs_dim, policy.head_dim());
  for (const auto* net : {&policy.trunk, &policy.actor})
    for (const LayerSpec& l : *net) width = std::max(width, l.out);
  return width;
}

}  // namespace

HeadArrays::HeadArrays(const PolicySpec& policy, Device device) {
  const ActionSpace& a = policy.action;
  std::vector<std::int32_t> nvec(a.nvec.begin(), a.nvec.end());
  nvec_ = Buffer<std::int32_t>(device, nvec.size());
  low_ = Buffer<float>(device, a.low.size());
  high_ = Buffer<float>(device, a.high.size());
  const Exec exec{device};
  copy_async(exec, nvec_.data(), device, nvec.data(), {}, nvec_.bytes());
  copy_async(exec, low_.data(), device, a.low.data(), {}, low_.bytes());
  copy_async(exec, high_.data(), device, a.high.data(), {}, high_.bytes());
  synchronize(exec);
  view_ = {policy.head,
           static_cast<int>(a.dim()),
           static_cast<int>(policy.head_dim()),
           policy.state_std,
           nvec_.data(),
           low_.data(),
           high_.data()};
}

PolicyNet::PolicyNet(const PolicySpec& policy, Device device, std::int64_t max_rows)
    : policy_(policy),
      device_(device),
      head_(policy, device),
      normalizer_(device, policy.obs_dim, policy.clip_observation) {
  std::int64_t total = 0;
  for (const auto* net : {&policy_.trunk, &policy_.actor})
    for (const LayerSpec& l : *net) {
      transposed_.push_back(total);
      total += l.in * l.out;
    }
  const auto rows = static_cast<std::size_t>(max_rows);
  weights_ = Buffer<float>(device, static_cast<std::size_t>(total));
  parameters_ = Buffer<float>(device, static_cast<std::size_t>(policy_.num_parameters));
  input_ = Buffer<float>(device, rows * static_cast<std::size_t>(policy_.obs_dim));
  for (Buffer<float>& h : hidden_) h = Buffer<float>(device, rows * static_cast<std::size_t>(widest(policy_)));
  if (device.is_cuda()) return;
  NetworkConfig network;
  network.policy = policy_;
  network.max_rows = max_rows;
  cpu_network_ = make_cpu_network(network, parameters_.data());
}

void PolicyNet::load(const Exec& exec, const float* parameters, const double* normalizer_state) {
  copy_async(exec, parameters_.data(), device_, parameters, device_, parameters_.bytes());
  if (cpu_network_)
    cpu_network_->parameters_changed(exec);
  else
    transpose(exec);
  if (normalizer_state == nullptr) return;
  copy_async(exec, normalizer_.state(), device_, normalizer_state, device_, normalizer_.state_size() * sizeof(double));
  normalizer_.refresh(exec);
}

void PolicyNet::transpose(const Exec& exec) {
  std::size_t index = 0;
  for (const auto* net : {&policy_.trunk, &policy_.actor})
    for (const LayerSpec& l : *net)
      parallel_for(exec, l.in * l.out,
                   TransposeOp{l.in, l.out, parameters_.data() + l.weight, weights_.data() + transposed_[index++]});
}

const float* PolicyNet::head_of(const Exec& exec, std::int64_t rows, const float* x) {
  if (cpu_network_) {
    cpu_network_->act(exec, rows, x, hidden_[0].data(), nullptr);
    return hidden_[0].data();
  }
  std::size_t index = 0;
  for (const auto* net : {&policy_.trunk, &policy_.actor})
    for (const LayerSpec& l : *net) {
      float* y = hidden_[index % 2].data();
      const float* weights = weights_.data() + transposed_[index++];
      parallel_for(exec, rows * l.out, LinearOp{l.in, l.out, x, weights, parameters_.data() + l.bias, l.activation, y});
      x = y;
    }
  return x;
}

void PolicyNet::act(const Exec& exec, std::int64_t rows, const float* observation, const std::uint8_t* mask,
                    bool deterministic, const DrawKey& key, void* action) {
  const float* x = observation;
  if (policy_.normalize_observation) {
    normalizer_.apply(exec, rows, observation, input_.data());
    x = input_.data();
  }
  SampleIo io;
  io.head = head_of(exec, rows, x);
  io.log_std = policy_.log_std >= 0 ? parameters_.data() + policy_.log_std : nullptr;
  io.mask = mask;
  io.action = action;
  sample_actions(exec, rows, head_.view(), key, deterministic, io);
}

}  // namespace hotloop
