// Who watches a training. All calls come from the training's thread; the training never waits for the observer, and the
// observer changes no bit of it.
#pragma once
#include <cstdint>
#include <string>

#include "train/config.h"
#include "train/metrics.h"

namespace hotloop {

class Trainer;

class TrainObserver {
 public:
  struct Run {
    const TrainConfig& config;
    Trainer& trainer;
    std::string folder;
    std::int64_t total_iterations;
  };
  virtual ~TrainObserver() = default;

  // Before the first iteration is queued.
  virtual void started(const Run& run) = 0;
  // After an iteration was queued: may queue reading copies of worlds and rollout on the trainer's stream; must not
  // wait.
  virtual void queued() = 0;
  // As metrics.csv and performance.csv get it.
  virtual void row(const MetricRow& row) = 0;
  // What the training says on stderr.
  virtual void message(const std::string& line) = 0;
  // The last call, also where the training failed: nothing of `run` may be used after it.
  virtual void ended() noexcept = 0;
};

}  // namespace hotloop
