#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "app/cli.h"
#include "sim/core/error.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

std::string dashed(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string expectation(const std::string& spelling) {
  std::string text = "a value";
  if (spelling.starts_with("env.") || is_randomize(spelling)) text += "; hotloop list TASK shows the options of a task";
  const TrainConfig defaults;
  visit_config(defaults, [&](const char* name, const auto& value, const KeyRule& rule) {
    if (canonical_key(spelling) == name) text = accepted(rule, value);
  });
  return text;
}

// The key of "--no-norm-adv", if it is one.
std::optional<std::string> negated_flag(const std::string& name) {
  if (!name.starts_with("no-") && !name.starts_with("no_")) return std::nullopt;
  const std::string key = name.substr(3);
  return is_flag_key(key) ? std::optional(key) : std::nullopt;
}

// Reads args[i] and, where it is the option's value, args[i + 1]; nothing if args[i] is no configuration key.
std::optional<Setting> take_one(const std::vector<std::string>& args, std::size_t& i) {
  if (!is_option(args[i])) return std::nullopt;
  const std::size_t equals = args[i].find('=');
  const std::string name = args[i].substr(2, equals == std::string::npos ? equals : equals - 2);
  const std::optional<std::string> given =
      equals == std::string::npos ? std::nullopt : std::optional(args[i].substr(equals + 1));
  if (const std::optional<std::string> key = negated_flag(name)) {
    if (given) throw Error("--" + name + " " + shown(*given) + ": takes no value");
    return Setting{*key, "false", ""};
  }
  if (!canonical_key(name)) return std::nullopt;
  if (given) return Setting{name, *given, ""};
  const bool has_next = i + 1 < args.size();
  if (is_flag_key(name)) {
    const bool takes_next = has_next && is_boolean(args[i + 1]);
    return Setting{name, takes_next ? args[++i] : "true", ""};
  }
  if (!has_next || is_option(args[i + 1])) throw Error("--" + name + ": needs a value, " + expectation(name));
  return Setting{name, args[++i], ""};
}

// What a value must be, short: "[0, 1]", "tanh, relu"; nothing for flags and free text.
std::string short_rule(const std::string& takes, const KeyRule& rule) {
  if (!rule.choices.empty()) return fmt::format("{}", fmt::join(rule.choices, ", "));
  const std::size_t bracket = takes.rfind('[');
  return bracket == std::string::npos ? "" : "in " + takes.substr(bracket);
}

std::string help_line(const char* name, const std::string& takes, const std::string& preset, const KeyRule& rule) {
  std::string line = fmt::format("  --{:<23} {}\n", dashed(name), rule.help);
  const auto detail = [&](const std::string& text) { line += fmt::format("  {:<25} {}\n", "", text); };
  const std::string limits = short_rule(takes, rule);
  const std::string given = preset == "\"\"" ? "" : "default " + preset;
  if (!limits.empty() || !given.empty())
    detail(fmt::format("  {}{}{}", given, given.empty() || limits.empty() ? "" : "; ", limits));
  if (!rule.aliases.empty()) {
    std::vector<std::string> flags;
    for (const std::string& alias : rule.aliases) flags.push_back("--" + dashed(alias));
    detail(fmt::format("  also {}", fmt::join(flags, ", ")));
  }
  return line;
}

}  // namespace

bool is_option(const std::string& argument) {
  return argument.size() > 2 && argument.starts_with("--") && std::isalpha(static_cast<unsigned char>(argument[2]));
}

bool takes_settings(const std::string& command) { return command == "train" || command == "bench"; }

std::vector<Setting> take_settings(std::vector<std::string>& args, const std::string& prefix) {
  std::vector<Setting> settings;
  std::vector<std::string> rest;
  std::map<std::string, std::string> seen;  // canonical key, flag as typed
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--") {
      rest.insert(rest.end(), args.begin() + static_cast<std::ptrdiff_t>(i), args.end());
      break;
    }
    const std::string typed = args[i].substr(0, args[i].find('='));
    const bool wanted = args[i].starts_with("--" + prefix);
    const std::optional<Setting> setting = wanted ? take_one(args, i) : std::nullopt;
    if (!setting) {
      rest.push_back(args[i]);
      continue;
    }
    const auto [first, inserted] = seen.try_emplace(*canonical_key(setting->key), typed);
    if (!inserted && first->second == typed) throw Error(typed + ": given twice, keep one");
    if (!inserted) throw Error(typed + " and " + first->second + " both set " + first->first + ": keep one");
    settings.push_back(*setting);
  }
  args = std::move(rest);
  return settings;
}

std::string settings_help() {
  std::string out =
      "Configuration keys (dashes and underscores are the same; --no-KEY turns a flag off;\n"
      "the defaults of a task are in assets/configs/TASK.toml):\n";
  std::string group;
  const TrainConfig defaults;
  visit_config(defaults, [&](const char* name, const auto& value, const KeyRule& rule) {
    if (group != rule.group) out += fmt::format("\n{}:\n", rule.group), group = rule.group;
    out += help_line(name, accepted(rule, value), toml_text(value), rule);
  });
  out +=
      "\nSpellings of others that set a key by way of another value:\n"
      "  --anneal-lr               lr_schedule linear (true) or constant (false)\n"
      "  --minibatch-size          samples of a minibatch, sets num_minibatches; also --batch-size\n"
      "  --max-iterations          rollouts in all, sets total_timesteps\n"
      "\nOptions of the task (hotloop list TASK shows them):\n"
      "  --env.NAME                a table [env] in files\n"
      "  --randomize.FIELD         low,high: worlds draw this part of the model, a table [randomize]\n";
  return out;
}

}  // namespace hotloop
