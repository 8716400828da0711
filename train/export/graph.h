// What an exported policy computes, said once: a short list of operations over rows of observations, made from the
// PolicySpec, the parameters, the observation normaliser and the action's bounds. Every format is written from it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/safetensors.h"
#include "train/policy_spec.h"

namespace hotloop {

enum class ExportOp : std::uint8_t {
  subtract,    // x - a
  multiply,    // x * a
  add,         // x + a
  clamp,       // a where x < a, b where x > b, else x
  linear,      // a x + b; a [out, in], b [out]
  activation,  // element by element
  argmax,      // of each component of a (multi-)discrete action, among the legal choices
};

// y = op(x). Values have a row for each observation.
struct GraphOp {
  ExportOp kind = ExportOp::add;
  std::string input, output;   // names of values
  std::int64_t dim = 0;        // columns of the output
  std::string a = {}, b = {};  // names of constants
  Activation activation = Activation::none;
};

// An array of the policy, [out, in], [n], or [1] where all columns have the same number.
struct GraphConstant {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

// The policy's deterministic action. Names of values are kObservation, kActionMask (where has_action_mask), and the
// outputs kAction, kLogits (of (multi-)discrete actions, before the mask), kValue (if asked for).
struct PolicyGraph {
  std::int64_t obs_dim = 0;
  ActionSpace action;
  bool has_action_mask = false;
  std::vector<GraphConstant> constants;
  std::vector<GraphOp> ops;  // in an order in which they can be computed
  std::vector<std::string> outputs;

  const GraphConstant& constant(const std::string& name) const;
  const GraphOp& maker(const std::string& value) const;  // the operation whose output it is
  bool has(const std::string& output) const;
  // The operations that lead from the observation to `output`. Each takes what the one before it has made.
  std::vector<const GraphOp*> chain(const std::string& output) const;
};

inline constexpr const char *kObservation = "observation", *kActionMask = "action_mask";
inline constexpr const char *kAction = "action", *kLogits = "logits", *kValue = "value";

// `parameters` [num_parameters] and, if the policy normalises observations, the normaliser's state
// [2 * obs_dim + 1]. Error where a number is not finite.
PolicyGraph make_policy_graph(const PolicySpec& policy, const std::vector<float>& parameters,
                              const std::vector<double>& normalizer, bool with_value);

const char* op_name(ExportOp op);

}  // namespace hotloop
