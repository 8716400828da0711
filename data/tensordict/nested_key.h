// The name of an entry of a TensorDict: one part per level. "next/reward" and {"next", "reward"} are the same key.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"

namespace hotloop {

class NestedKey {
 public:
  // Parts are separated by '/'. Throws Error for an empty part: "", "/a", "a//b".
  NestedKey(std::string_view path) : path_(path) {
    std::size_t begin = 0;
    for (std::size_t end; (end = path.find('/', begin)) != std::string_view::npos; begin = end + 1)
      append(path.substr(begin, end - begin));
    append(path.substr(begin));
  }
  NestedKey(const std::string& path) : NestedKey(std::string_view(path)) {}
  NestedKey(const char* path) : NestedKey(std::string_view(path)) {}

  // One part per element; here a '/' inside a part is an Error.
  NestedKey(std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) {
      if (part.find('/') != std::string_view::npos)
        throw Error("tensordict: key part '" + std::string(part) + "' holds '/', which separates nested keys");
      append(part);
      if (!path_.empty()) path_ += '/';
      path_ += part;
    }
    if (parts_.empty()) throw Error("tensordict: a key needs at least one part");
  }

  const std::vector<std::string>& parts() const { return parts_; }
  const std::string& str() const { return path_; }  // joined by '/'

 private:
  void append(std::string_view part) {
    if (part.empty()) throw Error("tensordict: key '" + path_ + "' has an empty part");
    parts_.emplace_back(part);
  }

  std::vector<std::string> parts_;
  std::string path_;
};

}  // namespace hotloop
