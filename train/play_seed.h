// The seed of the episodes that `play` plays.
#pragma once
#include <cstdint>
#include <optional>

#include "train/config.h"

namespace hotloop {

// Other start states than the evaluations that chose the checkpoint.
inline std::uint64_t play_seed(const std::optional<std::int64_t>& wanted, const TrainConfig& of_the_run) {
  return static_cast<std::uint64_t>(wanted.value_or(of_the_run.seed + 1000003));
}

}  // namespace hotloop
