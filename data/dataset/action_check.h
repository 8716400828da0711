// Whether actions are of their space: what datasets, and who learns from them, must be able to rely on.
#pragma once
#include <cstddef>
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
// What component k of an action must be, "in [0, 1]", where `value` is not that; nothing where it is.
std::optional<std::string> wrong_action_value(const ActionSpace& space, std::size_t k, double value);
// The first of `rows` actions that is not finite, no choice of the space or beyond its bounds.
std::optional<WrongAction> find_wrong_action(const ActionSpace& space, const std::byte* actions, std::int64_t rows);

}  // namespace hotloop
