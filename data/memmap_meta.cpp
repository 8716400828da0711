#include "data/memmap_meta.h"

#include <cstring>

#include "data/file.h"
#include "data/json_text.h"
#include "sim/core/error.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMaxMetaBytes = 16 << 20;

std::string quoted(const fs::path& path) { return "'" + one_line(path.string()) + "'"; }

std::string quoted_key(const std::string& key) {
  const std::string text = shown(key);
  return text.front() == '\'' ? text : "'" + text + "'";
}

Json read_meta(const fs::path& folder, const std::string& where) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) throw Error(quoted(folder) + " is not a folder");
  if (!fs::exists(folder / kMemmapMetaFile, error))
    throw Error(quoted(folder) +
                " is no TensorDict folder (no meta.json); one is made with: record ... --format tensordict");
  return parse_json_object<Json>(read_file(folder / kMemmapMetaFile, kMaxMetaBytes), where);
}

void check_kind(const Json& meta, const std::string& where) {
  const auto version = meta.find("_format_version");
  if (version != meta.end() && version->is_number_integer() && version->get<std::int64_t>() > kMemmapFormatVersion)
    throw Error(where + " has format version " + version->dump() + "; up to " + std::to_string(kMemmapFormatVersion) +
                " is understood");
  const auto text = [&](const char* key) {
    const auto found = meta.find(key);
    return found != meta.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const std::string type = text("_class").empty() ? text("_type") : text("_class");
  if (type != "tensordict:TensorDict" && type.find(".TensorDict'>") == std::string::npos)
    throw Error(where + " describes no TensorDict" + (type.empty() ? "" : ", but " + shown(type)));
}

std::vector<std::int64_t> read_shape(const Json& owner, const std::string& where) {
  const auto found = owner.find("shape");
  if (found == owner.end()) throw Error(where + " has no shape");
  const auto refuse = [&] { throw Error(where + ": shape " + shown(found->dump()) + " is not a list of sizes"); };
  if (!found->is_array()) refuse();
  std::vector<std::int64_t> shape;
  for (const Json& n : *found) {
    if (!n.is_number_unsigned() || n.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) refuse();
    shape.push_back(n.get<std::int64_t>());
  }
  return shape;
}

DType read_dtype(const Json& entry, const std::string& where) {
  const auto found = entry.find("dtype");
  const std::string text = found != entry.end() && found->is_string() ? found->get<std::string>() : "";
  for (int i = 0; i <= static_cast<int>(DType::f64); ++i)
    if (text == std::string("torch.") + dtype_name(static_cast<DType>(i))) return static_cast<DType>(i);
  throw Error(where + ": dtype " + shown(text) +
              " is not torch. and one of bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64");
}

// Older writers did not encode names: what is not there encoded may be there as it is.
fs::path entry_path(const fs::path& folder, const std::string& key, const char* extension) {
  const fs::path encoded = folder / (memmap_file_name(key) + extension);
  std::error_code error;
  const bool safe = key != "." && key != ".." && key.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
  if (!fs::exists(encoded, error) && safe && fs::exists(folder / (key + extension), error))
    return folder / (key + extension);
  return encoded;
}

}  // namespace

std::string memmap_file_name(const std::string& key) {
  if (key == "." || key == "..") return key == "." ? "%2E" : "%2E%2E";
  std::string name;
  for (const char c : key) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 32 || code == 127 || std::strchr("/<>:\"|?*\\ %", c)) {
      constexpr const char* kDigits = "0123456789ABCDEF";
      name += {'%', kDigits[code >> 4], kDigits[code & 15]};
    } else {
      name += c;
    }
  }
  return name;
}

std::size_t MemmapEntry::bytes() const {
  std::size_t bytes = dtype_size(dtype);
  for (const std::int64_t n : shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(n), &bytes) || bytes >> 62)
      throw Error(quoted(path) + ": its shape is too large");
  return bytes;
}

MemmapMeta::MemmapMeta(const fs::path& folder)
    : folder_(folder), where_(quoted(folder / kMemmapMetaFile)), json_(read_meta(folder, where_)) {
  check_kind(json_, where_);
}

std::vector<std::int64_t> MemmapMeta::batch_size() const {
  // a key of that name takes the place of the batch size in Python's files, which then is lost
  return read_shape(json_, where_);
}

std::vector<std::string> MemmapMeta::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, entry] : json_.items())
    if (entry.is_object()) keys.push_back(key);
  return keys;
}

std::string MemmapMeta::text(const std::string& key) const {
  const auto found = json_.find(key);
  if (found == json_.end() || !found->is_string()) throw Error(where_ + ": " + quoted_key(key) + " is no text");
  return found->get<std::string>();
}

MemmapEntry MemmapMeta::entry(const std::string& key) const {
  const std::string what = where_ + ": " + quoted_key(key);
  const auto found = json_.find(key);
  if (found == json_.end() || !found->is_object()) throw Error(what + " is missing");
  if (key.empty() || key.find('/') != std::string::npos)
    throw Error(what + ": a key is not empty and holds no '/', which separates nested ones");
  if (found->contains("type")) return {entry_path(folder_, key, ""), true};
  const auto nested = found->find("is_nested");
  if (nested != found->end() && *nested == true) throw Error(what + " is a nested tensor");
  return {entry_path(folder_, key, ".memmap"), false, read_dtype(*found, what), read_shape(*found, what)};
}

}  // namespace hotloop
