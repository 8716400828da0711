#include "data/log/log_format.h"

namespace hotloop {
namespace {

struct Meaning {
  const char *name, *units, *description;
};
constexpr Meaning kMeanings[] = {
    {"observation", "of the task", "before the step"},
    {"action", "of the task", "as the task was given it"},
    {"next/reward", "of the task", "for the step, not normalised"},
    {kRewardTermsKey, "of the task", "parts of the reward, by `names`"},
    {"next/terminated", "", "the task ended the episode with this step"},
    {"next/truncated", "", "the time limit ended the episode with this step"},
    {"sample_log_prob", "nat", "log of the probability (density) of the action under the policy"},
    {"state_value", "of the reward", "the critic's value of the observation"},
    {"advantage", "of the reward", "GAE, not normalised over a minibatch"},
    {"value_target", "of the reward", "advantage + state_value, what the critic is trained to"},
    {"policy_sample", "", "what the policy drew, before bounds were applied"},
    {"action_mask", "", "legal choices of the action"},
};

}  // namespace

std::filesystem::path log_segment_path(const std::filesystem::path& log, std::int64_t segment) {
  if (segment == 0) return log;
  std::filesystem::path path = log;
  return path.replace_extension("." + std::to_string(segment) + log.extension().string());
}

std::filesystem::path log_part_path(const std::filesystem::path& segment) { return segment.string() + ".part"; }

LogKey describe_log_key(std::string name, DType dtype, std::vector<std::int64_t> shape) {
  LogKey key{std::move(name), dtype, std::move(shape)};
  for (const Meaning& m : kMeanings)
    if (key.name == m.name) key.units = m.units, key.description = m.description;
  return key;
}

}  // namespace hotloop
