#include "sim/core/shell.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace hotloop {
namespace {

std::string& name() {
  static std::string text = "hotloop";
  return text;
}

}  // namespace

std::string shell_quoted(const std::string& word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("._/-+=", c);
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

const std::string& program_name() { return name(); }

void set_program_name(const std::string& called) {
  if (!called.empty()) name() = shell_quoted(called);
}

}  // namespace hotloop
