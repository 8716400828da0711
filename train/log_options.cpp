#include "train/log_options.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "sim/core/error.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

constexpr const char* kDefaultKeys =
    "observation,action,next/reward,next/reward_terms,next/terminated,next/truncated,sample_log_prob,state_value,state";

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return words;
}

void select_keys(const std::string& text, const Arena& arena, LogSelection& selection) {
  std::vector<std::string> known = {"all", "state"};
  // terminal observations are in the table final/ of every log
  for (const Leaf& leaf : arena.leaves())
    if (leaf.name != "final_observation") known.push_back(leaf.name);
  std::set<std::string> chosen;
  for (const std::string& word : split(text)) {
    const bool is_known = std::find(known.begin(), known.end(), word) != known.end();
    if (!is_known && text == kDefaultKeys) continue;  // a play has no values to log, many tasks name no terms
    if (!is_known)
      throw Error("--log-keys: no key " + shown(word) + suggestion(word, known) + "; the keys are all, state" + [&] {
        std::string names;
        for (std::size_t i = 2; i < known.size(); ++i) names += ", " + known[i];
        return names;
      }());
    if (word == "state")
      selection.state = true;
    else if (word == "all")
      chosen.insert(known.begin() + 2, known.end());
    else
      chosen.insert(word);
  }
  if (selection.state && !chosen.contains("action"))
    throw Error("--log-keys " + shown(text) + ": state without action cannot be replayed, add action");
  for (const Leaf& leaf : arena.leaves())
    if (chosen.contains(leaf.name)) selection.keys.push_back(leaf.name);
}

// `what` stands before the number where it is only a part of the value.
std::int64_t world_number(const std::string& what, const std::string& text, double low, double high) {
  std::int64_t value = 0;
  parse_value("--log-envs " + what, text, {.low = low, .high = high}, value);
  return value;
}

std::vector<std::int32_t> select_worlds(const std::string& text, std::int64_t num_envs) {
  if (text.find_first_not_of("0123456789,-") != std::string::npos)
    throw Error("--log-envs " + shown(text) + ": must be N, A-B or A,B,C: the first N worlds, a range, a list");
  const auto last = static_cast<double>(num_envs - 1);
  const auto world = [&](const std::string& word) { return world_number(shown(text) + ": world", word, 0, last); };
  std::int64_t begin = 0, count = num_envs;
  const std::size_t dash = text.find('-');
  if (text.find(',') != std::string::npos) {
    std::vector<std::int32_t> worlds;
    for (const std::string& word : split(text)) {
      const auto number = static_cast<std::int32_t>(world(word));
      if (!worlds.empty() && number <= worlds.back())
        throw Error("--log-envs " + shown(text) + ": world " + std::to_string(number) + " after " +
                    std::to_string(worlds.back()) + ": a list must ascend");
      worlds.push_back(number);
    }
    return worlds;
  }
  if (dash != std::string::npos && dash > 0) {
    begin = world(text.substr(0, dash));
    count = world(text.substr(dash + 1)) - begin + 1;
    if (count < 1) throw Error("--log-envs " + shown(text) + ": the second world is before the first");
  } else if (!text.empty()) {
    count = world_number("(number of worlds)", text, 1, static_cast<double>(num_envs));
  }
  std::vector<std::int32_t> worlds(static_cast<std::size_t>(count));
  std::iota(worlds.begin(), worlds.end(), static_cast<std::int32_t>(begin));
  return worlds;
}

}  // namespace

LogSelection select_log(const LogOptions& options, const Arena& arena, std::int64_t num_envs) {
  LogSelection selection;
  select_keys(options.keys.empty() ? kDefaultKeys : options.keys, arena, selection);
  selection.worlds = select_worlds(options.envs, num_envs);
  return selection;
}

}  // namespace hotloop
