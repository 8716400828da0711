// The actor-critic of PolicySpec in single precision on the CPU, without LibTorch: chunks of rows pass through all
// layers, the loss and back while they are in a core's cache. Threads share shards (forward_backward) or rows (act);
// their number does not reach the bits.
#pragma once
#include <memory>

#include "train/network.h"

namespace hotloop {

// config: on the CPU, fp32; minibatch_rows 0: not for forward_backward. act takes a null value too: the actor alone.
std::unique_ptr<Network<float>> make_cpu_network(const NetworkConfig& config, const float* parameters);

}  // namespace hotloop
