// read_comparison: arguments to groups of runs.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/core/error.h"
#include "sim/core/value.h"
#include "train/run_scores.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

// Settings that reach no policy, or are looked at on their own.
const std::set<std::string> kIgnored = {"task",
                                        "seed",
                                        "exp_name",
                                        "run_dir",
                                        "device",
                                        "capture",
                                        "num_threads",
                                        "checkpoint_interval",
                                        "keep_checkpoints",
                                        "log_interval"};

struct NamedRun {
  std::string group;  // empty: not named yet
  ScoredRun run;
};

std::vector<std::string> folders_of(const std::string& pattern) {
  std::error_code ignored;
  if (fs::exists(pattern, ignored)) return {pattern};
  glob_t found{};
  std::vector<std::string> folders;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) folders.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (folders.empty()) throw Error("no run " + shown(pattern));
  return folders;
}

std::vector<NamedRun> read_runs(const std::vector<std::string>& arguments, const ScoreRule& rule,
                                std::vector<std::string>& left_out) {
  std::vector<NamedRun> runs;
  std::set<fs::path> seen;
  const auto add = [&](const std::string& group, const std::string& pattern) {
    for (const std::string& folder : folders_of(pattern)) {
      if (!seen.insert(fs::canonical(folder)).second) throw Error("run " + shown(folder) + ": given twice");
      try {
        runs.push_back({group, read_run(folder, rule)});
      } catch (const NoValues& e) {
        left_out.emplace_back(e.what());
      }
    }
  };
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    std::error_code ignored;
    if (equals == std::string::npos || fs::exists(argument, ignored)) {
      add("", argument);
      continue;
    }
    if (equals == 0) throw Error(shown(argument) + ": must be RUN or NAME=RUN,RUN,...");
    std::string_view list = std::string_view(argument).substr(equals + 1);
    for (bool more = true; more;) {
      const std::size_t comma = list.find(',');
      add(argument.substr(0, equals), std::string(list.substr(0, comma)));
      more = comma != std::string_view::npos;
      if (more) list.remove_prefix(comma + 1);
    }
  }
  if (runs.empty()) throw Error(left_out.at(0));
  return runs;
}

std::map<std::string, std::string> settings_of(const TrainConfig& config) {
  std::map<std::string, std::string> settings;
  visit_config(config, [&](const char* name, const auto& value, const KeyRule&) {
    if (!kIgnored.contains(name)) settings[name] = toml_text(value);
  });
  for (const EnvOption& option : config.env) settings[option_spelling(option.key)] = option.text;
  return settings;
}

// Names those that have none.
void name_groups(std::vector<NamedRun>& runs) {
  std::map<std::string, std::map<std::string, std::string>> first;  // task: settings of its first run
  std::set<std::string> exp_names, differing;
  for (const NamedRun& r : runs) {
    if (!r.group.empty()) continue;
    exp_names.insert(r.run.config.exp_name);
    const auto settings = settings_of(r.run.config);
    const auto& other = first.try_emplace(r.run.config.task, settings).first->second;
    for (const auto& [key, value] : settings) {
      const auto there = other.find(key);
      if (there == other.end() || there->second != value) differing.insert(key);
    }
  }
  for (NamedRun& r : runs) {
    if (!r.group.empty()) continue;
    std::vector<std::string> words;
    if (exp_names.size() > 1 || differing.empty()) words.push_back(r.run.config.exp_name);
    const auto settings = settings_of(r.run.config);
    for (const std::string& key : differing) {
      const auto value = settings.find(key);
      words.push_back(key + " " + (value == settings.end() ? "-" : value->second));
    }
    r.group = fmt::format("{}", fmt::join(words, ", "));
  }
}

}  // namespace

Comparison read_comparison(const std::vector<std::string>& arguments, const ScoreRule& rule) {
  Comparison comparison;
  std::vector<NamedRun> runs = read_runs(arguments, rule, comparison.left_out);
  name_groups(runs);
  const auto place = [](auto& list, const auto& is_it) {
    return static_cast<std::size_t>(std::find_if(list.begin(), list.end(), is_it) - list.begin());
  };
  for (const NamedRun& r : runs)
    if (place(comparison.tasks, [&](const std::string& t) { return t == r.run.config.task; }) ==
        comparison.tasks.size())
      comparison.tasks.push_back(r.run.config.task);
  for (NamedRun& r : runs) {
    const std::size_t g = place(comparison.groups, [&](const RunGroup& group) { return group.name == r.group; });
    if (g == comparison.groups.size())
      comparison.groups.push_back({r.group, std::vector<std::vector<ScoredRun>>(comparison.tasks.size())});
    const std::size_t t = place(comparison.tasks, [&](const std::string& task) { return task == r.run.config.task; });
    comparison.groups[g].tasks[t].push_back(std::move(r.run));
  }
  for (const RunGroup& group : comparison.groups)
    for (std::size_t t = 0; t < comparison.tasks.size(); ++t)
      if (group.tasks[t].empty())
        throw Error(
            fmt::format("compare: group {} has no run of {}: groups need the same tasks (NAME=RUN,RUN,... says "
                        "what belongs together)",
                        shown(group.name), comparison.tasks[t]));
  return comparison;
}

}  // namespace hotloop
