#include "sim/core/host_memory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

// The number after the line or word `key` of a file; key "": the file's first word.
std::optional<std::uint64_t> number_in(const fs::path& file, const std::string& key) {
  std::ifstream in(file);
  std::string word;
  while (!key.empty() && word != key)
    if (!(in >> word)) return std::nullopt;
  std::uint64_t value = 0;
  return in >> value ? std::optional(value) : std::nullopt;
}

// What is left under the limit of one control group. Cached files count as used there but give way.
std::uint64_t left_in_group(const fs::path& group, const char* limit_file, const char* usage_file,
                            const std::string& prefix) {
  const auto limit = number_in(group / limit_file, ""), usage = number_in(group / usage_file, "");
  if (!limit || !usage) return kUnknown;
  std::uint64_t cached = 0;
  for (const char* key : {"inactive_file", "active_file"})
    cached += number_in(group / "memory.stat", prefix + key).value_or(0);
  const std::uint64_t used = *usage - std::min(*usage, cached);
  return *limit - std::min(*limit, used);
}

// The group's path in a line "0::/path" (version 2) or "5:memory:/path" (version 1) of /proc/self/cgroup.
std::optional<std::string> group_path(const std::string& line, const std::string& controllers) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos || line.substr(first + 1, second - first - 1) != controllers) return std::nullopt;
  return line.substr(second + 1);
}

// The least that this process's group and those above it leave.
std::uint64_t left_in_groups(const std::string& controllers, const fs::path& mount, const char* limit_file,
                             const char* usage_file, const std::string& prefix) {
  std::uint64_t left = kUnknown;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::optional<std::string> path = group_path(line, controllers);
    if (!path) continue;
    for (fs::path group = *path;; group = group.parent_path()) {
      left = std::min(left, left_in_group(mount / group.relative_path(), limit_file, usage_file, prefix));
      if (group == group.parent_path()) break;
    }
  }
  return left;
}

}  // namespace

std::uint64_t available_memory() {
  const auto kib = number_in("/proc/meminfo", "MemAvailable:");
  return std::min(
      {kib ? *kib * 1024 : kUnknown, left_in_groups("", "/sys/fs/cgroup", "memory.max", "memory.current", ""),
       left_in_groups("memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_")});
}

}  // namespace hotloop
