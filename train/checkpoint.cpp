#include "train/checkpoint.h"

#include <fmt/format.h>
#include <cmath>

#include <cstring>
#include <nlohmann/json.hpp>

#include "data/json_text.h"
#include "sim/core/error.h"
#include "sim/core/registry.h"
#include "sim/core/value.h"
#include "sim/core/version.h"

namespace hotloop {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 60;

json counters_json(const RunCounters& c) {
  return {{"iteration", c.iteration},
          {"global_step", c.global_step},
          {"episodes", c.episodes},
          {"non_finite_worlds", c.non_finite_worlds},
          {"epochs", c.epochs},
          {"best_return", c.best_return},
          {"window_return_sum", c.window_return_sum},
          {"window_length_sum", c.window_length_sum},
          {"window_episodes", c.window_episodes},
          {"window_reward_terms", c.window_reward_terms}};
}

// The library would turn 1.5, -1 or 1e30 into some whole number.
template <class T>
T count_from(const json& value) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMaxCount)
    throw Error(shown(value.dump()) + " is no count");
  return static_cast<T>(value.get<std::uint64_t>());
}

RunCounters counters_from(const json& j, int format) {
  const auto count = [&](const char* name) { return count_from<std::int64_t>(j.at(name)); };
  RunCounters c;
  c.iteration = count("iteration");
  c.global_step = count("global_step");
  c.episodes = count("episodes");
  c.non_finite_worlds = count("non_finite_worlds");
  c.epochs = count("epochs");
  j.at("best_return").get_to(c.best_return);
  j.at("window_return_sum").get_to(c.window_return_sum);
  j.at("window_length_sum").get_to(c.window_length_sum);
  c.window_episodes = count("window_episodes");
  if (format >= 2) j.at("window_reward_terms").get_to(c.window_reward_terms);
  return c;
}

FileOffsets offsets_from(const json& j) {
  if (!j.is_object()) throw Error("metric_files is no table");
  FileOffsets offsets;
  for (const auto& [name, bytes] : j.items()) offsets[name] = count_from<std::uint64_t>(bytes);
  return offsets;
}

int format_of(const Safetensors& file) {
  const std::string& version = file.metadata_value("format_version");
  for (int format = 1; format <= kCheckpointFormat; ++format)
    if (version == std::to_string(format)) return format;
  throw Error(fmt::format("{}: checkpoint format {}: this program reads formats 1 to {}", file.name(), shown(version),
                          kCheckpointFormat));
}

}  // namespace

Metadata checkpoint_metadata(const CheckpointInfo& info) {
  return {{"format", "hotloop-checkpoint"},
          {"format_version", std::to_string(kCheckpointFormat)},
          {"hotloop_version", version()},
          {"config", to_toml(info.config)},
          {"counters", counters_json(info.counters).dump()},
          {"metric_files", json(info.offsets).dump()}};
}

Safetensors read_checkpoint(const std::filesystem::path& path) {
  Safetensors file = Safetensors::read(path);
  if (file.metadata().count("format") == 0 || file.metadata_value("format") != "hotloop-checkpoint")
    throw Error(path.string() + ": a safetensors file, but no checkpoint of hotloop");
  format_of(file);
  return file;
}

CheckpointInfo checkpoint_info(const Safetensors& file) {
  CheckpointInfo info;
  const std::string &counters = file.metadata_value("counters"), &offsets = file.metadata_value("metric_files"),
                    &config = file.metadata_value("config");
  try {
    info.counters = counters_from(parse_json(counters, "counters"), format_of(file));
    info.offsets = offsets_from(parse_json(offsets, "metric_files"));
  } catch (const json::exception&) {
    throw Error(file.name() + ": counters of the run are damaged");
  } catch (const Error& e) {
    throw Error(file.name() + ": counters of the run: " + e.what());
  }
  info.config = resolve_settings(parse_settings(config, file.name() + " (config)"));
  const EnvEntry* env = nullptr;
  try {
    env = &find_environment(info.config.task);
    validate(info.config, env->spec.action);
  } catch (const Error& e) {
    throw Error(file.name() + " (config): " + e.what());
  }
  if (format_of(file) >= 2 && info.counters.window_reward_terms.size() != env->spec.reward_terms.size())
    throw Error(fmt::format("{}: counters of the run: {} terms of a reward, {} has {}", file.name(),
                            info.counters.window_reward_terms.size(), info.config.task, env->spec.reward_terms.size()));
  const std::int64_t rollout = info.config.num_envs * info.config.num_steps;
  if (info.counters.global_step % rollout != 0 || info.counters.global_step / rollout != info.counters.iteration)
    throw Error(fmt::format("{}: counters of the run: {} iterations of {} x {} steps are not {} steps", file.name(),
                            info.counters.iteration, info.config.num_envs, info.config.num_steps,
                            info.counters.global_step));
  return info;
}

void check_policy(const Safetensors& file, const PolicySpec& policy) {
  for (const ParameterSpec& p : policy.parameters) file.get(p.name, DType::f32, p.shape);
  if (!policy.normalize_observation) return;
  for (const char* part : {"mean", "sum_squares"})
    file.get(std::string("observation_normalizer.") + part, DType::f64, {policy.obs_dim});
  file.get("observation_normalizer.count", DType::f64, {1});
}

void check_finite(const Safetensors& file, const std::string& tensor) {
  const auto refuse = [&] {
    throw Error(file.name() + ": " + tensor + " of the policy holds a number that is not finite");
  };
  if (file.get(tensor).dtype == DType::f32)
    for (const float x : file.values<float>(tensor))
      if (!std::isfinite(x)) refuse();
  if (file.get(tensor).dtype == DType::f64)
    for (const double x : file.values<double>(tensor))
      if (!std::isfinite(x)) refuse();
}

PolicyWeights policy_weights(const Safetensors& file, const PolicySpec& policy) {
  PolicyWeights weights;
  weights.parameters.resize(static_cast<std::size_t>(policy.num_parameters), 0.0f);
  for (const ParameterSpec& p : policy.parameters) {
    check_finite(file, p.name);
    const NamedTensor& t = file.get(p.name);
    std::memcpy(&weights.parameters[static_cast<std::size_t>(p.offset)], t.bytes.data(), t.bytes.size());
  }
  if (!policy.normalize_observation) return weights;
  for (const char* part : {"mean", "sum_squares", "count"}) {
    check_finite(file, std::string("observation_normalizer.") + part);
    const std::vector<double> values = file.values<double>(std::string("observation_normalizer.") + part);
    weights.normalizer.insert(weights.normalizer.end(), values.begin(), values.end());
  }
  return weights;
}

void load_policy(const Safetensors& file, const Exec& exec, PolicyNet& net) {
  check_policy(file, net.policy());
  const auto [parameters, normalizer] = policy_weights(file, net.policy());
  Buffer<float> device_parameters(exec.device, parameters.size());
  Buffer<double> device_normalizer(exec.device, normalizer.size());
  copy_async(exec, device_parameters.data(), exec.device, parameters.data(), {}, device_parameters.bytes());
  copy_async(exec, device_normalizer.data(), exec.device, normalizer.data(), {}, device_normalizer.bytes());
  net.load(exec, device_parameters.data(), normalizer.empty() ? nullptr : device_normalizer.data());
  synchronize(exec);
}

}  // namespace hotloop
