// Takes a fuzzer's bytes apart; what is missing at their end is zero or empty.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "sim/core/error.h"

namespace hotloop {

class FuzzInput {
 public:
  explicit FuzzInput(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  std::string_view take(std::size_t count) {
    const std::string_view head = rest_.substr(0, count);
    rest_.remove_prefix(head.size());
    return head;
  }
  template <class T>
  T number() {
    T value{};
    const std::string_view bytes = take(sizeof value);
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  // Up to the next zero byte, which is passed over.
  std::string text() {
    const std::string_view head = take(std::min(rest_.find('\0'), rest_.size()));
    take(1);
    return std::string(head);
  }

 private:
  std::string_view rest_;
};

// Runs a reader. An Error is an answer, if it keeps to one line; anything else that it throws ends the program.
template <class Body>
void expect_calm(Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    if (std::strpbrk(e.what(), "\n\r") != nullptr) std::fprintf(stderr, "not one line: %s\n", e.what()), std::abort();
  }
}

inline void put_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace hotloop
