#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli.h"
#include "data/file.h"
#include "sim/core/registry.h"

namespace hotloop {
namespace {

using Json = nlohmann::ordered_json;

// [low, high] of each component, once where all are the same
std::string bounds_text(const std::vector<float>& low, const std::vector<float>& high) {
  const auto same = [](const std::vector<float>& v) {
    return std::all_of(v.begin(), v.end(), [&](float x) { return x == v[0]; });
  };
  std::string text = fmt::format("Box({})", low.size());
  if (same(low) && same(high)) return text + fmt::format(" [{}, {}]", low[0], high[0]);
  for (std::size_t i = 0; i < low.size(); ++i) text += fmt::format(" [{}, {}]", low[i], high[i]);
  return text;
}

std::string action_text(const ActionSpace& action) {
  if (action.is_box()) return bounds_text(action.low, action.high);
  if (action.kind == ActionSpace::Kind::discrete) return fmt::format("Discrete({})", action.nvec[0]);
  return fmt::format("MultiDiscrete({})", fmt::join(action.nvec, ", "));
}

// JSON has no infinity: an unbounded component is null
Json bounds_json(const std::vector<float>& bounds) {
  Json list = Json::array();
  for (const float b : bounds) list.push_back(std::isfinite(b) ? Json(b) : Json());
  return list;
}

Json options_json(const std::vector<EnvOptionInfo>& options) {
  Json list = Json::array();
  for (const EnvOptionInfo& o : options)
    list.push_back({{"key", option_spelling(o.key)}, {"default", o.preset}, {"accepts", o.accepted}, {"help", o.help}});
  return list;
}

Json entry_json(const EnvEntry& entry) {
  const EnvSpec& spec = entry.spec;
  Json action;
  if (spec.action.is_box())
    action = {{"type", "box"}, {"low", bounds_json(spec.action.low)}, {"high", bounds_json(spec.action.high)}};
  else if (spec.action.kind == ActionSpace::Kind::discrete)
    action = {{"type", "discrete"}, {"n", spec.action.nvec[0]}};
  else
    action = {{"type", "multi_discrete"}, {"nvec", spec.action.nvec}};
  const bool has_threshold = std::isfinite(spec.reward_threshold);
  return {{"task", spec.name},
          {"observation",
           {{"type", "box"}, {"low", bounds_json(spec.observation.low)}, {"high", bounds_json(spec.observation.high)}}},
          {"action", action},
          {"action_mask", spec.has_action_mask},
          {"max_episode_steps", spec.max_episode_steps},
          {"reward_terms", spec.reward_terms},
          {"reward_threshold", has_threshold ? Json(spec.reward_threshold) : Json()},
          {"model", entry.model.empty() ? Json() : Json(entry.model)},
          {"options", options_json(entry.options)}};
}

std::string entry_text(const EnvEntry& entry, bool with_options) {
  const EnvSpec& spec = entry.spec;
  std::string text = fmt::format("{}\n  observation  {}\n  action       {}{}\n  time limit   {} steps\n", spec.name,
                                 bounds_text(spec.observation.low, spec.observation.high), action_text(spec.action),
                                 spec.has_action_mask ? ", masked" : "", spec.max_episode_steps);
  if (!spec.reward_terms.empty()) text += fmt::format("  reward       {}\n", fmt::join(spec.reward_terms, ", "));
  if (std::isfinite(spec.reward_threshold)) text += fmt::format("  solved at    {}\n", spec.reward_threshold);
  if (!with_options) {
    const std::size_t count = entry.options.size();
    return count == 0 ? text : text + fmt::format("  options      {}, see hotloop list {}\n", count, spec.name);
  }
  for (const EnvOptionInfo& o : entry.options)
    text += fmt::format("  --{} {}\n      {}; {}\n", option_spelling(o.key), o.preset, o.help, o.accepted);
  return text;
}

int list(const std::string& task, bool json) {
  if (!task.empty()) find_environment(task);
  Json all = Json::array();
  std::string text;
  for (const EnvEntry& entry : environments()) {
    if (!task.empty() && entry.spec.name != task) continue;
    all.push_back(entry_json(entry));
    text += entry_text(entry, !task.empty());
  }
  write_output(json ? all.dump(2) + "\n" : text);
  return 0;
}

}  // namespace

void add_list(Cli& cli) {
  CLI::App* command = add_command(cli, "list", "List the tasks with their spaces, limits and options");
  auto json = std::make_shared<bool>(false);
  auto task = std::make_shared<std::string>();
  command->add_option("TASK", *task, "this task only, with its options");
  command->add_flag("--json", *json, "print a JSON array");
  command->callback([&cli, json, task] { cli.action = [json, task] { return list(*task, *json); }; });
}

}  // namespace hotloop
