#include "train/log_replayer.h"

#include <fmt/format.h>

#include <cstring>

#include "sim/core/error.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

TrainConfig logged_config(const LogReader& log, const std::string& name) {
  if (log.state_bytes() == 0)
    throw Error(name + ": holds no 'state', which a replay starts from; log it with --log-keys all,state");
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

}  // namespace

Device replay_device(const LogReader& log, const std::string& name, const std::string& device) {
  if (!device.empty()) return parse_device(device);
  const bool cuda = log.info().device.rfind("cuda", 0) == 0;
  if (cuda && cuda_device_count() == 0)
    throw Error(name + ": was made on " + one_line(log.info().device) +
                ", and no CUDA device answers here; --device cpu gives other bits");
  return parse_device(cuda ? "cuda" : "cpu");
}

LogReplayer::LogReplayer(const LogReader& log, const std::string& name, Device device)
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

void LogReplayer::check_item(const LogKey& key, std::size_t bytes) {
  if (key.bytes() % bytes != 0) throw Error("log: '" + key.name + "' has another element type");
}

void LogReplayer::load_state(std::int64_t iteration) {
  log_.read_state(iteration, state_.data());
  copy_async(exec_, batch_->raw_state(), exec_.device, state_.data(), {}, state_.size());
  synchronize(exec_);
}

std::vector<std::byte> LogReplayer::state() const {
  std::vector<std::byte> now(batch_->raw_state_bytes());
  copy_async(exec_, now.data(), {}, batch_->raw_state(), exec_.device, now.size());
  synchronize(exec_);
  return now;
}

// Chunks of a log hold many steps: an iteration's are read together.
void LogReplayer::read_actions(std::int64_t iteration) {
  if (iteration == actions_of_) return;
  const std::int64_t rows = config_.num_steps, worlds = log_.num_worlds();
  iteration_actions_.resize(static_cast<std::size_t>(rows * worlds) * log_.key("action").bytes());
  log_.read("action", iteration * rows, rows, 0, worlds, iteration_actions_.data());
  actions_of_ = iteration;
}

void LogReplayer::step(std::int64_t iteration, std::int64_t t) {
  read_actions(iteration);
  const std::size_t item = log_.key("action").bytes(), worlds = log_.env_index().size();
  const std::byte* some = iteration_actions_.data() + static_cast<std::size_t>(t) * worlds * item;
  for (std::size_t i = 0; i < worlds; ++i)
    std::memcpy(actions_.data() + static_cast<std::size_t>(log_.env_index()[i]) * item, some + i * item, item);
  copy_async(exec_, buffers_.action.data(), exec_.device, actions_.data(), {}, actions_.size());
  batch_->step(exec_, buffers_.io());
  synchronize(exec_);
}

void LogReplayer::end_iteration() {
  if (log_.info().source != kPlaySource) batch_->collect(exec_, episodes_.data());
  synchronize(exec_);
}

}  // namespace hotloop
