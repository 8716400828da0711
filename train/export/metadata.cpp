#include "train/export/metadata.h"

#include <cmath>

#include "sim/core/version.h"

namespace hotloop {
namespace {

// JSON has no infinity: an unbounded component is null
OrderedJson bounds_json(const std::vector<float>& bounds) {
  OrderedJson list = OrderedJson::array();
  for (const float b : bounds) list.push_back(std::isfinite(b) ? OrderedJson(b) : OrderedJson());
  return list;
}

OrderedJson action_json(const ActionSpace& action) {
  if (action.is_box())
    return {{"type", "Box"},
            {"dtype", "float32"},
            {"shape", {action.dim()}},
            {"low", bounds_json(action.low)},
            {"high", bounds_json(action.high)}};
  if (action.kind == ActionSpace::Kind::discrete)
    return {{"type", "Discrete"}, {"dtype", "int64"}, {"n", action.nvec[0]}};
  return {{"type", "MultiDiscrete"}, {"dtype", "int64"}, {"nvec", action.nvec}};
}

// action = offset + scale * the network's output, squashed by tanh first where it is squashed, and clipped to the
// bounds
void add_action_transform(OrderedJson& out, const PolicySpec& policy) {
  const ActionSpace& a = policy.action;
  if (!a.is_box()) return;
  const bool squashed = policy.head == HeadKind::squashed_gaussian;
  out["action_distribution"] = squashed ? "squashed_gaussian" : "gaussian";
  OrderedJson scale = OrderedJson::array(), offset = OrderedJson::array();
  for (std::size_t k = 0; k < a.low.size(); ++k) {
    scale.push_back(squashed ? 0.5f * (a.high[k] - a.low[k]) : 1.0f);
    offset.push_back(squashed ? 0.5f * (a.high[k] + a.low[k]) : 0.0f);
  }
  out["action_scale"] = scale;
  out["action_offset"] = offset;
}

void add_robot(OrderedJson& out, const EnvEntry& env, const EnvSpec& spec, const EnvOptions& options) {
  double period = spec.control_period;
  RobotInfo robot;
  if (env.robot != nullptr) {
    robot = env.robot(options);
    period = robot.control_period;
  }
  out["control_period"] = period > 0 ? OrderedJson(period) : OrderedJson();
  if (env.robot == nullptr) return;
  out["model"] = env.model;
  out["joint_names"] = robot.joint_names;
  out["default_joint_positions"] = robot.default_joint_positions;
  out["actuator_names"] = robot.actuator_names;
  out["actuator_joints"] = robot.actuator_joints;
  out["actuator_gear"] = robot.actuator_gear;
}

}  // namespace

OrderedJson export_metadata(const CheckpointInfo& info, const std::string& trained_with, const EnvEntry& env,
                            const EnvSpec& spec, const PolicySpec& policy, const PolicyGraph& graph) {
  OrderedJson out = {{"format", "hotloop-policy"},
                     {"format_version", "1"},
                     {"hotloop_version", version()},
                     {"trained_with", trained_with},
                     {"task", info.config.task},
                     {"algorithm", info.config.algo},
                     {"training_steps", info.counters.global_step},
                     {"observation_space",
                      {{"type", "Box"},
                       {"dtype", "float32"},
                       {"shape", {spec.obs_dim()}},
                       {"low", bounds_json(spec.observation.low)},
                       {"high", bounds_json(spec.observation.high)}}},
                     {"action_space", action_json(policy.action)},
                     {"inputs", {kObservation}},
                     {"outputs", graph.outputs},
                     {"max_episode_steps", spec.max_episode_steps}};
  if (graph.has_action_mask) out["inputs"].push_back(kActionMask);
  add_robot(out, env, spec, info.config.env);
  add_action_transform(out, policy);
  if (policy.normalize_observation) out["clip_observation"] = policy.clip_observation;
  out["configuration"] = to_toml(info.config);
  return out;
}

std::string metadata_text(const OrderedJson& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

OrderedJson graph_json(const PolicyGraph& graph) {
  OrderedJson list = OrderedJson::array();
  for (const GraphOp& op : graph.ops) {
    OrderedJson entry = {{"op", op_name(op.kind)}, {"input", op.input}, {"output", op.output}};
    if (!op.a.empty()) entry["a"] = op.a;
    if (!op.b.empty()) entry["b"] = op.b;
    if (op.activation != Activation::none) entry["activation"] = activation_name(op.activation);
    list.push_back(entry);
  }
  return list;
}

}  // namespace hotloop
