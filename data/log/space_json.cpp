#include "data/log/space_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/json_text.h"
#include "sim/core/error.h"

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

// As JSON libraries read it: unbounded ends as null.
nlohmann::json parse(const std::string& text, const std::string& where) {
  std::string plain = text;
  for (const std::string word : {"-Infinity", "Infinity"})
    for (std::size_t at = 0; (at = plain.find(word, at)) != std::string::npos;) plain.replace(at, word.size(), "null");
  return parse_json_object(plain, where);
}

std::vector<float> bounds(const nlohmann::json& space, const char* key, float unbounded) {
  std::vector<float> values;
  for (const nlohmann::json& value : space.at(key)) values.push_back(value.is_null() ? unbounded : value.get<float>());
  return values;
}

BoxSpace box_of(const nlohmann::json& space) {
  BoxSpace box{bounds(space, "low", -INFINITY), bounds(space, "high", INFINITY)};
  if (space.at("type") != "Box" || box.low.empty() || box.low.size() != box.high.size())
    throw Error("is no Box with as many lows as highs");
  return box;
}

// Choices are counted from 0; others' may begin elsewhere.
void check_start(const nlohmann::json& space) {
  const auto start = space.find("start");
  if (start == space.end()) return;
  const auto is_zero = [](const nlohmann::json& value) { return value == 0; };
  if (start->is_array() ? !std::all_of(start->begin(), start->end(), is_zero) : !is_zero(*start))
    throw Error("its start is not 0");
}

// What a space's text lacks is an Error that names it.
template <class Read>
auto read_space(const std::string& text, const std::string& where, const Read& read) {
  const nlohmann::json space = parse(text, where);
  try {
    return read(space);
  } catch (const Error& e) {
    throw Error(where + ": " + e.what());
  } catch (const nlohmann::json::exception&) {
    throw Error(where + ": describes no space");
  }
}

}  // namespace

BoxSpace box_of_json(const std::string& text, const std::string& where) { return read_space(text, where, box_of); }

ActionSpace action_space_of_json(const std::string& text, const std::string& where) {
  return read_space(text, where, [](const nlohmann::json& space) {
    check_start(space);
    if (space.at("type") == "Discrete") return ActionSpace::discrete(space.at("n").get<int>());
    if (space.at("type") == "MultiDiscrete")
      return ActionSpace::multi_discrete(space.at("nvec").get<decltype(ActionSpace::nvec)>());
    const BoxSpace box = box_of(space);
    return ActionSpace::box(box.low, box.high);
  });
}

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
