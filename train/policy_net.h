// The deterministic or sampling policy without LibTorch: what play, evaluation, recording and the viewer run. Reads the
// same flat parameters as training. On the CPU the fused road's network acts; on the GPU weights are kept transposed so
// that neighbouring outputs are neighbouring addresses.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/device.h"
#include "train/distribution.h"
#include "train/network.h"
#include "train/normalizer.h"
#include "train/policy_spec.h"
#include "train/rollout_ops.h"

namespace hotloop {

// The head's description with its arrays on the device.
class HeadArrays {
 public:
  HeadArrays(const PolicySpec& policy, Device device);
  const HeadView& view() const { return view_; }

 private:
  HeadView view_;
  Buffer<std::int32_t> nvec_;
  Buffer<float> low_, high_;
};

class PolicyNet {
 public:
  PolicyNet(const PolicySpec& policy, Device device, std::int64_t max_rows);

  // Takes over parameters [num_parameters] and, if the policy normalises observations, the normaliser's state
  // [2 * obs_dim + 1]; both on this net's device, ordered on exec.
  void load(const Exec& exec, const float* parameters, const double* normalizer_state);

  // Actions for rows [0, rows): as sample_actions writes them. mask may be null.
  void act(const Exec& exec, std::int64_t rows, const float* observation, const std::uint8_t* mask, bool deterministic,
           const DrawKey& key, void* action);

  const PolicySpec& policy() const { return policy_; }
  Device device() const { return device_; }

 private:
  void transpose(const Exec& exec);
  // The actor's output; x [rows, obs_dim].
  const float* head_of(const Exec& exec, std::int64_t rows, const float* x);

  PolicySpec policy_;
  Device device_;
  HeadArrays head_;
  ObservationNormalizer normalizer_;
  std::unique_ptr<Network<float>> cpu_network_;  // null on the GPU
  std::vector<std::int64_t> transposed_;         // offset of each layer's weights in weights_
  Buffer<float> weights_, parameters_, input_, hidden_[2];
};

}  // namespace hotloop
