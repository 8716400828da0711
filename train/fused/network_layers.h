// The layers of an actor-critic as the roads that pass both networks at once see them.
#pragma once
#include <vector>

#include "train/fused/layered_ops.h"
#include "train/policy_spec.h"

namespace hotloop {

struct NetworkLayer {
  LayerSizes size;
  Activation activation = Activation::none;
};
using NetworkLayers = std::vector<NetworkLayer>;  // the last one is the head

// Actor and critic, or the trunk with both heads as one layer.
std::vector<NetworkLayers> network_layers(const PolicySpec& policy);

}  // namespace hotloop
