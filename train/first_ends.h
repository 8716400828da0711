// How the first episode of each world of a batch ended, kept on the device while the worlds go on.
#pragma once
#include <cstdint>

#include "sim/core/batch.h"

namespace hotloop {

enum class EpisodeEnd : std::uint8_t { playing, terminated, truncated, non_finite };

class FirstEnds {
 public:
  FirstEnds(Device device, std::int64_t num_envs) : ends_(device, static_cast<std::size_t>(num_envs)) {}

  // Before the first step of a batch.
  void clear(const Exec& exec) { fill_async(exec, ends_.data(), 0, ends_.bytes()); }
  // After each step of `batch` into `io`. A task that ends in the step that the time limit ends has terminated.
  void record(const Exec& exec, const Batch& batch, const StepIo& io);
  const EpisodeEnd* data() const { return ends_.data(); }  // [num_envs] on the device

 private:
  Buffer<EpisodeEnd> ends_;
};

}  // namespace hotloop
