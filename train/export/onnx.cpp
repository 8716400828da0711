// ONNX models by the format's own protobuf messages.
#include <cmath>
#include <limits>

#include "sim/core/version.h"
#include "train/export/formats.h"
#include "train/onnx.pb.h"

namespace hotloop {
namespace {

constexpr int kOpset = 17, kIrVersion = 8;

class OnnxBuilder {
 public:
  OnnxBuilder(onnx::GraphProto& out, const PolicyGraph& graph) : out_(out), graph_(graph) {}

  void constants() {
    for (const GraphConstant& c : graph_.constants)
      initializer(c.name, c.shape, onnx::TensorProto::FLOAT, c.values.data(), c.values.size() * sizeof(float));
  }
  void op(const GraphOp& op) {
    switch (op.kind) {
      case ExportOp::subtract:
        node("Sub", {op.input, op.a}, op.output);
        break;
      case ExportOp::multiply:
        node("Mul", {op.input, op.a}, op.output);
        break;
      case ExportOp::add:
        node("Add", {op.input, op.a}, op.output);
        break;
      case ExportOp::clamp:  // Clip takes the same bounds for all columns only
        node("Max", {op.input, op.a}, op.output + ".raised");
        node("Min", {op.output + ".raised", op.b}, op.output);
        break;
      case ExportOp::linear:
        integer(node("Gemm", {op.input, op.a, op.b}, op.output), "transB", 1);
        break;
      case ExportOp::activation:
        activation(op);
        break;
      case ExportOp::argmax:
        argmax(op);
        break;
    }
  }
  static void value_info(onnx::ValueInfoProto& info, const std::string& name, int type, std::int64_t columns) {
    info.set_name(name);
    onnx::TypeProto::Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape()->add_dim()->set_dim_param("batch");
    if (columns > 0) tensor.mutable_shape()->add_dim()->set_dim_value(columns);
  }

 private:
  onnx::NodeProto& node(const char* type, const std::vector<std::string>& inputs, const std::string& output) {
    onnx::NodeProto& node = *out_.add_node();
    node.set_op_type(type);
    node.set_name(output);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }
  static void integer(onnx::NodeProto& node, const char* name, std::int64_t value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_i(value);
    attribute.set_type(onnx::AttributeProto::INT);
  }
  std::string initializer(const std::string& name, const std::vector<std::int64_t>& shape,
                          onnx::TensorProto::DataType type, const void* data, std::size_t bytes) {
    onnx::TensorProto& tensor = *out_.add_initializer();
    for (const std::int64_t n : shape) tensor.add_dims(n);
    tensor.set_data_type(type);
    tensor.set_name(name);
    tensor.set_raw_data(data, bytes);
    return name;
  }
  void activation(const GraphOp& op) {
    if (op.activation == Activation::silu) {
      node("Sigmoid", {op.input}, op.output + ".gate");
      node("Mul", {op.input, op.output + ".gate"}, op.output);
      return;
    }
    const char* type = op.activation == Activation::tanh ? "Tanh" : op.activation == Activation::relu ? "Relu" : "Elu";
    node(type, {op.input}, op.output);  // Elu's alpha is 1 by default
  }
  void argmax_of(const std::string& logits, const std::string& action, bool keep) {
    onnx::NodeProto& best = node("ArgMax", {logits}, action);
    integer(best, "axis", 1);
    integer(best, "keepdims", keep ? 1 : 0);
  }
  void argmax(const GraphOp& op) {
    std::string logits = op.input;
    if (graph_.has_action_mask) {
      const float never = -std::numeric_limits<float>::infinity();
      initializer("illegal", {1}, onnx::TensorProto::FLOAT, &never, sizeof never);
      logits = "legal_logits";
      node("Where", {kActionMask, op.input, "illegal"}, logits);
    }
    const std::vector<std::int64_t>& nvec = graph_.action.nvec;
    if (graph_.action.kind == ActionSpace::Kind::discrete) return argmax_of(logits, op.output, false);
    initializer("choices", {graph_.action.dim()}, onnx::TensorProto::INT64, nvec.data(),
                nvec.size() * sizeof(std::int64_t));
    std::vector<std::string> parts;
    for (std::size_t c = 0; c < nvec.size(); ++c) parts.push_back("logits." + std::to_string(c));
    onnx::NodeProto& split = node("Split", {logits, "choices"}, parts[0]);
    for (std::size_t c = 1; c < nvec.size(); ++c) split.add_output(parts[c]);
    integer(split, "axis", 1);
    std::vector<std::string> actions;
    for (const std::string& part : parts) {
      actions.push_back(part + ".action");
      argmax_of(part, actions.back(), true);
    }
    integer(node("Concat", actions, op.output), "axis", 1);
  }

  onnx::GraphProto& out_;
  const PolicyGraph& graph_;
};

void describe_values(onnx::GraphProto& out, const PolicyGraph& graph) {
  const auto describe = &OnnxBuilder::value_info;
  const ActionSpace& a = graph.action;
  describe(*out.add_input(), kObservation, onnx::TensorProto::FLOAT, graph.obs_dim);
  if (graph.has_action_mask) describe(*out.add_input(), kActionMask, onnx::TensorProto::BOOL, a.num_choices());
  const std::int64_t columns = a.kind == ActionSpace::Kind::discrete ? 0 : a.dim();
  describe(*out.add_output(), kAction, a.is_box() ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT64, columns);
  if (graph.has(kLogits)) describe(*out.add_output(), kLogits, onnx::TensorProto::FLOAT, a.num_choices());
  if (graph.has(kValue)) describe(*out.add_output(), kValue, onnx::TensorProto::FLOAT, 1);
}

}  // namespace

std::string onnx_content(const PolicyGraph& graph, const OrderedJson& metadata) {
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("hotloop");
  model.set_producer_version(version());
  model.add_opset_import()->set_version(kOpset);
  onnx::GraphProto& out = *model.mutable_graph();
  out.set_name("policy");
  OnnxBuilder build(out, graph);
  build.constants();
  for (const GraphOp& op : graph.ops) build.op(op);
  describe_values(out, graph);
  for (const auto& [key, value] : metadata.items()) {
    onnx::StringStringEntryProto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(metadata_text(value));
  }
  return model.SerializeAsString();
}

}  // namespace hotloop
