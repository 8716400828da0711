#include "viz/source/log_source.h"

#include <algorithm>
#include <chrono>

#include "sim/core/error.h"
#include "viz/source/control_infos.h"
#include "viz/source/leaf_copies.h"
#include "viz/source/open_parts.h"

namespace hotloop {
namespace {

constexpr std::int64_t kMaxWorlds = 16384;
constexpr std::chrono::milliseconds kLookingTime{4};

}  // namespace

LogSource::LogSource(const std::string& path, const std::string& device,
                     const std::function<void(const std::string&)>& warn)
    : log_(path), again_(log_, path, replay_device(log_, path, device)) {
  for (const std::string& problem : log_.problems())
    if (warn) warn(problem);
  if (log_.num_rows() == 0) throw Error(path + ": holds no whole iteration yet");
  const EnvSpec& spec = again_.batch().spec();
  const TrainConfig& config = again_.config();
  if (again_.env().visual != nullptr) visual_ = again_.env().visual(config.env);
  info_.kind = SourceKind::log;
  info_.name = config.task;
  info_.path = path;
  info_.device = again_.exec().device;
  info_.num_worlds = std::min(log_.num_worlds(), kMaxWorlds);
  info_.control_period = control_period(again_.env(), config.env);
  info_.controls = control_infos(again_.env(), config.env);
  info_.observation_dim = spec.obs_dim();
  info_.reward_terms = spec.reward_terms;
  info_.seed = config.seed;
  info_.can_control = false;
  sums_.assign(static_cast<std::size_t>(info_.num_worlds), 0);
  starts_.assign(static_cast<std::size_t>(info_.num_worlds), config.random_episode_start ? -1 : 0);
  const History::Part state{again_.batch().raw_state(), again_.batch().raw_state_bytes()};
  passed_ = std::make_unique<History>(exec(), std::vector<History::Part>{state});
  seek(0);
}

void LogSource::write_frames(std::int64_t first, std::int64_t count, Frame* out) {
  // the columns of the log are worlds of the run: ranges of neighbours go together
  const std::vector<std::int32_t>& world = log_.env_index();
  for (std::int64_t i = first; i < first + count;) {
    const auto at = static_cast<std::size_t>(i);
    std::int64_t n = 1;
    while (i + n < first + count && world[at + static_cast<std::size_t>(n)] == world[at] + n) ++n;
    again_.batch().write_frames(exec(), world[at], n, out + (i - first) * visual_.num_frames());
    i += n;
  }
}

void LogSource::seek(std::int64_t row) {
  row_ = std::clamp<std::int64_t>(row, 0, log_.num_rows() - 1);
  const std::int64_t steps = log_.info().num_steps, iteration = row_ / steps;
  const auto is_kept = [&](std::int64_t at) {
    return !passed_->empty() && at >= passed_->first() && at <= passed_->last();
  };
  if (is_kept(row_)) {
    passed_->restore(worlds_at_ = row_);
    return;
  }
  if (worlds_at_ < 0 || worlds_at_ > row_ || worlds_at_ / steps != iteration) {
    again_.load_state(iteration);
    worlds_at_ = iteration * steps;
    passed_->clear();
    passed_->keep(worlds_at_);
  }
  while (worlds_at_ < row_) {
    again_.step(iteration, worlds_at_ % steps);
    passed_->keep(++worlds_at_);
  }
}

std::vector<float> LogSource::read(const std::string& key, std::int64_t row, std::int64_t rows, std::int64_t world,
                                   std::int64_t worlds) const {
  if (!log_.contains(key)) return {};
  const LogKey& k = log_.key(key);
  std::vector<std::byte> bytes(static_cast<std::size_t>(rows * worlds) * k.bytes());
  log_.read(key, row, rows, world, worlds, bytes.data());
  return as_floats(k.dtype, bytes.data(), bytes.size() / dtype_size(k.dtype));
}

// Sum of the rewards of the episode under way, with that of the row's own step.
double LogSource::return_so_far(std::int64_t world) {
  if (running_.world == world && running_.row == row_) return running_.sum;
  const bool next = running_.world == world && running_.row + 1 == row_;
  std::int64_t first = next ? running_.first : row_;
  const auto ended = [&](std::int64_t row) {
    const std::vector<float> a = read("next/terminated", row, 1, world, 1),
                             b = read("next/truncated", row, 1, world, 1);
    return (!a.empty() && a[0] != 0) || (!b.empty() && b[0] != 0);
  };
  double sum = next ? running_.sum : 0;
  if (next && ended(row_ - 1)) sum = 0, first = row_;
  if (!next)
    while (first > 0 && row_ - first < again_.batch().max_episode_steps() && !ended(first - 1)) --first;
  const std::int64_t from = next ? row_ : first;
  for (const float r : read("next/reward", from, row_ - from + 1, world, 1)) sum += r;
  running_ = {world, row_, first, sum};
  return sum;
}

WorldReport LogSource::report(std::int64_t world) {
  WorldReport report;
  report.observation = read("observation", row_, 1, world, 1);
  report.action = read("action", row_, 1, world, 1);
  const auto number = [&](const char* key) {
    const std::vector<float> values = read(key, row_, 1, world, 1);
    return values.empty() ? 0.0f : values[0];
  };
  report.reward = number("next/reward");
  report.terminated = number("next/terminated") != 0;
  report.truncated = number("next/truncated") != 0;
  report.episode_return = return_so_far(world);
  report.episode_length = row_ - running_.first + 1;
  return report;
}

std::vector<WorldSource::TensorInfo> LogSource::tensors() {
  std::vector<TensorInfo> all;
  for (const LogKey& key : log_.keys()) {
    std::vector<std::int64_t> shape = {log_.num_rows(), log_.num_worlds()};
    shape.insert(shape.end(), key.shape.begin(), key.shape.end());
    all.push_back({key.name, shape});
  }
  return all;
}

// The rows up to the one that is shown.
std::vector<float> LogSource::read_tensor(const std::string& key, std::int64_t limit) {
  const std::int64_t rows = std::clamp<std::int64_t>(limit, 1, row_ + 1);
  return read(key, row_ + 1 - rows, rows, 0, log_.num_worlds());
}

const std::vector<WorldSource::EpisodeMark>& LogSource::episodes() {
  const auto end = std::chrono::steady_clock::now() + kLookingTime;
  const auto iterations = static_cast<std::int64_t>(log_.iterations().size());
  while (looked_ < iterations && std::chrono::steady_clock::now() < end) look_at(looked_++);
  return marks_;
}

void LogSource::look_at(std::int64_t iteration) {
  const std::int64_t steps = log_.info().num_steps, worlds = info_.num_worlds, row = iteration * steps;
  if (!log_.contains("next/reward") || !log_.contains("next/terminated") || !log_.contains("next/truncated")) return;
  if (iteration > 0 && !log_.continues(iteration)) std::fill(starts_.begin(), starts_.end(), -1);
  const std::vector<float> reward = read("next/reward", row, steps, 0, worlds),
                           terminated = read("next/terminated", row, steps, 0, worlds),
                           truncated = read("next/truncated", row, steps, 0, worlds);
  for (std::int64_t t = 0; t < steps; ++t)
    for (std::int64_t w = 0; w < worlds; ++w) {
      const auto i = static_cast<std::size_t>(t * worlds + w), at = static_cast<std::size_t>(w);
      sums_[at] += reward[i];
      if (terminated[i] == 0 && truncated[i] == 0) continue;
      if (starts_[at] >= 0) marks_.push_back({w, starts_[at], row + t, sums_[at], terminated[i] != 0});
      sums_[at] = 0;
      starts_[at] = row + t + 1;
    }
}

std::unique_ptr<WorldSource> open_log_source(const SourceOptions& options) {
  // a log made on a card is shown on the processor where there is no card: other bits than replay wants, but each
  // iteration begins from a state of the log
  std::string device = options.device == "auto" ? std::string() : options.device;
  if (device.empty() && cuda_device_count() == 0) {
    device = "cpu";
    if (options.warn && LogReader(options.what).info().device.rfind("cuda", 0) == 0)
      options.warn(options.what +
                   ": was made on a card, and is simulated again on the CPU: between the states that it "
                   "holds the worlds may drift from what was");
  }
  return std::make_unique<LogSource>(options.what, device, options.warn);
}

}  // namespace hotloop
