// What readers of TOML share. toml++ is a large header: for .cpp files that read TOML only.
#pragma once
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <cstdint>
#include <string>

#include "sim/core/error.h"
#include "sim/core/value.h"

namespace hotloop {

inline constexpr std::uint64_t kMostTomlBytes = 1 << 20;

// `name` stands for the file in messages.
inline toml::table parse_toml(const std::string& text, const std::string& name) {
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& e) {
    throw Error(shown(name) + ":" + std::to_string(e.source().begin.line) +
                ": not valid TOML: " + one_line(e.description()));
  }
}

inline std::string number_text(const toml::node& node) {
  if (const auto* integer = node.as_integer()) return toml_text(integer->get());
  return toml_text(node.as_floating_point()->get());
}

}  // namespace hotloop
