#include "data/log/log_format.h"

#include <charconv>
#include <set>

#include "sim/core/error.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

struct Meaning {
  const char *name, *units, *description;
};
constexpr Meaning kMeanings[] = {
    {"observation", "of the task", "before the step"},
    {"action", "of the task", "as the task was given it"},
    {"next/reward", "of the task", "for the step, not normalised"},
    {kRewardTermsKey, "of the task", "parts of the reward, by `names`"},
    {"next/terminated", "", "the task ended the episode with this step"},
    {"next/truncated", "", "the time limit ended the episode with this step"},
    {"sample_log_prob", "nat", "log of the probability (density) of the action under the policy"},
    {"state_value", "of the reward", "the critic's value of the observation"},
    {"advantage", "of the reward", "GAE, not normalised over a minibatch"},
    {"value_target", "of the reward", "advantage + state_value, what the critic is trained to"},
    {"policy_sample", "", "what the policy drew, before bounds were applied"},
    {"action_mask", "", "legal choices of the action"},
};

// The number of the segment of `log` that has this name; -1: of none.
std::int64_t segment_number(const std::string& name, const fs::path& log) {
  if (name == log.filename()) return 0;
  const std::string begin = log.stem().string() + ".", end = log.extension().string();
  if (name.size() <= begin.size() + end.size() || !name.starts_with(begin) || !name.ends_with(end)) return -1;
  const std::string digits = name.substr(begin.size(), name.size() - begin.size() - end.size());
  std::int64_t number = 0;
  const auto [at, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  // as log_segment_path spells it: no sign, no leading zero
  return failure == std::errc() && number > 0 && std::to_string(number) == digits ? number : -1;
}

}  // namespace

fs::path log_segment_path(const fs::path& log, std::int64_t segment) {
  if (segment == 0) return log;
  fs::path path = log;
  return path.replace_extension("." + std::to_string(segment) + log.extension().string());
}

fs::path log_part_path(const fs::path& segment) { return segment.string() + ".part"; }

std::vector<std::int64_t> log_segments(const fs::path& log) {
  const fs::path folder = log.has_parent_path() ? log.parent_path() : fs::path(".");
  std::set<std::int64_t> numbers;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path name = entry->path().filename();
    const fs::path whole = name.extension() == ".part" ? name.stem() : name;
    if (const std::int64_t number = segment_number(whole.string(), log); number >= 0) numbers.insert(number);
  }
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
    throw Error(shown(folder.string()) + ": " + error.message());
  return {numbers.begin(), numbers.end()};
}

LogKey describe_log_key(std::string name, DType dtype, std::vector<std::int64_t> shape) {
  LogKey key{std::move(name), dtype, std::move(shape)};
  for (const Meaning& m : kMeanings)
    if (key.name == m.name) key.units = m.units, key.description = m.description;
  return key;
}

}  // namespace hotloop
