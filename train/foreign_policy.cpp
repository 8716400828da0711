#include "train/foreign_policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "sim/core/error.h"
#include "sim/core/registry.h"
#include "sim/core/value.h"
#include "train/checkpoint.h"

namespace hotloop {
namespace {

// Where a program keeps the layers of a network: modules of a Sequential, then one of its own (or none).
struct NetworkKeys {
  const char* sequential;
  const char* last;
};
struct Program {
  const char* name;
  const char* exp_name;
  NetworkKeys actor, critic;
  const char* log_std;  // of continuous actions
};
constexpr Program kPrograms[] = {
    {"CleanRL", "cleanrl", {"actor_mean.", ""}, {"critic.", ""}, "actor_logstd"},
    {"CleanRL", "cleanrl", {"actor.", ""}, {"critic.", ""}, "actor_logstd"},
    {"Stable-Baselines3",
     "sb3",
     {"mlp_extractor.policy_net.", "action_net"},
     {"mlp_extractor.value_net.", "value_net"},
     "log_std"},
};
constexpr const char *kMean = "obs_rms.mean", *kVar = "obs_rms.var", *kCount = "obs_rms.count";

const Program* program_of(const Safetensors& file) {
  for (const Program& p : kPrograms) {
    const std::string first =
        *p.actor.last != '\0' ? p.actor.last + std::string(".weight") : p.actor.sequential + std::string("0.weight");
    if (file.contains(first)) return &p;
  }
  return nullptr;
}

// The file as tensors of hotloop's names.
class Translation {
 public:
  Translation(const Safetensors& file, const Program& program) : file_(file), program_(program) {}

  std::vector<NamedTensor> tensors;
  TrainConfig config;

  void translate(const ForeignOptions& options, const ActionSpace& action) {
    config.task = options.task;
    config.activation = options.activation;
    config.exp_name = program_.exp_name;
    config.hidden_sizes = take_network("actor", program_.actor);
    config.critic_hidden_sizes = take_network("critic", program_.critic);
    if (file_.contains(program_.log_std)) take_log_std(action);
    if (file_.contains(kMean)) take_normalizer();
    for (const NamedTensor& t : file_.tensors())
      if (!taken_.contains(t.name))
        throw Error(fmt::format("{}: tensor {} has no place in an MLP policy of {}", file_.name(), shown(t.name),
                                program_.name));
  }

 private:
  const NamedTensor& take(const std::string& name) {
    const NamedTensor& t = file_.get(name);
    taken_.insert(name);
    return t;
  }
  void add(const std::string& name, const NamedTensor& t, const std::vector<std::int64_t>& shape) {
    tensors.push_back({name, t.dtype, shape, t.bytes});
  }
  void add(const std::string& name, const std::vector<double>& values) {
    const auto& kept = storage_.emplace_back(std::make_unique<std::vector<double>>(values));
    tensors.push_back({name, DType::f64, {static_cast<std::int64_t>(kept->size())}, std::as_bytes(std::span(*kept))});
  }

  // Prefixes of the layers, in order: "actor.0", "actor.2", "actor.4".
  std::vector<std::string> layers(const NetworkKeys& keys) const {
    std::vector<int> numbers;
    const std::string prefix = keys.sequential, suffix = ".weight";
    for (const NamedTensor& t : file_.tensors()) {
      if (!t.name.starts_with(prefix) || !t.name.ends_with(suffix)) continue;
      const char *begin = t.name.data() + prefix.size(), *end = t.name.data() + t.name.size() - suffix.size();
      int number = 0;
      if (begin < end && std::from_chars(begin, end, number).ptr == end) numbers.push_back(number);
    }
    std::sort(numbers.begin(), numbers.end());
    std::vector<std::string> found;
    for (const int number : numbers) found.push_back(prefix + std::to_string(number));
    if (*keys.last != '\0') found.emplace_back(keys.last);
    return found;
  }

  // Returns the sizes of the hidden layers.
  std::vector<std::int64_t> take_network(const std::string& net, const NetworkKeys& keys) {
    const std::vector<std::string> names = layers(keys);
    if (names.size() < 2)
      throw Error(fmt::format("{}: {} of {} has no hidden layer ({}N.weight)", file_.name(), net, program_.name,
                              keys.sequential));
    std::vector<std::int64_t> sizes;
    for (std::size_t k = 0; k < names.size(); ++k) {
      const NamedTensor& weight = take(names[k] + ".weight");
      if (weight.dtype != DType::f32 || weight.shape.size() != 2 || weight.shape[0] < 1 || weight.shape[1] < 1)
        throw Error(fmt::format("{}: tensor '{}' is {} [{}]; expected float32 [out, in]", file_.name(), weight.name,
                                dtype_name(weight.dtype), fmt::join(weight.shape, ", ")));
      const std::int64_t in = k == 0 ? weight.shape[1] : sizes.back(), out = weight.shape[0];
      file_.get(weight.name, DType::f32, {out, in});
      const NamedTensor& bias = take(names[k] + ".bias");
      file_.get(bias.name, DType::f32, {out});
      add(fmt::format("{}.{}.weight", net, k), weight, weight.shape);
      add(fmt::format("{}.{}.bias", net, k), bias, bias.shape);
      sizes.push_back(out);
    }
    sizes.pop_back();
    return sizes;
  }

  void take_log_std(const ActionSpace& action) {
    if (!action.is_box())
      throw Error(fmt::format("{}: '{}' is of continuous actions, {} has discrete ones", file_.name(), program_.log_std,
                              config.task));
    const NamedTensor& t = take(program_.log_std);
    const auto size = static_cast<std::int64_t>(t.bytes.size() / dtype_size(t.dtype));
    file_.get(t.name, DType::f32,
              t.shape.size() == 2 ? std::vector<std::int64_t>{1, size} : std::vector<std::int64_t>{size});
    add("log_std", t, {size});
  }

  std::vector<double> doubles(const char* name) {
    const NamedTensor& t = take(name);
    if (t.dtype == DType::f64) return file_.values<double>(name);
    const std::vector<float> values = file_.values<float>(name);
    return {values.begin(), values.end()};
  }
  void take_normalizer() {
    const std::vector<double> mean = doubles(kMean), count = doubles(kCount);
    std::vector<double> squares = doubles(kVar);
    if (count.size() != 1 || !(count[0] > 0) || !std::isfinite(count[0]))
      throw Error(fmt::format("{}: tensor '{}' must be one number above 0", file_.name(), kCount));
    for (double& v : squares) {
      if (!(v >= 0) || !std::isfinite(v))
        throw Error(fmt::format("{}: tensor '{}' holds {}, no variance", file_.name(), kVar, v));
      v *= count[0];
    }
    add("observation_normalizer.mean", mean);
    add("observation_normalizer.sum_squares", squares);
    add("observation_normalizer.count", count);
    config.normalize_observation = true;
  }

  const Safetensors& file_;
  const Program& program_;
  std::set<std::string> taken_;
  std::vector<std::unique_ptr<std::vector<double>>> storage_;
};

bool is_checkpoint(const Safetensors& file) {
  const auto format = file.metadata().find("format");
  return format != file.metadata().end() && format->second == "hotloop-checkpoint";
}

}  // namespace

Safetensors read_policy(const std::filesystem::path& argument, CheckpointChoice choice, const ForeignOptions& options) {
  const std::filesystem::path path = resolve_checkpoint(argument, choice);
  std::error_code ignored;
  if (std::filesystem::is_directory(argument, ignored)) return read_checkpoint(path);  // runs hold nothing else
  const Safetensors file = Safetensors::read(path, {.require_checksum = false});
  if (is_checkpoint(file)) return read_checkpoint(path);
  const auto format = file.metadata().find("format");
  if (format != file.metadata().end() && format->second == "hotloop-policy")
    throw Error(path.string() + ": is what export wrote, no checkpoint of hotloop: name the run that it is of");
  const Program* program = program_of(file);
  if (program == nullptr)
    throw Error(path.string() +
                ": a safetensors file, but no checkpoint of hotloop nor a policy of CleanRL or Stable-Baselines3 "
                "(actor.0.weight, actor_mean.0.weight or action_net.weight)");
  if (options.task.empty())
    throw Error(path.string() + ": is a policy of " + program->name +
                ", which does not say its task: name it by --task");
  const EnvEntry& env = find_environment(options.task);
  Translation translation(file, *program);
  translation.translate(options, env.spec.action);
  CheckpointInfo info;
  // resolved like any configuration, with the task's options
  info.config = resolve_settings(parse_settings(to_toml(translation.config), path.string()));
  info.counters.window_reward_terms.resize(env.spec.reward_terms.size());
  return Safetensors::of(path.string(), translation.tensors, checkpoint_metadata(info));
}

Safetensors read_policy(const PolicyTarget& target) {
  Safetensors file = read_policy(target.path, target.checkpoint,
                                 {target.task, target.activation.empty() ? "tanh" : target.activation});
  const TrainConfig config = checkpoint_info(file).config;
  if (!target.task.empty() && target.task != config.task)
    throw Error(fmt::format("--task {}: {} is a policy of {}", shown(target.task), file.name(), config.task));
  if (!target.activation.empty() && target.activation != config.activation)
    throw Error(
        fmt::format("--activation {}: the policy of {} has {}", target.activation, file.name(), config.activation));
  return file;
}

}  // namespace hotloop
