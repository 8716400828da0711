#include "train/rollout_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/log/space_json.h"
#include "sim/core/error.h"
#include "sim/core/version.h"
#include "train/world_gather.h"

namespace hotloop {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSlots = 4;  // one being filled, one under way to the host, one being written, one to spare
constexpr std::size_t kAlignment = 256;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string size_text(double bytes) {
  return bytes >= 1e9 ? fmt::format("{:.2f} GB", bytes * 1e-9) : fmt::format("{:.3g} MB", bytes * 1e-6);
}

}  // namespace

RolloutLog::Source log_source(const TrainConfig& config, Trainer& trainer) {
  trainer.show_rollout();
  if (trainer.rollout() == nullptr)
    throw Error("--log-trajectories: algo " + config.algo + " simulates nothing that could be logged");
  RolloutLog::Source source;
  source.exec = trainer.exec();
  source.arena = trainer.rollout();
  source.batch = trainer.batch();
  source.update = [&trainer] { trainer.update_rollout(); };
  source.info = describe_run(config, *trainer.batch());
  return source;
}

LogInfo describe_run(const TrainConfig& config, const Batch& batch) {
  LogInfo info;
  info.task = config.task;
  info.config = to_toml(config);
  info.hotloop_version = version();
  info.device = batch.device().str();
  info.source = kTrainSource;
  info.observation_space = space_json(batch.spec().observation);
  info.action_space = space_json(batch.spec().action);
  info.seed = config.seed;
  info.num_envs = config.num_envs;
  info.num_steps = config.num_steps;
  info.max_episode_steps = batch.max_episode_steps();
  return info;
}

RolloutLog::Slot::Slot(Device on, std::size_t bytes)
    : device(on.is_cuda() ? Memory(on, bytes) : Memory()),
      host(on, bytes, on.is_cuda() ? Memory::Kind::pinned : Memory::Kind::plain),
      staged(on),
      copied(on) {}

RolloutLog::RolloutLog(const Source& source, const LogOptions& options)
    : exec_(source.exec),
      update_(source.update),
      options_(options),
      selection_(select_log(options, *source.arena, source.info.num_envs)),
      stream_(exec_.device),
      copy_exec_{exec_.device, stream_.get(), nullptr},
      state_(source.batch->raw_state()),
      spec_(make_spec(source)) {
  place_parts(source);
  if (static_cast<std::int64_t>(selection_.worlds.size()) < source.info.num_envs) {
    worlds_ = Buffer<std::int32_t>(exec_.device, selection_.worlds.size());
    copy_async(exec_, worlds_.data(), exec_.device, selection_.worlds.data(), {}, worlds_.bytes());
    synchronize(exec_);
  }
  for (int i = 0; i < kSlots; ++i) free_.push_back(&slots_.emplace_back(exec_.device, slot_bytes_));
  LogWriterOptions writer;
  writer.gzip = static_cast<int>(options.gzip);
  writer.flush_seconds = options.flush_seconds;
  writer.segment_gib = options.segment_gib;
  writer.resume = source.resume;
  writer_ = std::make_unique<LogWriter>(options.path, spec_, writer);
  start_ = Clock::now();
  thread_ = std::thread([this] { work(); });
}

RolloutLog::~RolloutLog() {
  try {
    close();
    synchronize(copy_exec_);
  } catch (const std::exception&) {
  }
}

LogSpec RolloutLog::make_spec(const Source& source) const {
  LogSpec spec;
  spec.info = source.info;
  spec.env_index = selection_.worlds;
  spec.expected_iterations = (source.expected_iterations + options_.every - 1) / options_.every;
  spec.state_bytes = selection_.state ? source.batch->raw_state_bytes() : 0;
  spec.obs_dim = source.batch->spec().obs_dim();
  for (const std::string& name : selection_.keys) {
    const Leaf& leaf = source.arena->leaf(name);
    spec.keys.push_back(describe_log_key(name, leaf.dtype, {leaf.shape.begin() + 2, leaf.shape.end()}));
    if (name == kRewardTermsKey) spec.keys.back().names = source.batch->spec().reward_terms;
  }
  return spec;
}

std::size_t RolloutLog::add_part(const std::byte* from, std::int64_t rows, std::size_t item) {
  parts_.push_back({from, rows, static_cast<std::int64_t>(item), slot_bytes_});
  const std::size_t bytes = static_cast<std::size_t>(rows) * selection_.worlds.size() * item;
  slot_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return parts_.size() - 1;
}

void RolloutLog::place_parts(const Source& source) {
  const Arena& arena = *source.arena;
  const std::int64_t steps = source.info.num_steps, n = source.info.num_envs;
  const std::size_t observation_bytes = static_cast<std::size_t>(spec_.obs_dim) * sizeof(float);
  const auto part_of = [&](const char* name) {
    for (std::size_t i = 0; i < selection_.keys.size(); ++i)
      if (selection_.keys[i] == name) return i;
    return add_part(arena.bytes(arena.leaf(name)), steps, 1);
  };
  for (const LogKey& key : spec_.keys) add_part(arena.bytes(arena.leaf(key.name)), steps, key.bytes());
  last_observation_ =
      add_part(arena.bytes(arena.leaf("observation")) + static_cast<std::size_t>(steps * n) * observation_bytes, 1,
               observation_bytes);
  logged_bytes_ = slot_bytes_ + spec_.state_bytes;
  terminated_ = part_of("next/terminated");
  truncated_ = part_of("next/truncated");
  final_observation_ = add_part(arena.bytes(arena.leaf("final_observation")), steps, observation_bytes);
  state_offset_ = slot_bytes_;
  slot_bytes_ += spec_.state_bytes;
}

void RolloutLog::begin(std::int64_t index) {
  current_ = nullptr;
  if (index % options_.every != 0) return;
  {
    std::unique_lock lock(mutex_);
    wait_for_slot(lock);
    if (!failure_.empty() || free_.empty()) {
      ++dropped_;
      return;
    }
    current_ = free_.front();
    free_.pop_front();
  }
  current_->index = index;
  copy_async(exec_, staging(*current_) + state_offset_, exec_.device, state_, exec_.device, spec_.state_bytes);
}

// Slots that wait for the device come free by waiting. With the policy `sample`, one that is on the host already and
// waits for the disk says that the disk is behind: then the iteration goes without its log.
void RolloutLog::wait_for_slot(std::unique_lock<std::mutex>& lock) {
  while (free_.empty() && failure_.empty()) {
    if (!options_.block && !queue_.empty() && queue_.front()->copied.reached()) return;
    changed_.wait_for(lock, std::chrono::milliseconds(1));
  }
}

void RolloutLog::end() {
  if (current_ == nullptr) return;
  Slot& slot = *std::exchange(current_, nullptr);
  update_();
  for (const Part& part : parts_) {
    WorldGather gather;
    gather.from = part.from;
    gather.to = staging(slot) + part.offset;
    gather.worlds = worlds_.data();
    gather.rows = part.rows;
    gather.num_envs = spec_.info.num_envs;
    gather.count = static_cast<std::int64_t>(selection_.worlds.size());
    gather.item = part.item;
    gather_worlds(exec_, gather);
  }
  slot.staged.record(exec_);
  slot.staged.wait(copy_exec_);
  if (exec_.device.is_cuda())
    copy_async(copy_exec_, slot.host.data(), {}, slot.device.data(), exec_.device, slot_bytes_);
  slot.copied.record(copy_exec_);
  const std::lock_guard lock(mutex_);
  queue_.push_back(&slot);
  changed_.notify_all();
}

void RolloutLog::work() {
  const auto interval = std::chrono::duration<double>(std::clamp(options_.flush_seconds, 0.01, 1.0));
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait_for(lock, interval, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty() && stop_) return;
    Slot* const slot = queue_.empty() ? nullptr : queue_.front();
    if (slot != nullptr) queue_.pop_front();
    writer_->set_dropped(dropped_);
    const bool failed = !failure_.empty();
    lock.unlock();
    std::string failure;
    try {
      if (slot != nullptr && !failed) write(*slot);
      if (slot == nullptr && !failed) writer_->tick();
    } catch (const std::exception& e) {
      failure = e.what();
    }
    lock.lock();
    if (slot != nullptr) free_.push_back(slot);
    if (slot != nullptr && (failed || !failure.empty())) ++dropped_;
    if (failure_.empty()) failure_ = failure;
    changed_.notify_all();
  }
}

void RolloutLog::write(Slot& slot) {
  slot.copied.synchronize();
  LogIteration iteration;
  iteration.index = slot.index;
  iteration.global_step = slot.index * spec_.info.num_envs * spec_.info.num_steps;
  for (std::size_t i = 0; i < spec_.keys.size(); ++i) iteration.leaves.push_back(slot.host.data() + parts_[i].offset);
  iteration.last_observation = reinterpret_cast<const float*>(slot.host.data() + parts_[last_observation_].offset);
  iteration.state = slot.host.data() + state_offset_;
  find_finals(slot, iteration);
  writer_->append(iteration);
}

// The rollout has room for a terminal observation at each step; few are there.
void RolloutLog::find_finals(const Slot& slot, LogIteration& iteration) const {
  const auto flags = [&](std::size_t part) {
    return reinterpret_cast<const std::uint8_t*>(slot.host.data() + parts_[part].offset);
  };
  const std::uint8_t *terminated = flags(terminated_), *truncated = flags(truncated_);
  const auto* observation = reinterpret_cast<const float*>(slot.host.data() + parts_[final_observation_].offset);
  const auto worlds = static_cast<std::int64_t>(selection_.worlds.size());
  for (std::int64_t i = 0; i < spec_.info.num_steps * worlds; ++i) {
    if ((terminated[i] | truncated[i]) == 0) continue;
    iteration.final_row.push_back(i / worlds);
    iteration.final_env.push_back(static_cast<std::int32_t>(i % worlds));
    const float* row = observation + i * spec_.obs_dim;
    iteration.final_observation.insert(iteration.final_observation.end(), row, row + spec_.obs_dim);
  }
}

void RolloutLog::close() {
  if (closed_) return;
  closed_ = true;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  writer_->set_dropped(dropped_);
  if (failure_.empty()) writer_->close();
  seconds_ = seconds_since(start_);
  if (!failure_.empty()) throw Error(failure_);
}

std::string RolloutLog::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::string RolloutLog::opening() const {
  const std::string often = options_.every > 1 ? fmt::format("one iteration in {}", options_.every) : "every iteration";
  return fmt::format("logging {}{} of {} worlds, {}, {} each, to {}", fmt::join(selection_.keys, ", "),
                     selection_.state ? ", state" : "", selection_.worlds.size(), often,
                     size_text(static_cast<double>(logged_bytes_)), writer_->file().string());
}

double RolloutLog::megabytes_per_second() const {
  return static_cast<double>(writer_->bytes()) * 1e-6 / std::max(1e-9, seconds_);
}

std::string RolloutLog::summary() const {
  const std::string left_out =
      writer_->dropped() > 0 ? fmt::format(", {} iterations left out", writer_->dropped()) : std::string();
  return fmt::format("logged {} rows of {} worlds, {}, {:.0f} MB/s, {:.4g} % of the iterations{}",
                     writer_->iterations() * spec_.info.num_steps, selection_.worlds.size(),
                     size_text(static_cast<double>(writer_->bytes())), megabytes_per_second(), 100 * writer_->share(),
                     left_out);
}

}  // namespace hotloop
