#include "data/dataset/describe.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/json_text.h"
#include "sim/core/registry.h"
#include "sim/core/value.h"
#include "sim/core/version.h"

namespace hotloop {
namespace {

using Json = nlohmann::ordered_json;

struct GymnasiumEntry {
  const char *task, *entry_point;
  const char* vector_entry_point = nullptr;
};
// Where Gymnasium 1.4 keeps the tasks that we share with it.
constexpr GymnasiumEntry kGymnasium[] = {
    {"CartPole-v1", "classic_control.cartpole:CartPoleEnv", "classic_control.cartpole:CartPoleVectorEnv"},
    {"MountainCar-v0", "classic_control.mountain_car:MountainCarEnv"},
    {"MountainCarContinuous-v0", "classic_control.continuous_mountain_car:Continuous_MountainCarEnv"},
    {"Pendulum-v1", "classic_control.pendulum:PendulumEnv"},
    {"Acrobot-v1", "classic_control.acrobot:AcrobotEnv"},
    {"Reacher-v5", "mujoco.reacher_v5:ReacherEnv"},
    {"Pusher-v5", "mujoco.pusher_v5:PusherEnv"},
    {"InvertedPendulum-v5", "mujoco.inverted_pendulum_v5:InvertedPendulumEnv"},
    {"InvertedDoublePendulum-v5", "mujoco.inverted_double_pendulum_v5:InvertedDoublePendulumEnv"},
    {"HalfCheetah-v5", "mujoco.half_cheetah_v5:HalfCheetahEnv"},
    {"Hopper-v5", "mujoco.hopper_v5:HopperEnv"},
    {"Swimmer-v5", "mujoco.swimmer_v5:SwimmerEnv"},
    {"Walker2d-v5", "mujoco.walker2d_v5:Walker2dEnv"},
    {"Ant-v5", "mujoco.ant_v5:AntEnv"},
    {"Humanoid-v5", "mujoco.humanoid_v5:HumanoidEnv"},
    {"HumanoidStandup-v5", "mujoco.humanoidstandup_v5:HumanoidStandupEnv"},
};

// An option's text, which is TOML, as the value that Gymnasium's constructor takes, which Python's JSON reads.
std::string option_value(const std::string& text) {
  if (text.find('"') != std::string::npos) return text;
  std::string value = text;
  for (std::size_t at = 0; (at = value.find("inf", at)) != std::string::npos; at += 8) value.replace(at, 3, "Infinity");
  const bool plain = value == "true" || value == "false" || value.find_first_of("[0123456789I") != std::string::npos;
  return plain ? value : Json(text).dump();
}

// Those that are not as the task has them by itself.
EnvOptions changed_options(const DatasetInfo& info) {
  EnvOptions changed;
  for (const EnvEntry& entry : environments()) {
    if (entry.spec.name != info.env.name) continue;
    for (const EnvOption& option : info.options)
      for (const EnvOptionInfo& known : entry.options)
        if (known.key == option.key && known.preset != option.text) changed.push_back(option);
  }
  return changed;
}

std::string gymnasium_path(const char* path) { return std::string("gymnasium.envs.") + path; }

std::string text_of(const Json& json, const char* key, const std::string& where) {
  if (!json.contains(key) || !json[key].is_string()) throw Error(where + ": names no " + key);
  return json[key].get<std::string>();
}

// The options that the task was given.
EnvOptions options_of(const Json& json, const EnvEntry& env, const std::string& where) {
  EnvOptions options;
  if (json.contains("options") && json["options"].is_object())
    for (const auto& [key, value] : json["options"].items())
      if (value.is_string()) options.push_back({key, value.get<std::string>(), where + ": " + key});
  return resolve_options(env, options);
}

}  // namespace

std::string env_kwargs_json(const DatasetInfo& info) {
  std::string text = "{";
  for (const EnvOption& option : changed_options(info))
    text += (text.size() > 1 ? ", " : "") + Json(option.key).dump() + ": " + option_value(option.text);
  return text + "}";
}

std::string gymnasium_spec_json(const DatasetInfo& info) {
  for (const EnvOption& option : changed_options(info))
    if (is_randomize(option.key)) return "";
  for (const GymnasiumEntry& entry : kGymnasium) {
    if (info.env.name != entry.task) continue;
    const double threshold = info.env.reward_threshold;
    const Json vector_entry = entry.vector_entry_point ? Json(gymnasium_path(entry.vector_entry_point)) : Json();
    return fmt::format(R"({{"id": "{}", "entry_point": "{}", "reward_threshold": {}, "nondeterministic": false, )"
                       R"("max_episode_steps": {}, "order_enforce": true, "disable_env_checker": false, "kwargs": {}, )"
                       R"("additional_wrappers": [], "vector_entry_point": {}}})",
                       entry.task, gymnasium_path(entry.entry_point),
                       std::isfinite(threshold) ? Json(threshold).dump() : "null", info.env.max_episode_steps,
                       env_kwargs_json(info), vector_entry.dump());
  }
  return "";
}

std::string provenance_json(const DatasetInfo& info) {
  Json options = Json::object();
  for (const EnvOption& option : info.options) options[option.key] = option.text;
  Json json = {{"version", version()},
               {"task", info.env.name},
               {"max_episode_steps", info.env.max_episode_steps},
               {"options", options},
               {"dataset_id", info.dataset_id},
               {"algorithm", info.algorithm},
               {"description", info.description}};
  if (!info.env.reward_terms.empty()) json["reward_terms"] = info.env.reward_terms;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

DatasetInfo info_from_provenance(const std::string& text, const std::string& where) {
  const auto json = parse_json_object<Json>(text, where);
  DatasetInfo info;
  const EnvEntry& env = find_environment(text_of(json, "task", where));
  info.options = options_of(json, env, where);
  info.env = spec_with_options(env, info.options);
  if (const auto limit = json.find("max_episode_steps"); limit != json.end() && limit->is_number_integer())
    info.env.max_episode_steps = limit->get<int>();
  // datasets of earlier versions have none
  if (!json.contains("reward_terms"))
    info.env.reward_terms.clear();
  else if (json["reward_terms"] != Json(info.env.reward_terms))
    throw Error(where + ": reward_terms are not those that this version's " + env.spec.name + " has");
  info.dataset_id = text_of(json, "dataset_id", where);
  info.algorithm = text_of(json, "algorithm", where);
  info.description = text_of(json, "description", where);
  return info;
}

std::optional<ActionSpace> action_space_from_provenance(const std::string& text, const std::string& where) {
  const auto json = parse_json_object<Json>(text, where);
  const std::string task = text_of(json, "task", where);
  for (const EnvEntry& entry : environments())
    if (entry.spec.name == task) return spec_with_options(entry, options_of(json, entry, where)).action;
  return std::nullopt;
}

}  // namespace hotloop
