// First and last step of an iteration on the device, and the ring through which its metrics reach the host. The ring
// lies in host memory that the card writes directly: the host polls a sequence number and never asks the driver to
// wait.
#pragma once
#include <cstdint>
#include <optional>

#include "sim/core/device.h"
#include "train/control.h"
#include "train/rollout_ops.h"

namespace hotloop {

class MetricsRing {
 public:
  static constexpr std::int64_t kDepth = 8;  // iterations that may be under way at once, where nothing else is asked
  using Slot = MetricsSlot;

  // members: trainings that go on side by side.
  explicit MetricsRing(Device device, std::int64_t depth = kDepth, std::int64_t members = 1);

  // What the last step of an iteration gathers, all on the device.
  struct Source {
    Control* control = nullptr;
    const EpisodeStats* episodes = nullptr;
    const RewardTermSums* reward_terms = nullptr;
    const VarianceTerms* variance = nullptr;
    double samples = 0;              // terms in `variance`
    const float* log_std = nullptr;  // [dim] or null
    int dim = 0;
  };
  // Queues: write the iteration's metrics to its slot, then advance control->iteration.
  void publish(const Exec& exec, const Source& source) const;

  // The metrics of iteration `i` (from 0) if it has finished.
  std::optional<IterationMetrics> poll(std::int64_t i, std::int64_t member = 0) const;
  // After control->iteration was set from outside: forgets what earlier iterations left.
  void clear();

  std::int64_t depth() const { return depth_; }
  // [depth][members], for kernels that write there themselves.
  Slot* slots() const { return slots_.data(); }

 private:
  std::int64_t depth_, members_;
  Buffer<Slot> slots_;
};

void start_iteration(const Exec& exec, const UpdateSpec& update, Control* control);

}  // namespace hotloop
