#include "train/checkpoint.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "sim/core/error.h"
#include "sim/core/version.h"

namespace hotloop {
namespace {

using nlohmann::json;

json counters_json(const RunCounters& c) {
  return {{"iteration", c.iteration},
          {"global_step", c.global_step},
          {"episodes", c.episodes},
          {"non_finite_worlds", c.non_finite_worlds},
          {"epochs", c.epochs},
          {"best_return", c.best_return},
          {"window_return_sum", c.window_return_sum},
          {"window_length_sum", c.window_length_sum},
          {"window_episodes", c.window_episodes}};
}

RunCounters counters_from(const json& j) {
  RunCounters c;
  j.at("iteration").get_to(c.iteration);
  j.at("global_step").get_to(c.global_step);
  j.at("episodes").get_to(c.episodes);
  j.at("non_finite_worlds").get_to(c.non_finite_worlds);
  j.at("epochs").get_to(c.epochs);
  j.at("best_return").get_to(c.best_return);
  j.at("window_return_sum").get_to(c.window_return_sum);
  j.at("window_length_sum").get_to(c.window_length_sum);
  j.at("window_episodes").get_to(c.window_episodes);
  return c;
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
  const std::string& version = file.metadata_value("format_version");
  if (version != std::to_string(kCheckpointFormat))
    throw Error(path.string() + ": checkpoint format " + version + ": this program reads format " +
                std::to_string(kCheckpointFormat));
  return file;
}

CheckpointInfo checkpoint_info(const Safetensors& file) {
  CheckpointInfo info;
  try {
    info.counters = counters_from(json::parse(file.metadata_value("counters")));
    info.offsets = json::parse(file.metadata_value("metric_files")).get<FileOffsets>();
  } catch (const json::exception&) {
    throw Error(file.name() + ": counters of the run are damaged");
  }
  if (info.counters.iteration < 0) throw Error(file.name() + ": counters: iteration is negative");
  info.config = resolve_settings(parse_settings(file.metadata_value("config"), file.name() + " (config)"));
  return info;
}

void load_policy(const Safetensors& file, const Exec& exec, PolicyNet& net) {
  const PolicySpec& policy = net.policy();
  std::vector<float> parameters(static_cast<std::size_t>(policy.num_parameters), 0.0f);
  for (const ParameterSpec& p : policy.parameters) {
    const NamedTensor& t = file.get(p.name, DType::f32, p.shape);
    std::memcpy(&parameters[static_cast<std::size_t>(p.offset)], t.bytes.data(), t.bytes.size());
  }
  std::vector<double> normalizer;
  if (policy.normalize_observation) {
    for (const char* part : {"mean", "sum_squares", "count"}) {
      const std::string name = std::string("observation_normalizer.") + part;
      const bool count = std::strcmp(part, "count") == 0;
      file.get(name, DType::f64, {count ? 1 : policy.obs_dim});
      const std::vector<double> values = file.values<double>(name);
      normalizer.insert(normalizer.end(), values.begin(), values.end());
    }
  }
  Buffer<float> device_parameters(exec.device, parameters.size());
  Buffer<double> device_normalizer(exec.device, normalizer.size());
  copy_async(exec, device_parameters.data(), exec.device, parameters.data(), {}, device_parameters.bytes());
  copy_async(exec, device_normalizer.data(), exec.device, normalizer.data(), {}, device_normalizer.bytes());
  net.load(exec, device_parameters.data(), normalizer.empty() ? nullptr : device_normalizer.data());
  synchronize(exec);
}

}  // namespace hotloop
