#include "train/export/graph.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "sim/core/error.h"
#include "train/normalizer.h"

namespace hotloop {
namespace {

class GraphBuilder {
 public:
  GraphBuilder(const PolicySpec& policy, const std::vector<float>& parameters) : parameters_(parameters) {
    graph_.obs_dim = policy.obs_dim;
    graph_.action = policy.action;
    graph_.has_action_mask = policy.has_action_mask && !policy.action.is_box();
  }
  PolicyGraph take() {
    std::vector<std::string> outputs;  // in the order in which they are offered
    for (const char* name : {kAction, kLogits, kValue})
      if (graph_.has(name)) outputs.push_back(name);
    graph_.outputs = outputs;
    return std::move(graph_);
  }

  // A constant; a single number where all are the same and the operation spreads it.
  std::string constant(const std::string& name, std::vector<std::int64_t> shape, std::vector<float> values) {
    graph_.constants.push_back({name, std::move(shape), std::move(values)});
    return name;
  }
  std::string spread(const std::string& name, std::vector<float> values) {
    if (std::equal(values.begin() + 1, values.end(), values.begin())) values.resize(1);
    const auto n = static_cast<std::int64_t>(values.size());
    return constant(name, {n}, std::move(values));
  }
  // Appends an operation on `input`; returns its output.
  std::string op(ExportOp kind, const std::string& input, const std::string& output, std::int64_t dim,
                 const std::string& a = "", const std::string& b = "") {
    graph_.ops.push_back({kind, input, output, dim, a, b});
    return output;
  }
  std::string activation(const std::string& input, const std::string& output, std::int64_t dim, Activation kind) {
    op(ExportOp::activation, input, output, dim);
    graph_.ops.back().activation = kind;
    return output;
  }
  // One layer; only its first `rows` outputs.
  std::string layer(const LayerSpec& l, const std::string& input, std::int64_t rows) {
    const std::string weight = constant(l.name + ".weight", {rows, l.in}, parameters(l.weight, rows * l.in));
    const std::string bias = constant(l.name + ".bias", {rows}, parameters(l.bias, rows));
    const std::string sum = op(ExportOp::linear, input, l.name, rows, weight, bias);
    if (l.activation == Activation::none) return sum;
    return activation(sum, l.name + "." + activation_name(l.activation), rows, l.activation);
  }
  std::string network(const std::vector<LayerSpec>& layers, std::string value, std::int64_t last_rows) {
    for (const LayerSpec& l : layers) value = layer(l, value, &l == &layers.back() ? last_rows : l.out);
    return value;
  }
  // Gives the last operation's output the name of an output of the policy.
  void output(const std::string& name) {
    graph_.ops.back().output = name;
    graph_.outputs.push_back(name);
  }

 private:
  std::vector<float> parameters(std::int64_t offset, std::int64_t count) const {
    const auto first = parameters_.begin() + static_cast<std::ptrdiff_t>(offset);
    return {first, first + static_cast<std::ptrdiff_t>(count)};
  }

  const std::vector<float>& parameters_;
  PolicyGraph graph_;
};

// As ObservationNormalizer::apply, with its own numbers.
std::string normalize(GraphBuilder& build, const PolicySpec& policy, const std::vector<double>& state) {
  ObservationNormalizer normalizer(Device{}, policy.obs_dim, policy.clip_observation);
  std::copy(state.begin(), state.end(), normalizer.state());
  normalizer.refresh(Exec{});
  const ObservationNormalizer::View view = normalizer.view();
  const std::int64_t n = policy.obs_dim;
  const std::string mean = build.constant("observation_mean", {n}, {view.mean, view.mean + n});
  const std::string scale = build.constant("observation_scale", {n}, {view.scale, view.scale + n});
  const std::string low = build.constant("observation_low", {1}, {-view.clip});
  const std::string high = build.constant("observation_high", {1}, {view.clip});
  std::string x = build.op(ExportOp::subtract, kObservation, "centred", n, mean);
  x = build.op(ExportOp::multiply, x, "scaled", n, scale);
  return build.op(ExportOp::clamp, x, "normalized", n, low, high);
}

// From means to actions within the bounds, as draw_gaussian does without noise.
void bound_actions(GraphBuilder& build, const PolicySpec& policy, const std::string& mean) {
  const ActionSpace& a = policy.action;
  const std::int64_t dim = a.dim();
  const auto infinite = [](float x) { return std::isinf(x); };
  if (policy.head == HeadKind::squashed_gaussian) {
    std::vector<float> half(a.low.size());
    for (std::size_t k = 0; k < half.size(); ++k) half[k] = 0.5f * (a.high[k] - a.low[k]);
    std::string x = build.activation(mean, "squashed", dim, Activation::tanh);
    x = build.op(ExportOp::add, x, "raised", dim, build.constant("one", {1}, {1.0f}));
    x = build.op(ExportOp::multiply, x, "stretched", dim, build.spread("action_half_range", half));
    build.op(ExportOp::add, x, kAction, dim, build.spread("action_low", a.low));
  } else if (!std::all_of(a.low.begin(), a.low.end(), infinite) ||
             !std::all_of(a.high.begin(), a.high.end(), infinite)) {
    const std::string low = build.spread("action_low", a.low), high = build.spread("action_high", a.high);
    build.op(ExportOp::clamp, mean, kAction, dim, low, high);
  }
  build.output(kAction);
}

void check_finite(const PolicyGraph& graph) {
  for (const GraphConstant& c : graph.constants)
    if (!c.name.starts_with("action_"))
      for (const float x : c.values)
        if (!std::isfinite(x)) throw Error(c.name + " of the policy holds a number that is not finite");
}

}  // namespace

const GraphConstant& PolicyGraph::constant(const std::string& name) const {
  return *std::find_if(constants.begin(), constants.end(), [&](const GraphConstant& c) { return c.name == name; });
}

const GraphOp& PolicyGraph::maker(const std::string& value) const {
  return *std::find_if(ops.begin(), ops.end(), [&](const GraphOp& op) { return op.output == value; });
}

bool PolicyGraph::has(const std::string& output) const {
  return std::find(outputs.begin(), outputs.end(), output) != outputs.end();
}

std::vector<const GraphOp*> PolicyGraph::chain(const std::string& output) const {
  std::vector<const GraphOp*> chain;
  for (std::string value = output; value != kObservation; value = chain.back()->input) chain.push_back(&maker(value));
  std::reverse(chain.begin(), chain.end());
  return chain;
}

PolicyGraph make_policy_graph(const PolicySpec& policy, const std::vector<float>& parameters,
                              const std::vector<double>& normalizer, bool with_value) {
  GraphBuilder build(policy, parameters);
  const bool box = policy.action.is_box();
  std::string x = kObservation;
  if (policy.normalize_observation) x = normalize(build, policy, normalizer);
  for (const LayerSpec& l : policy.trunk) x = build.layer(l, x, l.out);
  // of a head with state-dependent deviations only the means
  const std::int64_t heads = box ? policy.action.dim() : policy.head_dim();
  const std::string head = build.network(policy.actor, x, heads);
  if (box) {
    bound_actions(build, policy, head);
  } else {
    build.output(kLogits);
    build.op(ExportOp::argmax, kLogits, kAction, policy.action.dim());
    build.output(kAction);
  }
  if (with_value) {
    build.network(policy.critic, x, 1);
    build.output(kValue);
  }
  PolicyGraph graph = build.take();
  check_finite(graph);
  return graph;
}

const char* op_name(ExportOp op) {
  constexpr const char* kNames[] = {"subtract", "multiply", "add", "clamp", "linear", "activation", "argmax"};
  return kNames[static_cast<int>(op)];
}

}  // namespace hotloop
