// A dataset as a stream of shuffled blocks of steps on a device: offline training's rollout. Block k of `count` steps
// holds draws k * count to (k + 1) * count - 1, every step once an epoch in an order that the seed decides. A dataset
// that fits is kept on the device whole and drawn there; a larger one stays memory-mapped, its blocks are gathered
// ahead by a thread and go through pinned memory. Both give the same bits.
#pragma once
#include <cstdint>
#include <future>
#include <memory>
#include <vector>

#include "data/arena.h"
#include "data/dataset/step_data.h"
#include "train/bc_ops.h"

namespace hotloop {

class ReplaySource {
 public:
  // resident_bytes: the most that the dataset itself may take of the device's memory.
  ReplaySource(StepData data, const EnvSpec& env, Device device, std::int64_t count, std::uint64_t seed,
               std::size_t resident_bytes);
  ~ReplaySource();

  // Before block `k` is queued, on the host: brings it onto the device where the dataset is not there. At most kDepth
  // of MetricsRing may be under way.
  void prepare(const Exec& exec, std::int64_t k);
  // Queues drawing block control->iteration where the dataset is on the device.
  void draw(const Exec& exec, const HeadView& head, const Control* control);

  // "observation" [count, obs_dim] and "action" [count, (dim)]: as a TensorDict, view(block, {count}).
  const Arena& block() const { return block_; }
  std::int64_t rows() const { return data_.rows(); }
  bool resident() const { return resident_; }

 private:
  std::byte* staged(std::int64_t k) const;
  void gather(std::int64_t k) const;

  StepData data_;
  std::int64_t count_, obs_dim_, dim_;
  std::size_t observation_bytes_, action_bytes_;  // of one step
  std::uint64_t seed_;
  Arena block_;
  bool resident_;
  Buffer<float> observation_;
  Memory action_, pinned_;
  std::future<void> ahead_;
  std::int64_t gathered_ = -1;  // block that ahead_ gathers
};

}  // namespace hotloop
