// Simulates the iterations of a trajectory log again, from the states and actions that it holds: what `replay` compares
// and the viewer shows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/log/log_reader.h"
#include "sim/core/batch.h"
#include "sim/core/registry.h"
#include "sim/core/thread_pool.h"
#include "train/config.h"

namespace hotloop {

// The kind of device that the log was made on: other kinds give other bits. Error where it is not here and `device`
// does not name another.
Device replay_device(const LogReader& log, const std::string& name, const std::string& device);

class LogReplayer {
 public:
  // Error, naming the log (`name`), where it holds no states or contradicts itself or its task.
  LogReplayer(const LogReader& log, const std::string& name, Device device);

  const TrainConfig& config() const { return config_; }
  const EnvEntry& env() const { return env_; }
  Batch& batch() { return *batch_; }
  const StepBuffers& buffers() const { return buffers_; }
  const Exec& exec() const { return exec_; }

  // Every world as it was before the first step of an iteration.
  void load_state(std::int64_t iteration);
  // The worlds now, as a log holds them.
  std::vector<std::byte> state() const;
  // Step t of an iteration. Worlds that were not logged get zeros as actions: they move, but reach no other.
  void step(std::int64_t iteration, std::int64_t t);
  // After the last step: clears sums that are part of the state, as the training did.
  void end_iteration();

  // What the log holds of a leaf at a row, [logged worlds][item].
  template <class T>
  std::vector<T> logged(const char* key, std::int64_t row) const {
    const LogKey& k = log_.key(key);
    check_item(k, sizeof(T));
    std::vector<T> values(static_cast<std::size_t>(log_.num_worlds()) * k.bytes() / sizeof(T));
    log_.read(key, row, 1, 0, log_.num_worlds(), values.data());
    return values;
  }
  // The logged worlds of an array [num_envs, item] of the device; waits for it.
  template <class T>
  std::vector<T> columns(const T* replayed, std::int64_t item) const {
    std::vector<T> all(static_cast<std::size_t>(config_.num_envs * item)), some;
    copy_async(exec_, all.data(), {}, replayed, exec_.device, all.size() * sizeof(T));
    synchronize(exec_);
    for (const std::int32_t world : log_.env_index())
      some.insert(some.end(), all.begin() + world * item, all.begin() + (world + 1) * item);
    return some;
  }

 private:
  static void check_item(const LogKey& key, std::size_t bytes);
  void read_actions(std::int64_t iteration);

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
  std::vector<std::byte> iteration_actions_;  // [num_steps][logged worlds][item] of iteration actions_of_
  std::int64_t actions_of_ = -1;
};

}  // namespace hotloop
