// Policies as one C99 file: weights, a handful of loops, no library and no allocation. Rows of weights lie in blocks of
// kLanes outputs, input by input, so that a compiler makes vector instructions of the innermost loop.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/version.h"
#include "train/export/formats.h"

namespace hotloop {
namespace {

constexpr std::int64_t kLanes = 8;

std::int64_t padded(std::int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// Four inputs at a time: the sums of one round wait for those of the round before.
constexpr const char* kLinear = R"(
/* y = W x + b. Weights lie in blocks of LANES outputs, input by input; the last block is filled up with zeros. */
static void NAME_linear(int inputs, int blocks, const float *weight, const float *bias, const float *x, float *y)
{
    int block, i, k;
    for (block = 0; block < blocks; ++block) {
        float sum[LANES];
        for (k = 0; k < LANES; ++k) sum[k] = bias[k];
        for (i = 0; i + 4 <= inputs; i += 4) {
            for (k = 0; k < LANES; ++k)
                sum[k] += (weight[k] * x[i] + weight[k + LANES] * x[i + 1]) +
                          (weight[k + 2 * LANES] * x[i + 2] + weight[k + 3 * LANES] * x[i + 3]);
            weight += 4 * LANES;
        }
        for (; i < inputs; ++i) {
            for (k = 0; k < LANES; ++k) sum[k] += weight[k] * x[i];
            weight += LANES;
        }
        for (k = 0; k < LANES; ++k) y[k] = sum[k];
        bias += LANES;
        y += LANES;
    }
}
)";

constexpr const char* kClamp = R"(
static float NAME_clamp(float x, float low, float high)
{
    const float raised = x < low ? low : x;
    return raised > high ? high : raised;
}
)";

// the numbers are those of tanh8() in train/fused/float8.h
constexpr const char* kTanh = R"(
/* A rational minimax fit: relative error below 3e-7, never above one in magnitude. */
static float NAME_tanh(float input)
{
    const float x = NAME_clamp(input, -8.3f, 8.3f);
    const float u = x * x;
    float p = u * 2.805545485e-08f + 4.119446385e-05f;
    float q = u * 1.588737064e-06f + 6.461995654e-04f;
    p = p * u + 6.797574926e-03f;
    p = p * u + 2.571396828e-01f;
    p = p * u + 1.915254235f;
    q = q * u + 4.994978756e-02f;
    q = q * u + 8.955575824e-01f;
    q = q * u + 1.915254235f;
    return x * p / q;
}
)";

// the numbers are those of exp8() in train/fused/float8.h
constexpr const char* kExp = R"(
/* e^x, clamped to where it is a normal number: reduction by multiples of ln 2, then a minimax polynomial. */
static float NAME_exp(float input)
{
    const float x = NAME_clamp(input, -87.3f, 88.3f);
    const float shifted = x * 1.44269504f + 12582912.0f; /* + 1.5 * 2^23 rounds to the nearest integer */
    const float n = shifted - 12582912.0f;
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f; /* ln 2 in two pieces, the first exact in few bits */
    float p = r * 1.381446607e-03f + 8.368780836e-03f;
    union { float value; uint32_t bits; } power;
    p = p * r + 4.166839272e-02f;
    p = p * r + 1.666651964e-01f;
    p = p * r + 4.999999404e-01f;
    p = p * (r * r) + r + 1.0f;
    power.value = shifted; /* whose last bits are n */
    power.bits = (power.bits - UINT32_C(0x4B400000) + 127u) << 23;
    return p * power.value;
}
)";

constexpr const char* kElu = R"(
static float NAME_elu(float x)
{
    const float below = NAME_exp(x) - 1.0f;
    return x > 0.0f ? x : below;
}
)";

constexpr const char* kArgmax = R"(
/* The first of the largest; of the choices that mask allows, where there is a mask. */
static float NAME_argmax(int n, const float *logits, const unsigned char *mask)
{
    int best = -1, k;
    for (k = 0; k < n; ++k)
        if ((!mask || mask[k]) && (best < 0 || logits[k] > logits[best])) best = k;
    return (float)(best < 0 ? 0 : best);
}
)";

// A literal that reads back to the same float.
std::string literal(float x) {
  if (std::isinf(x)) return x < 0 ? "-HUGE_VALF" : "HUGE_VALF";
  std::string text = fmt::format("{}", x);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

// Text that neither ends the comment it stands in nor seems to begin another; JSON reads "\/" as "/".
std::string in_comment(std::string text) {
  for (std::size_t at = 0; (at = text.find('/', at)) != std::string::npos; ++at) {
    const bool star = (at > 0 && text[at - 1] == '*') || (at + 1 < text.size() && text[at + 1] == '*');
    if (star) text.insert(at++, 1, '\\');
  }
  return text;
}

class CWriter {
 public:
  CWriter(const PolicyGraph& graph, std::string name) : graph_(graph), name_(std::move(name)) {}

  std::string content(const OrderedJson& metadata) {
    head(metadata);
    helpers();
    for (const GraphConstant& c : graph_.constants) constant(c);
    if (graph_.has(kLogits))
      function(fmt::format("void {}_logits(const float *observation, float *logits)", name_), kLogits);
    action_functions();
    if (graph_.has(kValue)) function(fmt::format("float {}_value(const float *observation)", name_), kValue);
    return out_;
  }

 private:
  bool uses(ExportOp kind, Activation activation = Activation::none) const {
    return std::any_of(graph_.ops.begin(), graph_.ops.end(),
                       [&](const GraphOp& op) { return op.kind == kind && op.activation == activation; });
  }
  // A constant's or helper's name: policy_actor_0_weight.
  std::string symbol(const std::string& name) const {
    std::string text = name_ + "_" + name;
    std::replace(text.begin(), text.end(), '.', '_');
    return text;
  }
  void add(const char* text) {
    const auto replaced = [](std::string in, std::string_view word, const std::string& by) {
      for (std::size_t at = 0; (at = in.find(word, at)) != std::string::npos; at += by.size())
        in.replace(at, word.size(), by);
      return in;
    };
    out_ += replaced(replaced(text, "LANES", std::to_string(kLanes)), "NAME", name_);
  }
  void prototypes() {
    const ActionSpace& a = graph_.action;
    out_ += fmt::format("/* observation[{}] to action[{}]{} */\nvoid {}(const float *observation, float *action);\n",
                        graph_.obs_dim, a.dim(), a.is_box() ? "" : ", the numbers of the choices", name_);
    if (graph_.has_action_mask)
      out_ += fmt::format(
          "/* The same among the choices that mask[{}] allows: those that are not 0. */\n"
          "void {}_masked(const float *observation, const unsigned char *mask, float *action);\n",
          a.num_choices(), name_);
    if (graph_.has(kLogits))
      out_ += fmt::format("/* logits[{}] of all choices */\nvoid {}_logits(const float *observation, float *logits);\n",
                          a.num_choices(), name_);
    if (graph_.has(kValue))
      out_ +=
          fmt::format("/* The critic's estimate of the return. */\nfloat {}_value(const float *observation);\n", name_);
  }
  void head(const OrderedJson& metadata) {
    out_ = fmt::format(
        "/* A policy that hotloop {} trained and exported: C99, no library, no allocation, no state, so any thread may "
        "call it.\n   Calls need up to {} bytes of stack. What it is, in JSON:\n{}\n*/\n",
        version(), 2 * width() * static_cast<std::int64_t>(sizeof(float)) + 256,
        in_comment(metadata.dump(1, ' ', true)));
    if (needs_exp()) out_ += "#include <stdint.h>\n";
    if (has_infinity()) out_ += "#include <math.h> /* HUGE_VALF */\n";
    out_ += "\n";
    prototypes();
  }
  bool needs_exp() const {
    return uses(ExportOp::activation, Activation::elu) || uses(ExportOp::activation, Activation::silu);
  }
  bool needs_tanh() const { return uses(ExportOp::activation, Activation::tanh); }
  bool has_infinity() const {
    return std::any_of(graph_.constants.begin(), graph_.constants.end(), [](const GraphConstant& c) {
      return std::any_of(c.values.begin(), c.values.end(), [](float x) { return std::isinf(x); });
    });
  }
  void helpers() {
    add(kLinear);
    if (uses(ExportOp::clamp) || needs_exp() || needs_tanh()) add(kClamp);
    if (needs_tanh()) add(kTanh);
    if (needs_exp()) add(kExp);
    if (uses(ExportOp::activation, Activation::elu)) add(kElu);
    if (uses(ExportOp::argmax)) add(kArgmax);
  }
  // Numbers of the widest buffer.
  std::int64_t width() const {
    std::int64_t width = padded(graph_.obs_dim);
    for (const GraphOp& op : graph_.ops) width = std::max(width, padded(op.dim));
    return width;
  }

  void constant(const GraphConstant& c) {
    const bool is_layer = c.name.ends_with(".weight") || c.name.ends_with(".bias");
    std::vector<float> values = c.values;
    if (is_layer) values = blocks(c);
    out_ += fmt::format("\nstatic const float {}[{}] = {{", symbol(c.name), values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      out_ += (i % 8 == 0 ? "\n    " : " ") + literal(values[i]) + (i + 1 < values.size() ? "," : "");
    out_ += "\n};\n";
  }
  // weight [out, in] or bias [out] in blocks of outputs.
  static std::vector<float> blocks(const GraphConstant& c) {
    const std::int64_t out = c.shape[0], in = c.shape.size() == 2 ? c.shape[1] : 1;
    std::vector<float> values;
    values.reserve(static_cast<std::size_t>(padded(out) * in));
    for (std::int64_t first = 0; first < out; first += kLanes)
      for (std::int64_t i = 0; i < in; ++i)
        for (std::int64_t o = first; o < first + kLanes; ++o)
          values.push_back(o < out ? c.values[static_cast<std::size_t>(o * in + i)] : 0.0f);
    return values;
  }

  void action_functions() {
    const std::string plain = fmt::format("void {}(const float *observation, float *action)", name_);
    if (graph_.action.is_box()) return function(plain, kAction);
    if (!graph_.has_action_mask) {
      out_ += fmt::format("\n{}\n{{\n", plain);
      choose("(const unsigned char *)0");
      return;
    }
    out_ += fmt::format("\nvoid {}_masked(const float *observation, const unsigned char *mask, float *action)\n{{\n",
                        name_);
    choose("mask");
    out_ += fmt::format("\n{}\n{{\n    {}_masked(observation, (const unsigned char *)0, action);\n}}\n", plain, name_);
  }
  // The body that takes the largest logit of each component.
  void choose(const std::string& mask) {
    out_ +=
        fmt::format("    float logits[{}];\n    {}_logits(observation, logits);\n", graph_.action.num_choices(), name_);
    std::int64_t first = 0;
    for (std::size_t c = 0; c < graph_.action.nvec.size(); ++c) {
      const std::string legal = mask == "mask" && first > 0 ? fmt::format("mask ? mask + {} : mask", first) : mask;
      out_ += fmt::format("    action[{}] = {}_argmax({}, logits + {}, {});\n", c, name_, graph_.action.nvec[c], first,
                          legal);
      first += graph_.action.nvec[c];
    }
    out_ += "}\n";
  }

  // A function that computes one output of the graph: layers go to and fro between two buffers, the rest is in place.
  void function(const std::string& signature, const std::string& output) {
    out_ += fmt::format("\n{}\n{{\n    float a[{}], b[{}];\n    int i;\n", signature, width(), width());
    std::string x = kObservation;
    std::int64_t columns = graph_.obs_dim;
    for (const GraphOp* op : graph_.chain(output)) {
      if (op->kind == ExportOp::linear) {
        const std::string y = x == "a" ? "b" : "a";
        out_ += fmt::format("    {}_linear({}, {}, {}, {}, {}, {});\n", name_, columns, padded(op->dim) / kLanes,
                            symbol(op->a), symbol(op->b), x, y);
        x = y;
      } else {
        const std::string y = x == kObservation ? "a" : x;
        // whole blocks where nothing is read beside x: what is beyond the columns are zeros
        const std::int64_t count = op->kind == ExportOp::activation && x != kObservation ? padded(op->dim) : op->dim;
        out_ += fmt::format("    for (i = 0; i < {}; ++i) {}[i] = {};\n", count, y, element(*op, x + "[i]"));
        x = y;
      }
      columns = op->dim;
    }
    if (output == kValue)
      out_ += fmt::format("    return {}[0];\n}}\n", x);
    else
      out_ += fmt::format("    for (i = 0; i < {}; ++i) {}[i] = {}[i];\n}}\n", columns, output, x);
  }
  // The operation on one element.
  std::string element(const GraphOp& op, const std::string& x) const {
    const auto entry = [&](const std::string& name) {
      return symbol(name) + (graph_.constant(name).values.size() == 1 ? "[0]" : "[i]");
    };
    switch (op.kind) {
      case ExportOp::subtract:
        return x + " - " + entry(op.a);
      case ExportOp::multiply:
        return x + " * " + entry(op.a);
      case ExportOp::add:
        return x + " + " + entry(op.a);
      case ExportOp::clamp:
        return fmt::format("{}_clamp({}, {}, {})", name_, x, entry(op.a), entry(op.b));
      default:
        break;
    }
    switch (op.activation) {
      case Activation::tanh:
        return fmt::format("{}_tanh({})", name_, x);
      case Activation::relu:
        return fmt::format("{0} > 0.0f ? {0} : 0.0f", x);
      case Activation::elu:
        return fmt::format("{}_elu({})", name_, x);
      default:
        return fmt::format("{0} / (1.0f + {1}_exp(-{0}))", x, name_);
    }
  }

  const PolicyGraph& graph_;
  const std::string name_;
  std::string out_;
};

}  // namespace

std::string c_content(const PolicyGraph& graph, const OrderedJson& metadata, const std::string& name) {
  return CWriter(graph, name).content(metadata);
}

}  // namespace hotloop
