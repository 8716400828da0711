#include "train/fused/network_layers.h"

#include <stdexcept>

namespace hotloop {
namespace {

NetworkLayer layer_of(const LayerSpec& l) {
  return {{static_cast<int>(l.in), static_cast<int>(l.out), l.weight, l.bias, static_cast<int>(l.out), 0, 0},
          l.activation};
}

}  // namespace

std::vector<NetworkLayers> network_layers(const PolicySpec& policy) {
  std::vector<NetworkLayers> nets;
  const auto add = [&](const std::vector<LayerSpec>& layers) {
    NetworkLayers& net = nets.emplace_back();
    for (const LayerSpec& l : layers) net.push_back(layer_of(l));
  };
  if (policy.trunk.empty()) {
    add(policy.actor);
    add(policy.critic);
    return nets;
  }
  if (policy.actor.size() != 1 || policy.critic.size() != 1)
    throw std::logic_error("network layers: layers between a trunk and its heads");
  add(policy.trunk);
  NetworkLayer head = layer_of(policy.actor[0]);
  const LayerSpec& critic = policy.critic[0];
  head.size.out += static_cast<int>(critic.out);
  head.size.second_weight = critic.weight, head.size.second_bias = critic.bias;
  nets[0].push_back(head);
  return nets;
}

}  // namespace hotloop
