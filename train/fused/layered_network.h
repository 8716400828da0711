// The actor-critic of PolicySpec in numbers of 16 bits on a GPU, without LibTorch, for networks of any width: one
// kernel a layer, of both networks at once. Parameters, sums, losses and gradients of parameters are fp32.
#pragma once
#include <memory>

#include "train/fused/layered_ops.h"
#include "train/network.h"

namespace hotloop {

// config: on a CUDA device; its precision is not looked at. minibatch_rows 0: not for forward_backward. act takes a
// null value too: the actor alone.
std::unique_ptr<Network<float>> make_layered_network(const NetworkConfig& config, Number16 number,
                                                     const float* parameters);

}  // namespace hotloop
