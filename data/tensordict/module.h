// A module's parameters as a TensorDict, and back. A name "actor.0.weight" is the key "actor/0/weight", as in Python's
// TensorDict.from_module; the batch size is empty and the leaves are the parameters themselves, not copies.
//
//   TensorDict online = from_parameters({{"actor.0.weight", weight}, {"actor.0.bias", bias}});
//   TensorDict frozen = online.clone().detach();
//   to_parameters(frozen, {{"actor.0.weight", weight}, {"actor.0.bias", bias}});
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "data/tensordict/tensordict.h"

namespace hotloop {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

TensorDict from_parameters(const NamedTensors& parameters);

// Writes values into the parameters in place, without gradients. The names must be the same, else Error.
void to_parameters(const TensorDict& values, const NamedTensors& parameters);

}  // namespace hotloop
