#include "data/dataset/table_folder.h"

#include <nlohmann/json.hpp>

#include "data/dataset/describe.h"
#include "data/file.h"
#include "sim/core/error.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kMaxMeta = 1 << 20;

// Null where there is none.
json member(const json& object, const char* key) {
  return object.is_object() && object.contains(key) ? object[key] : json();
}

}  // namespace

std::string task_of_table_folder(const fs::path& folder) {
  try {
    const json meta = json::parse(read_file(folder / "meta.json", kMaxMeta), nullptr, false);
    const json provenance = member(meta, kProvenanceKey);
    if (!provenance.is_string()) return "";
    const json task = member(json::parse(provenance.get<std::string>(), nullptr, false), "task");
    return task.is_string() ? task.get<std::string>() : "";
  } catch (const Error&) {
    return "";
  }
}

void check_next_group(const fs::path& folder) {
  const fs::path path = folder / "next/meta.json";
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) throw Error(path.string() + ": is missing: the dataset is not whole");
}

}  // namespace hotloop
