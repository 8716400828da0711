#include "data/dataset/action_check.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace hotloop {

DType action_dtype(const ActionSpace& space) { return space.is_box() ? DType::f32 : DType::i64; }

std::optional<std::string> wrong_action_value(const ActionSpace& space, std::size_t k, double value) {
  if (!std::isfinite(value)) return "finite";
  if (space.is_box()) {
    // bounds that a file has in doubles were rounded to floats: so must the value be
    const auto rounded = static_cast<float>(value);
    if (rounded >= space.low[k] && rounded <= space.high[k]) return std::nullopt;
    return fmt::format("in [{}, {}]", space.low[k], space.high[k]);
  }
  const bool whole = value == std::floor(value);
  if (whole && value >= 0 && value < static_cast<double>(space.nvec[k])) return std::nullopt;
  return fmt::format("{}in [0, {}]", whole ? "" : "an integer ", space.nvec[k] - 1);
}

std::optional<WrongAction> find_wrong_action(const ActionSpace& space, const std::byte* actions, std::int64_t rows) {
  const std::int64_t dim = space.dim();
  for (std::int64_t i = 0; i < rows * dim; ++i) {
    const auto k = static_cast<std::size_t>(i % dim);
    if (space.is_box()) {
      float value = 0;
      std::memcpy(&value, actions + 4 * i, sizeof value);
      if (const auto accepted = wrong_action_value(space, k, static_cast<double>(value)))
        return WrongAction{i / dim, fmt::format("{}", value), *accepted};
    } else {
      std::int64_t choice = 0;
      std::memcpy(&choice, actions + 8 * i, sizeof choice);
      if (const auto accepted = wrong_action_value(space, k, static_cast<double>(choice)))
        return WrongAction{i / dim, std::to_string(choice), *accepted};
    }
  }
  return std::nullopt;
}

}  // namespace hotloop
