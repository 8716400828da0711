// replay_command: simulates a trajectory log again and compares bit by bit.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "data/file.h"
#include "data/log/log_reader.h"
#include "sim/core/error.h"
#include "sim/core/registry.h"
#include "sim/core/thread_pool.h"
#include "sim/core/value.h"
#include "train/commands.h"

namespace hotloop {
namespace {

struct Difference {
  std::int64_t row = 0, world = 0;
  std::string key, logged, replayed;
};

TrainConfig logged_config(const LogReader& log, const std::string& name) {
  const TrainConfig config = resolve_settings(parse_settings(log.info().config, name + ": attribute 'config'"));
  const LogInfo& i = log.info();
  if (config.task != i.task || config.num_envs != i.num_envs || config.seed != i.seed ||
      config.num_steps != i.num_steps)
    throw Error(name + ": attribute 'config' contradicts the others");
  // before memory for so many worlds is asked for; a world's state is 4 bytes or more
  if (log.state_bytes() / 4 < static_cast<std::size_t>(config.num_envs))
    throw Error(
        fmt::format("{}: 'state' has {} bytes: too few for {} worlds", name, log.state_bytes(), config.num_envs));
  return config;
}

Device replay_device(const LogReader& log, const ReplayOptions& options) {
  if (!options.device.empty()) return parse_device(options.device);
  const bool cuda = log.info().device.rfind("cuda", 0) == 0;
  if (cuda && cuda_device_count() == 0)
    throw Error(options.log + ": was made on " + one_line(log.info().device) +
                ", and no CUDA device answers here; --device cpu gives other bits");
  return parse_device(cuda ? "cuda" : "cpu");
}

class Replay {
 public:
  Replay(const LogReader& log, const std::string& name, Device device);
  void run();

  std::int64_t rows = 0, differences = 0, states = 0;
  std::optional<Difference> first;

 private:
  template <class T>
  std::vector<T> logged(const char* key, std::int64_t row) const;
  template <class T>
  std::vector<T> columns(const T* replayed, std::int64_t item) const;
  template <class T>
  void compare(const char* key, std::int64_t row, const std::vector<T>& was, const std::vector<T>& is);
  void load_state(std::int64_t iteration);
  void compare_state(std::int64_t iteration);
  void step(std::int64_t iteration, std::int64_t t);
  void compare_step(std::int64_t iteration, std::int64_t t);
  void load_actions(std::int64_t row);
  void compare_finals(std::int64_t row);
  void note(Difference difference);

  const LogReader& log_;
  TrainConfig config_;
  const EnvEntry& env_;
  ThreadPool pool_;
  StreamHandle stream_;
  Exec exec_;
  std::unique_ptr<Batch> batch_;
  StepBuffers buffers_;
  Buffer<EpisodeStats> episodes_;
  std::vector<std::byte> state_, actions_;
  LogFinals finals_;
  std::size_t next_final_ = 0;
};

Replay::Replay(const LogReader& log, const std::string& name, Device device)
    : log_(log),
      config_(logged_config(log, name)),
      env_(find_environment(config_.task)),
      pool_(static_cast<int>(config_.num_threads)),
      stream_(device),
      exec_{device, stream_.get(), &pool_},
      buffers_(spec_with_options(env_, config_.env), config_.num_envs, device),
      episodes_(device, 1) {
  BatchConfig batch;
  batch.num_envs = config_.num_envs;
  batch.seed = static_cast<std::uint64_t>(config_.seed);
  batch.device = device;
  batch.max_episode_steps = static_cast<int>(config_.max_episode_steps);
  batch.evaluation = log.info().source == kPlaySource;
  batch.random_episode_start = config_.random_episode_start;
  batch.options = config_.env;
  batch_ = env_.make(batch);
  batch_->reset(exec_, buffers_.observation.data(), buffers_.action_mask.data());
  const ActionSpace& action = batch_->spec().action;
  const LogKey& key = log.key("action");
  if (batch_->raw_state_bytes() != log.state_bytes() || batch_->spec().obs_dim() != log.obs_dim() ||
      key.numel() != action.dim() || key.dtype != (action.is_box() ? DType::f32 : DType::i64))
    throw Error(name + ": its states, observations or actions are not of this version's " + shown(config_.task));
  state_.resize(batch_->raw_state_bytes());
  actions_.resize(static_cast<std::size_t>(config_.num_envs * key.numel()) * dtype_size(key.dtype));
}

template <class T>
std::vector<T> Replay::logged(const char* key, std::int64_t row) const {
  const LogKey& k = log_.key(key);
  if (k.bytes() % sizeof(T) != 0) throw Error(std::string("log: '") + key + "' has another element type");
  std::vector<T> values(static_cast<std::size_t>(log_.num_worlds()) * k.bytes() / sizeof(T));
  log_.read(key, row, 1, 0, log_.num_worlds(), values.data());
  return values;
}

// The logged worlds of an array [num_envs, item] of the device.
template <class T>
std::vector<T> Replay::columns(const T* replayed, std::int64_t item) const {
  std::vector<T> all(static_cast<std::size_t>(config_.num_envs * item)), some;
  copy_async(exec_, all.data(), {}, replayed, exec_.device, all.size() * sizeof(T));
  synchronize(exec_);
  for (const std::int32_t world : log_.env_index())
    some.insert(some.end(), all.begin() + world * item, all.begin() + (world + 1) * item);
  return some;
}

void Replay::note(Difference difference) {
  ++differences;
  if (!first) first = std::move(difference);
}

template <class T>
void Replay::compare(const char* key, std::int64_t row, const std::vector<T>& was, const std::vector<T>& is) {
  if (was.size() != is.size()) throw Error(std::string("log: '") + key + "' has another shape than the task gives it");
  if (std::memcmp(was.data(), is.data(), was.size() * sizeof(T)) == 0) return;
  const std::size_t item = was.size() / log_.env_index().size();
  for (std::size_t i = 0; i < was.size(); ++i)
    if (std::memcmp(&was[i], &is[i], sizeof(T)) != 0)
      note({row, log_.env_index()[i / item], key, fmt::format("{}", was[i]), fmt::format("{}", is[i])});
}

void Replay::load_state(std::int64_t iteration) {
  log_.read_state(iteration, state_.data());
  copy_async(exec_, batch_->raw_state(), exec_.device, state_.data(), {}, state_.size());
  synchronize(exec_);
}

// What the iteration before has left is what this one starts from.
void Replay::compare_state(std::int64_t iteration) {
  std::vector<std::byte> was(state_.size()), is(state_.size());
  log_.read_state(iteration, was.data());
  copy_async(exec_, is.data(), {}, batch_->raw_state(), exec_.device, is.size());
  synchronize(exec_);
  ++states;
  const auto at = std::mismatch(was.begin(), was.end(), is.begin());
  if (at.first == was.end()) return;
  const auto byte = [](std::byte b) { return std::to_string(std::to_integer<int>(b)); };
  note({iteration * config_.num_steps, -1, fmt::format("state[{}]", at.first - was.begin()), byte(*at.first),
        byte(*at.second)});
}

// Worlds that were not logged get zeros: they move, but reach no other.
void Replay::load_actions(std::int64_t row) {
  const std::size_t item = log_.key("action").bytes();
  const std::vector<std::byte> some = logged<std::byte>("action", row);
  for (std::size_t i = 0; i < log_.env_index().size(); ++i)
    std::memcpy(actions_.data() + static_cast<std::size_t>(log_.env_index()[i]) * item, some.data() + i * item, item);
  copy_async(exec_, buffers_.action.data(), exec_.device, actions_.data(), {}, actions_.size());
}

void Replay::step(std::int64_t iteration, std::int64_t t) {
  const std::int64_t row = iteration * config_.num_steps + t;
  load_actions(row);
  batch_->step(exec_, buffers_.io());
  synchronize(exec_);
  compare_step(iteration, t);
  ++rows;
}

void Replay::compare_step(std::int64_t iteration, std::int64_t t) {
  const std::int64_t row = iteration * config_.num_steps + t, d = log_.obs_dim();
  const std::vector<float> after = columns(buffers_.observation.data(), d);
  if (t + 1 == config_.num_steps) {
    std::vector<float> last(after.size());
    log_.read_last_observation(iteration, 0, log_.num_worlds(), last.data());
    compare("last_observation", row, last, after);
  } else if (log_.contains("observation")) {
    compare("observation", row + 1, logged<float>("observation", row + 1), after);
  }
  if (log_.contains("next/reward"))
    compare("next/reward", row, logged<float>("next/reward", row), columns(buffers_.reward.data(), 1));
  if (log_.contains("next/terminated"))
    compare("next/terminated", row, logged<std::uint8_t>("next/terminated", row),
            columns(buffers_.terminated.data(), 1));
  if (log_.contains("next/truncated"))
    compare("next/truncated", row, logged<std::uint8_t>("next/truncated", row), columns(buffers_.truncated.data(), 1));
  compare_finals(row);
}

void Replay::compare_finals(std::int64_t row) {
  const std::vector<std::uint8_t> terminated = columns(buffers_.terminated.data(), 1),
                                  truncated = columns(buffers_.truncated.data(), 1);
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
    if (observation.empty()) observation = columns(buffers_.final_observation.data(), d);
    const float* was = finals_.observation.data() + (next_final_ - 1) * static_cast<std::size_t>(d);
    const float* is = observation.data() + column * static_cast<std::size_t>(d);
    for (std::int64_t k = 0; k < d; ++k)
      if (std::memcmp(was + k, is + k, sizeof(float)) != 0)
        note({row, world, "final/observation", fmt::format("{}", was[k]), fmt::format("{}", is[k])});
  }
}

void Replay::run() {
  const bool all_worlds = log_.num_worlds() == config_.num_envs;
  const auto count = static_cast<std::int64_t>(log_.iterations().size());
  for (std::int64_t i = 0; i < count; ++i) {
    if (all_worlds && log_.continues(i)) compare_state(i);
    load_state(i);
    finals_ = log_.read_finals(i);
    next_final_ = 0;
    for (std::int64_t t = 0; t < config_.num_steps; ++t) step(i, t);
    // as a training does: it clears sums that are part of the state
    if (log_.info().source != kPlaySource) batch_->collect(exec_, episodes_.data());
    synchronize(exec_);
  }
}

}  // namespace

int replay_command(const ReplayOptions& options) {
  const LogReader log(options.log);
  if (log.state_bytes() == 0)
    throw Error(options.log + ": holds no 'state', which a replay starts from; log it with --log-keys all,state");
  for (const std::string& problem : log.problems()) write_output(problem + "\n");
  Replay replay(log, options.log, replay_device(log, options));
  replay.run();
  const bool equal = replay.differences == 0;
  if (options.json) {
    nlohmann::ordered_json out = {{"log", options.log},      {"task", log.info().task},
                                  {"rows", replay.rows},     {"worlds", log.num_worlds()},
                                  {"states", replay.states}, {"differences", replay.differences}};
    if (replay.first)
      out["first"] = {{"row", replay.first->row},
                      {"world", replay.first->world},
                      {"key", replay.first->key},
                      {"logged", replay.first->logged},
                      {"replayed", replay.first->replayed}};
    write_output(out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return equal ? 0 : 1;
  }
  write_output(fmt::format("{}: {} rows of {} worlds of {} simulated again, {} states compared\n", options.log,
                           replay.rows, log.num_worlds(), one_line(log.info().task), replay.states));
  if (equal) {
    write_output("equal, bit by bit\n");
    return 0;
  }
  const Difference& d = *replay.first;
  write_output(fmt::format("{} values differ; the first: row {}, {}{}: logged {}, replayed {}\n", replay.differences,
                           d.row, d.world >= 0 ? fmt::format("world {}, ", d.world) : std::string(), d.key, d.logged,
                           d.replayed));
  return 1;
}

}  // namespace hotloop
