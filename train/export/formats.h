// The formats of exported policies: each makes a whole file's content from the graph and what the policy says of
// itself.
#pragma once
#include <string>

#include "train/export/graph.h"
#include "train/export/metadata.h"

namespace hotloop {

// Opset 17. Inputs observation [batch, obs_dim] and, where the task has one, action_mask [batch, num_choices] (bool);
// outputs action ([batch, dim], of one choice [batch]), logits [batch, num_choices], value [batch, 1].
std::string onnx_content(const PolicyGraph& graph, const OrderedJson& metadata);

// One C99 file without dependencies. `name` is the function's, and begins those of all others.
std::string c_content(const PolicyGraph& graph, const OrderedJson& metadata, const std::string& name);

// The constants by name; the header's metadata hold the entries and, as `graph`, the list of operations.
void write_policy_safetensors(const std::filesystem::path& path, const PolicyGraph& graph, const OrderedJson& metadata);

// TorchScript is written where LibTorch is (GenericLibrary::torchscript).

}  // namespace hotloop
