// Exported policies as TorchScript: a module whose methods are compiled from source text.
#include <torch/csrc/jit/api/module.h>
#include <torch/torch.h>

#include <algorithm>
#include <sstream>

#include "sim/core/error.h"
#include "train/export/graph.h"
#include "train/generic/library.h"

namespace hotloop {
namespace {

// A constant as a member: self.actor_0_weight.
std::string attribute(const std::string& name) {
  std::string text = name;
  std::replace(text.begin(), text.end(), '.', '_');
  return text;
}

std::string expression(const GraphOp& op) {
  const std::string a = "self." + attribute(op.a), b = "self." + attribute(op.b);
  switch (op.kind) {
    case ExportOp::subtract:
      return "x - " + a;
    case ExportOp::multiply:
      return "x * " + a;
    case ExportOp::add:
      return "x + " + a;
    case ExportOp::clamp:
      return "torch.minimum(torch.maximum(x, " + a + "), " + b + ")";
    case ExportOp::linear:
      return "torch.linear(x, " + a + ", " + b + ")";
    default:
      return std::string("torch.") + activation_name(op.activation) + "(x)";
  }
}

// The lines that compute `output` from observations into x.
std::string body(const PolicyGraph& graph, const std::string& output) {
  std::string text = std::string("  x = ") + kObservation + "\n";
  for (const GraphOp* op : graph.chain(output))
    if (op->kind != ExportOp::argmax) text += "  x = " + expression(*op) + "\n";
  return text;
}

std::string choose(const PolicyGraph& graph) {
  const ActionSpace& action = graph.action;
  std::string text;
  if (graph.has_action_mask) text += std::string("  x = torch.where(") + kActionMask + " != 0, x, float('-inf'))\n";
  if (action.kind == ActionSpace::Kind::discrete) return text + "  return torch.argmax(x, 1)\n";
  std::string parts;
  std::int64_t first = 0;
  for (const std::int64_t n : action.nvec) {
    parts += (first > 0 ? ", " : "") + ("torch.argmax(x[:, " + std::to_string(first)) + ":" +
             std::to_string(first + n) + "], 1)";
    first += n;
  }
  return text + "  return torch.stack([" + parts + "], 1)\n";
}

std::string source(const PolicyGraph& graph) {
  std::string text = std::string("def forward(self, ") + kObservation;
  if (graph.has_action_mask) text += std::string(", ") + kActionMask;
  text += "):\n" + body(graph, kAction) + (graph.action.is_box() ? "  return x\n" : choose(graph));
  for (const char* output : {kLogits, kValue})
    if (graph.has(output))
      text += std::string("\ndef ") + output + "(self, " + kObservation + "):\n" + body(graph, output) + "  return x\n";
  return text;
}

}  // namespace

std::string torchscript_content(const PolicyGraph& graph, const std::string& metadata) {
  try {
    torch::jit::Module module("HotloopPolicy");
    for (const GraphConstant& c : graph.constants) {
      at::Tensor tensor = at::empty(c.shape, at::kFloat);
      std::copy(c.values.begin(), c.values.end(), tensor.data_ptr<float>());
      module.register_parameter(attribute(c.name), tensor, true);
    }
    module.define(source(graph));
    std::ostringstream out;
    module.save(out, {{"metadata.json", metadata}});
    return out.str();
  } catch (const c10::Error& e) {
    throw Error(std::string("LibTorch cannot write the policy: ") + e.what_without_backtrace());
  }
}

}  // namespace hotloop
