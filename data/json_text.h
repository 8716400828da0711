// JSON of any origin. Whoever walks a tree (dump() too) goes down by recursion, so that a text of nothing but brackets
// would run out of stack: the depth is bounded before a tree is made.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sim/core/error.h"

namespace hotloop {

inline constexpr int kMaxJsonDepth = 32;

// Error "`where`: ..." for what is no JSON, or nested deeper.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text, const std::string& where) {
  const auto check = [&](int depth, typename Json::parse_event_t, const Json&) {
    if (depth > kMaxJsonDepth) throw Error(where + ": is JSON nested too deeply");
    return true;
  };
  Json json = Json::parse(text, check, false);
  if (json.is_discarded()) throw Error(where + ": is no JSON");
  return json;
}

template <class Json = nlohmann::json>
Json parse_json_object(std::string_view text, const std::string& where) {
  Json json = parse_json<Json>(text, where);
  if (!json.is_object()) throw Error(where + ": is no JSON object");
  return json;
}

}  // namespace hotloop
