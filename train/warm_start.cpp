#include "train/warm_start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/core/error.h"
#include "train/checkpoint.h"
#include "train/foreign_policy.h"

namespace hotloop {
namespace {

constexpr std::size_t kNamed = 12;  // misfits that a message names

bool is_wanted(const std::string& name, const std::string& parts) {
  const auto of = [&](const char* net) { return name.starts_with(net); };
  const bool actor = of("actor.") || of("trunk.") || name == "log_std", critic = of("critic.") || of("trunk.");
  return parts == "actor" ? actor : parts == "critic" ? critic : actor || critic;
}

std::string misfits_text(const std::vector<std::string>& misfits) {
  const auto end = misfits.begin() + static_cast<std::ptrdiff_t>(std::min(misfits.size(), kNamed));
  std::string text = fmt::format("{}", fmt::join(misfits.begin(), end, "; "));
  if (misfits.size() > kNamed) text += fmt::format("; and {} more", misfits.size() - kNamed);
  return text;
}

void plan_parameters(const Safetensors& file, const TrainConfig& config, const PolicySpec& policy, WarmStart& plan) {
  for (const ParameterSpec& p : policy.parameters) {
    if (!is_wanted(p.name, config.init_parts)) continue;
    if (!file.contains(p.name)) {
      plan.misfits.push_back(p.name + " is not there");
      continue;
    }
    const NamedTensor& t = file.get(p.name);
    if (t.shape == p.shape && t.dtype == DType::f32)
      plan.fits.push_back(p.name);
    else
      plan.misfits.push_back(
          fmt::format("{} is [{}] there and [{}] here", p.name, fmt::join(t.shape, ", "), fmt::join(p.shape, ", ")));
  }
  for (const NamedTensor& t : file.tensors()) {
    const auto same = [&](const ParameterSpec& p) { return p.name == t.name; };
    if (is_wanted(t.name, config.init_parts) && std::none_of(policy.parameters.begin(), policy.parameters.end(), same))
      plan.misfits.push_back(t.name + " is not here");
  }
}

void plan_normalizers(const Safetensors& file, const TrainConfig& config, const PolicySpec& policy, WarmStart& plan) {
  const std::string mean = "observation_normalizer.mean";
  const bool there = file.contains(mean), here = policy.normalize_observation;
  if (there != here)
    plan.misfits.push_back(fmt::format("observations are normalised {} (normalize_observation {})",
                                       there ? "there and not here" : "here and not there", here));
  if (there && here && file.get(mean).shape != std::vector<std::int64_t>{policy.obs_dim})
    plan.misfits.push_back(
        fmt::format("{} is [{}] there and [{}] here", mean, fmt::join(file.get(mean).shape, ", "), policy.obs_dim));
  else if (there && here)
    for (const char* part : {"mean", "sum_squares", "count"})
      plan.fits.push_back(std::string("observation_normalizer.") + part);
  const std::string rewards = "reward_normalizer.state";
  if (config.init_parts != "actor" && config.normalize_reward && config.algo == "ppo" && file.contains(rewards))
    plan.fits.push_back(rewards);
}

// What no shape shows. Of a policy of another program the activation is this run's.
void compare_functions(const Safetensors& file, const TrainConfig& config, const PolicySpec& policy, WarmStart& plan) {
  const TrainConfig theirs = checkpoint_info(file).config;
  const auto compare = [&](const char* key, const std::string& there, const std::string& here) {
    if (there != here) plan.misfits.push_back(fmt::format("{} is {} there and {} here", key, there, here));
  };
  compare("activation", theirs.activation, config.activation);
  if (policy.action.is_box() && config.init_parts != "critic")
    compare("action_distribution", theirs.action_distribution, config.action_distribution);
}

}  // namespace

WarmStart plan_warm_start(const Safetensors& file, const TrainConfig& config, const PolicySpec& policy) {
  WarmStart plan;
  plan_parameters(file, config, policy, plan);
  plan_normalizers(file, config, policy, plan);
  compare_functions(file, config, policy, plan);
  return plan;
}

std::string InitialPolicy::text() const {
  const std::string task = checkpoint_info(file).config.task;
  std::string text = fmt::format("starts from {} ({}): {} tensors", file.name(), task, plan.fits.size());
  if (!plan.misfits.empty()) text += "; does not fit: " + misfits_text(plan.misfits);
  return text;
}

InitialPolicy read_initial_policy(const TrainConfig& config, const PolicySpec& policy) {
  InitialPolicy initial{
      read_policy(config.init_from, CheckpointChoice::best_or_latest, {config.task, config.activation}), {}};
  initial.plan = plan_warm_start(initial.file, config, policy);
  const WarmStart& plan = initial.plan;
  if (plan.fits.empty())
    throw Error(fmt::format("init_from {}: nothing fits: {}", initial.file.name(), misfits_text(plan.misfits)));
  if (!plan.misfits.empty() && !config.init_partial)
    throw Error(fmt::format("init_from {}: does not fit: {} (--init-partial takes what fits)", initial.file.name(),
                            misfits_text(plan.misfits)));
  for (const std::string& name : plan.fits) check_finite(initial.file, name);
  return initial;
}

}  // namespace hotloop
