// replay_command: simulates a trajectory log again and compares bit by bit.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "data/file.h"
#include "data/log/log_reader.h"
#include "sim/core/error.h"
#include "sim/core/value.h"
#include "train/commands.h"
#include "train/log_replayer.h"

namespace hotloop {
namespace {

struct Difference {
  std::int64_t row = 0, world = 0;
  std::string key, logged, replayed;
};

class Replay {
 public:
  Replay(const LogReader& log, const std::string& name, Device device) : log_(log), again_(log, name, device) {}
  void run();

  std::int64_t rows = 0, differences = 0, states = 0;
  std::int64_t compared = 0;  // arrays of the log, states among them
  std::optional<Difference> first;

 private:
  template <class T>
  void compare(const char* key, std::int64_t row, const std::vector<T>& was, const std::vector<T>& is);
  void compare_state(std::int64_t iteration);
  void compare_step(std::int64_t iteration, std::int64_t t);
  void compare_finals(std::int64_t row);
  void note(Difference difference);

  const LogReader& log_;
  LogReplayer again_;
  LogFinals finals_;
  std::size_t next_final_ = 0;
};

void Replay::note(Difference difference) {
  ++differences;
  if (!first) first = std::move(difference);
}

template <class T>
void Replay::compare(const char* key, std::int64_t row, const std::vector<T>& was, const std::vector<T>& is) {
  if (was.size() != is.size()) throw Error(std::string("log: '") + key + "' has another shape than the task gives it");
  ++compared;
  if (std::memcmp(was.data(), is.data(), was.size() * sizeof(T)) == 0) return;
  const std::size_t item = was.size() / log_.env_index().size();
  for (std::size_t i = 0; i < was.size(); ++i)
    if (std::memcmp(&was[i], &is[i], sizeof(T)) != 0)
      note({row, log_.env_index()[i / item], key, fmt::format("{}", was[i]), fmt::format("{}", is[i])});
}

// What the iteration before has left is what this one starts from.
void Replay::compare_state(std::int64_t iteration) {
  std::vector<std::byte> was(log_.state_bytes());
  log_.read_state(iteration, was.data());
  const std::vector<std::byte> is = again_.state();
  ++states, ++compared;
  const auto at = std::mismatch(was.begin(), was.end(), is.begin());
  if (at.first == was.end()) return;
  const auto byte = [](std::byte b) { return std::to_string(std::to_integer<int>(b)); };
  note({iteration * log_.info().num_steps, -1, fmt::format("state[{}]", at.first - was.begin()), byte(*at.first),
        byte(*at.second)});
}

void Replay::compare_step(std::int64_t iteration, std::int64_t t) {
  const std::int64_t row = iteration * log_.info().num_steps + t, d = log_.obs_dim();
  const std::vector<float> after = again_.columns(again_.buffers().observation.data(), d);
  if (t + 1 == log_.info().num_steps) {
    std::vector<float> last(after.size());
    log_.read_last_observation(iteration, 0, log_.num_worlds(), last.data());
    compare("last_observation", row, last, after);
  } else if (log_.contains("observation")) {
    compare("observation", row + 1, again_.logged<float>("observation", row + 1), after);
  }
  if (log_.contains("next/reward"))
    compare("next/reward", row, again_.logged<float>("next/reward", row),
            again_.columns(again_.buffers().reward.data(), 1));
  if (log_.contains(kRewardTermsKey))
    compare(kRewardTermsKey, row, again_.logged<float>(kRewardTermsKey, row),
            again_.columns(again_.buffers().reward_terms.data(),
                           static_cast<std::int64_t>(again_.batch().spec().reward_terms.size())));
  if (log_.contains("next/terminated"))
    compare("next/terminated", row, again_.logged<std::uint8_t>("next/terminated", row),
            again_.columns(again_.buffers().terminated.data(), 1));
  if (log_.contains("next/truncated"))
    compare("next/truncated", row, again_.logged<std::uint8_t>("next/truncated", row),
            again_.columns(again_.buffers().truncated.data(), 1));
  compare_finals(row);
}

void Replay::compare_finals(std::int64_t row) {
  const std::vector<std::uint8_t> terminated = again_.columns(again_.buffers().terminated.data(), 1),
                                  truncated = again_.columns(again_.buffers().truncated.data(), 1);
  const std::int64_t d = log_.obs_dim();
  std::vector<float> observation;
  for (std::size_t column = 0; column < terminated.size(); ++column) {
    const bool ended = (terminated[column] | truncated[column]) != 0;
    const bool is_next = next_final_ < finals_.row.size() && finals_.row[next_final_] == row &&
                         finals_.env[next_final_] == static_cast<std::int32_t>(column);
    const std::int64_t world = log_.env_index()[column];
    if (ended != is_next)
      note({row, world, "final/observation", is_next ? "an end" : "none", ended ? "an end" : "none"});
    if (is_next) ++next_final_;
    if (!ended || !is_next) continue;
    if (observation.empty()) observation = again_.columns(again_.buffers().final_observation.data(), d);
    const float* was = finals_.observation.data() + (next_final_ - 1) * static_cast<std::size_t>(d);
    const float* is = observation.data() + column * static_cast<std::size_t>(d);
    for (std::int64_t k = 0; k < d; ++k)
      if (std::memcmp(was + k, is + k, sizeof(float)) != 0)
        note({row, world, "final/observation", fmt::format("{}", was[k]), fmt::format("{}", is[k])});
  }
}

void Replay::run() {
  const bool all_worlds = log_.num_worlds() == again_.config().num_envs;
  const auto count = static_cast<std::int64_t>(log_.iterations().size());
  for (std::int64_t i = 0; i < count; ++i) {
    if (all_worlds && log_.continues(i)) compare_state(i);
    again_.load_state(i);
    finals_ = log_.read_finals(i);
    next_final_ = 0;
    for (std::int64_t t = 0; t < log_.info().num_steps; ++t) {
      again_.step(i, t);
      compare_step(i, t);
      ++rows;
    }
    again_.end_iteration();
  }
}

std::string json_text(const ReplayOptions& options, const LogReader& log, const Replay& replay) {
  nlohmann::ordered_json out = {{"log", options.log},      {"task", log.info().task},
                                {"rows", replay.rows},     {"worlds", log.num_worlds()},
                                {"states", replay.states}, {"differences", replay.differences}};
  if (replay.first)
    out["first"] = {{"row", replay.first->row},
                    {"world", replay.first->world},
                    {"key", replay.first->key},
                    {"logged", replay.first->logged},
                    {"replayed", replay.first->replayed}};
  out["problems"] = log.problems();
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string verdict(const LogReader& log, const Replay& replay) {
  if (replay.compared == 0) return "nothing to compare\n";
  if (replay.differences == 0)
    return log.problems().empty() ? "equal, bit by bit\n" : "equal, bit by bit, as far as the log could be read\n";
  const Difference& d = *replay.first;
  return fmt::format("{} values differ; the first: row {}, {}{}: logged {}, replayed {}\n", replay.differences, d.row,
                     d.world >= 0 ? fmt::format("world {}, ", d.world) : std::string(), d.key, d.logged, d.replayed);
}

}  // namespace

int replay_command(const ReplayOptions& options) {
  const LogReader log(options.log);
  Replay replay(log, options.log, replay_device(log, options.log, options.device));
  replay.run();
  if (options.json) {
    write_output(json_text(options, log, replay));
  } else {
    std::string text;
    for (const std::string& problem : log.problems()) text += "problem: " + one_line(problem) + "\n";
    text += fmt::format("{}: {} rows of {} worlds of {} simulated again, {} states compared\n", options.log,
                        replay.rows, log.num_worlds(), one_line(log.info().task), replay.states);
    write_output(text + verdict(log, replay));
  }
  return replay.differences == 0 && replay.compared > 0 && log.problems().empty() ? 0 : 1;
}

}  // namespace hotloop
