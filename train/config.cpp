#include "train/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <type_traits>

#include "sim/core/error.h"
#include "sim/core/registry.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

// Spellings elsewhere that set one of our keys by way of another value.
struct DerivedKey {
  const char* spelling;
  const char* key;
};
constexpr DerivedKey kDerivedKeys[] = {{"anneal_lr", "lr_schedule"},
                                       {"minibatch_size", "num_minibatches"},
                                       {"batch_size", "num_minibatches"},
                                       {"max_iterations", "total_timesteps"}};

std::string underscored(std::string text) {
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

bool is_spelling(const std::string& word, const char* name, const KeyRule& rule) {
  return word == name || std::find(rule.aliases.begin(), rule.aliases.end(), word) != rule.aliases.end();
}

constexpr std::string_view kEnvPrefix = "env.";

// The key of a task's option, of a spelling env.NAME or randomize.FIELD.
std::optional<std::string> env_option(const std::string& spelling) {
  const std::string word = underscored(spelling);
  if (is_randomize(word)) return word;
  if (!word.starts_with(kEnvPrefix) || is_randomize(word.substr(kEnvPrefix.size()))) return std::nullopt;
  return word.substr(kEnvPrefix.size());
}

// The given options of the task with the others at their defaults.
EnvOptions complete_options(const std::string& task, const EnvOptions& given) {
  for (const EnvEntry& entry : environments())
    if (entry.spec.name == task) return resolve_options(entry, given);
  return given;
}

// An option's value in TOML: what is no number, flag or range is text.
std::string toml_option(const std::string& text) {
  double number = 0;
  const bool plain = is_boolean(text) || text.starts_with("[") ||
                     std::from_chars(text.data(), text.data() + text.size(), number).ptr == text.data() + text.size();
  return plain && !text.empty() ? text : toml_text(text);
}

[[noreturn]] void refuse_unknown(const Setting& s) {
  const std::vector<std::string> known = config_spellings();
  if (!s.where.empty()) throw Error(s.where + ": unknown key " + shown(s.key) + suggestion(underscored(s.key), known));
  std::string near = nearest(underscored(s.key), known);
  std::replace(near.begin(), near.end(), '_', '-');
  throw Error("--" + s.key + ": unknown option" + (near.empty() ? "" : " (did you mean '--" + near + "'?)"));
}

void assign(TrainConfig& config, const Setting& s) {
  const std::string word = underscored(s.key);
  if (word == "anneal_lr") {
    bool anneal = false;
    parse_value(s.label(), s.text, {}, anneal);
    config.lr_schedule = anneal ? "linear" : "constant";
    return;
  }
  bool found = false;
  visit_config(config, [&](const char* name, auto& value, const KeyRule& rule) {
    if (found || !is_spelling(word, name, rule)) return;
    found = true;
    parse_value(s.label(), s.text, rule, value);
  });
  if (!found) refuse_unknown(s);
}

bool needs_rollout_size(const std::string& spelling) {
  return spelling == "minibatch_size" || spelling == "batch_size" || spelling == "max_iterations";
}

// minibatch_size and max_iterations, once num_envs and num_steps are final.
void assign_from_rollout(TrainConfig& config, const Setting& s) {
  const std::int64_t rollout = config.num_envs * config.num_steps;
  std::int64_t value = 0;
  if (underscored(s.key) == "max_iterations") {
    parse_value(s.label(), s.text, {.low = 1, .high = 1e15 / static_cast<double>(rollout)}, value);
    config.total_timesteps = value * rollout;
    return;
  }
  parse_value(s.label(), s.text, {.low = 1, .high = 1e12}, value);
  if (rollout % value != 0)
    throw Error(fmt::format("{} {}: must divide num_envs * num_steps = {} * {} = {}", s.label(), shown(s.text),
                            config.num_envs, config.num_steps, rollout));
  config.num_minibatches = rollout / value;
}

bool may_change_on_resume(const std::string& key) {
  bool may = false;
  const TrainConfig defaults;
  visit_config(defaults, [&](const char* name, const auto&, const KeyRule& rule) {
    if (key == name) may = rule.may_change;
  });
  return may;
}

std::string changeable_keys() {
  std::vector<std::string> keys;
  const TrainConfig defaults;
  visit_config(defaults, [&](const char* name, const auto&, const KeyRule& rule) {
    if (rule.may_change) keys.emplace_back(name);
  });
  return fmt::format("{}", fmt::join(keys, ", "));
}

void check_device(const std::string& device) {
  constexpr std::string_view kCuda = "cuda:";
  const bool numbered = device.size() > kCuda.size() && device.size() <= kCuda.size() + 3 &&
                        device.starts_with(kCuda) &&
                        device.find_first_not_of("0123456789", kCuda.size()) == std::string::npos;
  if (device != "auto" && device != "cpu" && device != "cuda" && !numbered)
    throw Error("device " + shown(device) + ": must be auto, cpu, cuda or cuda:N");
}

void check_names(const TrainConfig& c) {
  if (c.exp_name.empty() || c.exp_name.size() > 100 || c.exp_name.find('/') != std::string::npos || c.exp_name == "." ||
      c.exp_name == ".." || shown(c.exp_name).find('\\') != std::string::npos)
    throw Error("exp_name " + shown(c.exp_name) + ": must be 1 to 100 characters of a file name, without '/'");
}

void check_minibatches(const TrainConfig& c) {
  constexpr std::int64_t kMaxRollout = 2147483647;  // samples are indexed by 32 bits
  const std::int64_t rollout = c.num_envs * c.num_steps;
  const std::string product = fmt::format("num_envs * num_steps = {} * {} = {}", c.num_envs, c.num_steps, rollout);
  if (rollout > kMaxRollout) throw Error(fmt::format("{}: must be at most {}", product, kMaxRollout));
  if (rollout % c.num_minibatches != 0)
    throw Error(fmt::format("num_minibatches {}: must divide {}", c.num_minibatches, product));
  const std::int64_t minibatch = rollout / c.num_minibatches;
  if (minibatch % c.num_shards != 0)
    throw Error(fmt::format("num_shards {}: must divide the minibatch of {} samples ({}, in {} minibatches)",
                            c.num_shards, minibatch, product, c.num_minibatches));
  if (c.norm_adv && minibatch < 2)
    throw Error(fmt::format("norm_adv true: needs minibatches of 2 samples or more, num_minibatches {} leaves {}",
                            c.num_minibatches, minibatch));
}

void check_learning_rate(const TrainConfig& c) {
  if (c.min_learning_rate > c.max_learning_rate)
    throw Error(fmt::format("min_learning_rate {}: must be at most max_learning_rate {}", c.min_learning_rate,
                            c.max_learning_rate));
  const bool outside = c.learning_rate < c.min_learning_rate || c.learning_rate > c.max_learning_rate;
  if (c.lr_schedule == "adaptive" && outside)
    throw Error(
        fmt::format("learning_rate {}: lr_schedule adaptive needs it in [min_learning_rate, max_learning_rate] "
                    "= [{}, {}]",
                    c.learning_rate, c.min_learning_rate, c.max_learning_rate));
}

}  // namespace

std::string Setting::label() const { return where.empty() ? "--" + shown(key) : where + ": " + shown(key) + " ="; }

TrainConfig resolve_settings(const std::vector<Setting>& settings) {
  TrainConfig config;
  // the last spelling of a key wins, also where an earlier layer wrote minibatch_size and a later one num_minibatches
  const Setting *minibatches = nullptr, *timesteps = nullptr;
  for (const Setting& s : settings) {
    const std::optional<std::string> key = canonical_key(s.key);
    if (!key) refuse_unknown(s);
    if (const std::optional<std::string> option = env_option(s.key)) {
      config.env.push_back({*option, s.text, s.label()});
      continue;
    }
    const bool late = needs_rollout_size(underscored(s.key));
    if (*key == "num_minibatches") minibatches = late ? &s : nullptr;
    if (*key == "total_timesteps") timesteps = late ? &s : nullptr;
    if (!late) assign(config, s);
  }
  for (const Setting* s : {minibatches, timesteps})
    if (s) assign_from_rollout(config, *s);
  config.env = complete_options(config.task, config.env);
  if (config.algo == "bc" && config.exp_name == TrainConfig().exp_name) config.exp_name = config.algo;
  return config;
}

void apply_setting(TrainConfig& config, const Setting& setting) { assign(config, setting); }

TrainConfig load_config_file(const std::filesystem::path& path) {
  const TrainConfig config = resolve_settings(read_settings(path));
  validate(config);
  return config;
}

TrainConfig resume_config(const std::filesystem::path& run, const std::vector<Setting>& changes) {
  std::error_code ignored;
  const std::filesystem::path file = run / "config.toml";
  if (!std::filesystem::exists(run, ignored)) throw Error(shown(run.string()) + ": no such run folder");
  if (!std::filesystem::exists(file, ignored))
    throw Error(shown(run.string()) + ": is not a run folder, it holds no config.toml");
  std::vector<Setting> settings = read_settings(file);
  for (const Setting& change : changes) {
    const std::optional<std::string> key = canonical_key(change.key);
    if (!key) refuse_unknown(change);
    if (!may_change_on_resume(*key))
      throw Error(change.label() + " " + shown(change.text) + ": a resumed run keeps its " + *key + "; only " +
                  changeable_keys() + " may change");
    settings.push_back(change);
  }
  TrainConfig config = resolve_settings(settings);
  validate(config);
  return config;
}

void validate(const TrainConfig& c) {
  check_device(c.device);
  check_names(c);
  check_minibatches(c);
  check_learning_rate(c);
  if (c.capture == "on" && c.device == "cpu")
    throw Error("capture on: needs device cuda, device is cpu (a CUDA graph is what is captured)");
  if (c.algo == "bc" && c.dataset.empty())
    throw Error("algo bc: needs a dataset, a folder that `record --format tensordict` wrote");
  if (c.algo != "bc" && !c.dataset.empty())
    throw Error("dataset " + shown(c.dataset) + ": is of algo bc, algo is " + c.algo);
  if (c.init_from.empty() && (c.init_parts != "all" || c.init_partial))
    throw Error(c.init_partial ? "init_partial true: needs init_from"
                               : "init_parts " + c.init_parts + ": needs init_from");
  if (c.shared_network && !c.critic_hidden_sizes.empty())
    throw Error("critic_hidden_sizes " + toml_text(c.critic_hidden_sizes) +
                ": contradicts shared_network true, where actor and critic have hidden_sizes in common");
}

void validate(const TrainConfig& c, const ActionSpace& action) {
  validate(c);
  if (c.action_distribution == "squashed_gaussian" && !action.is_box())
    throw Error("action_distribution squashed_gaussian: " + shown(c.task) +
                " has discrete actions; it must be gaussian (which discrete actions ignore)");
}

std::string to_toml(const TrainConfig& config) {
  std::string out = "# hotloop configuration: `hotloop train` with this file starts the same run again\n";
  std::string group;
  visit_config(config, [&](const char* name, const auto& value, const KeyRule& rule) {
    if (group != rule.group) out += fmt::format("\n# {}\n", rule.group), group = rule.group;
    out += fmt::format("{} = {}  # {}\n", name, toml_text(value), rule.help);
  });
  std::string env, fields;
  for (const EnvOption& option : config.env) {
    const bool field = is_randomize(option.key);
    (field ? fields : env) += fmt::format("{} = {}\n", field ? option.key.substr(kRandomizePrefix.size()) : option.key,
                                          toml_option(option.text));
  }
  if (!env.empty()) out += fmt::format("\n# options of {}\n[env]\n{}", config.task, env);
  if (!fields.empty()) out += "\n# ranges from which each world draws its part of the model\n[randomize]\n" + fields;
  return out;
}

std::optional<std::string> canonical_key(const std::string& spelling) {
  if (const std::optional<std::string> option = env_option(spelling)) return option_spelling(*option);
  const std::string word = underscored(spelling);
  for (const DerivedKey& derived : kDerivedKeys)
    if (word == derived.spelling) return derived.key;
  std::optional<std::string> key;
  const TrainConfig defaults;
  visit_config(defaults, [&](const char* name, const auto&, const KeyRule& rule) {
    if (is_spelling(word, name, rule)) key = name;
  });
  return key;
}

std::vector<std::string> config_spellings() {
  std::vector<std::string> all;
  const TrainConfig defaults;
  visit_config(defaults, [&](const char* name, const auto&, const KeyRule& rule) {
    all.emplace_back(name);
    all.insert(all.end(), rule.aliases.begin(), rule.aliases.end());
  });
  for (const DerivedKey& derived : kDerivedKeys) all.emplace_back(derived.spelling);
  return all;
}

bool is_flag_key(const std::string& spelling) {
  const std::string word = underscored(spelling);
  bool flag = word == "anneal_lr";
  const TrainConfig defaults;
  visit_config(defaults, [&](const char* name, const auto& value, const KeyRule& rule) {
    if (is_spelling(word, name, rule)) flag = std::is_same_v<std::decay_t<decltype(value)>, bool>;
  });
  return flag;
}

}  // namespace hotloop
