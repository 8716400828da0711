#include "train/export/formats.h"

namespace hotloop {

void write_policy_safetensors(const std::filesystem::path& path, const PolicyGraph& graph,
                              const OrderedJson& metadata) {
  std::vector<NamedTensor> tensors;
  for (const GraphConstant& c : graph.constants)
    tensors.push_back({c.name, DType::f32, c.shape, std::as_bytes(std::span(c.values))});
  Metadata entries;
  for (const auto& [key, value] : metadata.items()) entries[key] = metadata_text(value);
  entries["graph"] = graph_json(graph).dump();
  write_safetensors(path, tensors, entries);
}

}  // namespace hotloop
