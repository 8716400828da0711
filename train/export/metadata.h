// What an exported policy says of itself: the same entries in every format and in the JSON file beside it.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "sim/core/registry.h"
#include "train/checkpoint.h"
#include "train/export/graph.h"

namespace hotloop {

using OrderedJson = nlohmann::ordered_json;

// `trained_with`: the version of hotloop that wrote the checkpoint.
OrderedJson export_metadata(const CheckpointInfo& info, const std::string& trained_with, const EnvEntry& env,
                            const EnvSpec& spec, const PolicySpec& policy, const PolicyGraph& graph);

// An entry for formats whose metadata are texts: strings as they are, everything else as JSON.
std::string metadata_text(const OrderedJson& value);

// The list of operations: kind, input, output, constants by name, activation.
OrderedJson graph_json(const PolicyGraph& graph);

}  // namespace hotloop
