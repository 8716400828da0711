#include "data/log/space_json.h"

#include <fmt/format.h>

#include <cmath>

namespace hotloop {
namespace {

// The float's exact value, as Python prints it as a double.
std::string number(float value) {
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  std::string text = fmt::format("{}", static_cast<double>(value));
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

template <class T, class Text>
std::string list(const std::vector<T>& values, Text text) {
  std::string out = "[";
  for (const T& value : values) out += (out.size() > 1 ? ", " : "") + text(value);
  return out + "]";
}

}  // namespace

std::string space_json(const BoxSpace& space) {
  return fmt::format(R"({{"type": "Box", "dtype": "float32", "shape": [{}], "low": {}, "high": {}}})", space.low.size(),
                     list(space.low, number), list(space.high, number));
}

std::string space_json(const ActionSpace& space) {
  if (space.is_box()) return space_json(BoxSpace{space.low, space.high});
  if (space.kind == ActionSpace::Kind::discrete)
    return fmt::format(R"({{"type": "Discrete", "dtype": "int64", "start": 0, "n": {}}})", space.nvec[0]);
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  const std::vector<std::int64_t> start(space.nvec.size(), 0);
  return fmt::format(R"({{"type": "MultiDiscrete", "dtype": "int64", "nvec": {}, "start": {}}})",
                     list(space.nvec, text), list(start, text));
}

}  // namespace hotloop
