#include "train/fused/unpack.h"

#include "sim/core/book.h"
#include "sim/core/launch.h"

namespace hotloop {
namespace {

struct UnpackOp {
  FusedRollout from;
  HeadView head;
  std::int64_t obs_dim, action_dim;
  float *observation, *sample_log_prob, *value, *advantage, *value_target, *reward;
  float *box_action, *policy_sample;  // null where actions are choices
  std::int64_t* choice;               // null where actions are numbers
  std::uint8_t *terminated, *truncated;

  SIM_HD void operator()(std::int64_t i) const {
    const float* record = from.record + i * from.record_size;
    for (std::int64_t k = 0; k < obs_dim; ++k) observation[i * obs_dim + k] = record[k];
    const float* action = record + obs_dim;
    for (std::int64_t k = 0; k < action_dim; ++k) {
      if (choice != nullptr) {
        choice[i * action_dim + k] = static_cast<std::int64_t>(action[k]);
      } else {
        policy_sample[i * action_dim + k] = action[k];
        box_action[i * action_dim + k] = given_action(head, action[k], static_cast<int>(k));
      }
    }
    const float* rest = action + action_dim;
    sample_log_prob[i] = rest[0];
    value[i] = rest[1];
    advantage[i] = rest[2];
    value_target[i] = rest[1] + rest[2];
    reward[i] = from.reward[i];
    terminated[i] = (from.ended[i] & kTerminated) != 0 ? 1 : 0;
    truncated[i] = (from.ended[i] & kTruncated) != 0 ? 1 : 0;
  }
};

}  // namespace

void unpack_rollout(const Exec& exec, const FusedRollout& from, const PolicySpec& policy, const HeadView& head,
                    const Arena& to) {
  UnpackOp op{};
  op.from = from;
  op.head = head;
  op.obs_dim = policy.obs_dim;
  op.action_dim = policy.action.dim();
  op.observation = to.data<float>("observation");
  op.sample_log_prob = to.data<float>("sample_log_prob");
  op.value = to.data<float>("state_value");
  op.advantage = to.data<float>("advantage");
  op.value_target = to.data<float>("value_target");
  op.reward = to.data<float>("next/reward");
  op.terminated = to.data<std::uint8_t>("next/terminated");
  op.truncated = to.data<std::uint8_t>("next/truncated");
  if (policy.action.is_box()) {
    op.box_action = to.data<float>("action");
    op.policy_sample = to.data<float>("policy_sample");
  } else {
    op.choice = to.data<std::int64_t>("action");
  }
  const std::int64_t rows = from.num_steps * from.num_envs;
  parallel_for(exec, rows, op);
  copy_async(exec, op.observation + rows * policy.obs_dim, exec.device, from.observation, exec.device,
             static_cast<std::size_t>(from.num_envs * policy.obs_dim) * sizeof(float));
}

}  // namespace hotloop
