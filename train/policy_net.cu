#include "train/policy_net.h"

#include <algorithm>

#include "sim/core/launch.h"
#include "train/activation.h"

namespace hotloop {
namespace {

constexpr std::int64_t kTile = 16;  // outputs that one CPU step computes together; widths are padded to it

std::int64_t padded(std::int64_t width) { return (width + kTile - 1) / kTile * kTile; }

struct TransposeOp {
  std::int64_t in, out, stride;
  const float* from;  // [out, in]
  float* to;          // [in, stride]
  SIM_HD void operator()(std::int64_t i) const {
    const std::int64_t row = i / stride, col = i % stride;
    to[i] = col < out ? from[col * in + row] : 0.0f;
  }
};

// One output tile of one row. Every output adds its terms in the order of the inputs, whatever the tile.
template <std::int64_t Tile>
struct LinearOp {
  std::int64_t in, out, stride, tiles;
  const float *x, *weights, *bias;
  Activation activation;
  float* y;
  SIM_HD void operator()(std::int64_t i) const {
    const std::int64_t row = i / tiles, first = i % tiles * Tile;
    float sum[Tile] = {};
    const float* xr = x + row * in;
    for (std::int64_t k = 0; k < in; ++k) {
      const float* w = weights + k * stride + first;
      for (std::int64_t j = 0; j < Tile; ++j) sum[j] += xr[k] * w[j];
    }
    for (std::int64_t j = 0; j < Tile && first + j < out; ++j)
      y[row * out + first + j] = activate(activation, sum[j] + bias[first + j]);
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
      total += l.in * padded(l.out);
    }
  const auto rows = static_cast<std::size_t>(max_rows);
  weights_ = Buffer<float>(device, static_cast<std::size_t>(total));
  parameters_ = Buffer<float>(device, static_cast<std::size_t>(policy_.num_parameters));
  input_ = Buffer<float>(device, rows * static_cast<std::size_t>(policy_.obs_dim));
  for (Buffer<float>& h : hidden_) h = Buffer<float>(device, rows * static_cast<std::size_t>(widest(policy_)));
}

void PolicyNet::load(const Exec& exec, const float* parameters, const double* normalizer_state) {
  copy_async(exec, parameters_.data(), device_, parameters, device_, parameters_.bytes());
  std::size_t index = 0;
  for (const auto* net : {&policy_.trunk, &policy_.actor})
    for (const LayerSpec& l : *net) {
      const TransposeOp op{l.in, l.out, padded(l.out), parameters_.data() + l.weight,
                           weights_.data() + transposed_[index++]};
      parallel_for(exec, l.in * padded(l.out), op);
    }
  if (normalizer_state == nullptr) return;
  copy_async(exec, normalizer_.state(), device_, normalizer_state, device_, normalizer_.state_size() * sizeof(double));
  normalizer_.refresh(exec);
}

void PolicyNet::act(const Exec& exec, std::int64_t rows, const float* observation, const std::uint8_t* mask,
                    bool deterministic, const DrawKey& key, void* action) {
  const float* x = observation;
  if (policy_.normalize_observation) {
    normalizer_.apply(exec, rows, observation, input_.data());
    x = input_.data();
  }
  std::size_t index = 0;
  for (const auto* net : {&policy_.trunk, &policy_.actor})
    for (const LayerSpec& l : *net) {
      float* y = hidden_[index % 2].data();
      const float* weights = weights_.data() + transposed_[index++];
      const float* bias = parameters_.data() + l.bias;
      const std::int64_t stride = padded(l.out);
      if (exec.device.is_cuda())
        parallel_for(exec, rows * l.out, LinearOp<1>{l.in, l.out, stride, l.out, x, weights, bias, l.activation, y});
      else
        parallel_for(exec, rows * (stride / kTile),
                     LinearOp<kTile>{l.in, l.out, stride, stride / kTile, x, weights, bias, l.activation, y});
      x = y;
    }
  SampleIo io;
  io.head = x;
  io.log_std = policy_.log_std >= 0 ? parameters_.data() + policy_.log_std : nullptr;
  io.mask = mask;
  io.action = action;
  sample_actions(exec, rows, head_.view(), key, deterministic, io);
}

}  // namespace hotloop
