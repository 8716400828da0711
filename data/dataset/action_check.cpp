#include "data/dataset/action_check.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace hotloop {

DType action_dtype(const ActionSpace& space) { return space.is_box() ? DType::f32 : DType::i64; }

std::optional<WrongAction> find_wrong_action(const ActionSpace& space, const std::byte* actions, std::int64_t rows) {
  const std::int64_t dim = space.dim();
  for (std::int64_t i = 0; i < rows * dim; ++i) {
    const auto k = static_cast<std::size_t>(i % dim);
    if (space.is_box()) {
      float value = 0;
      std::memcpy(&value, actions + 4 * i, sizeof value);
      if (!std::isfinite(value)) return WrongAction{i / dim, fmt::format("{}", value), "finite"};
      if (value < space.low[k] || value > space.high[k])
        return WrongAction{i / dim, fmt::format("{}", value), fmt::format("in [{}, {}]", space.low[k], space.high[k])};
    } else {
      std::int64_t choice = 0;
      std::memcpy(&choice, actions + 8 * i, sizeof choice);
      if (choice < 0 || choice >= space.nvec[k])
        return WrongAction{i / dim, std::to_string(choice), fmt::format("in [0, {}]", space.nvec[k] - 1)};
    }
  }
  return std::nullopt;
}

}  // namespace hotloop
