// Whether actions are of their space: what datasets, and who learns from them, must be able to rely on.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "data/arena.h"
#include "sim/core/env.h"

namespace hotloop {

struct WrongAction {
  std::int64_t row = 0;
  std::string value, accepted;  // "7", "in [0, 1]"
};

// The element type of actions [rows, dim] in rollouts, logs and datasets.
DType action_dtype(const ActionSpace& space);
// The first of `rows` actions that is not finite, no choice of the space or beyond its bounds.
std::optional<WrongAction> find_wrong_action(const ActionSpace& space, const std::byte* actions, std::int64_t rows);

}  // namespace hotloop
