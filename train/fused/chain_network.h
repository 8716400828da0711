// The actor-critic of PolicySpec in numbers of 16 bits on a card of compute capability 9.0, without LibTorch: all
// layers of a tile of rows in one kernel, for networks that such a kernel has room for.
#pragma once
#include <memory>

#include "train/fused/chain_ops.h"
#include "train/network.h"

namespace hotloop {

bool chain_takes(const PolicySpec& policy, Device device);
// As make_layered_network, of a policy that chain_takes.
std::unique_ptr<Network<float>> make_chain_network(const NetworkConfig& config, Number16 number,
                                                   const float* parameters);

}  // namespace hotloop
