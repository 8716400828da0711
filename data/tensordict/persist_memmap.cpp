// Python's memmap layout, format version 1: meta.json names the leaves with shape and element type, each leaf is
// <key>.memmap, row-major in native (little-endian) bytes; leaves without elements have no file.
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "data/file.h"
#include "data/staged_path.h"
#include "data/tensordict/arena_view.h"
#include "data/tensordict/persist.h"
#include "data/tensordict/tensordict_node.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using tensordict_detail::shape_text;

constexpr const char* kMetaFile = "meta.json";
constexpr int kFormatVersion = 1;
constexpr std::uint64_t kMaxMetaBytes = 256 << 20;
const std::vector<std::string> kReservedKeys = {"shape", "device", "_type", "_format_version", "_class", "_names"};

// The file name of a key: what a file system could misread is percent-encoded, as Python's tensordict does.
std::string file_name(const std::string& key) {
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

std::string quoted(const fs::path& path) {
  std::string text = "'";
  return text.append(path.string()).append("'");
}

std::size_t byte_count(DType dtype, const Shape& shape, const fs::path& file) {
  std::size_t bytes = dtype_size(dtype);
  for (const std::int64_t n : shape)
    if (n < 0 || __builtin_mul_overflow(bytes, static_cast<std::size_t>(n), &bytes) || bytes >> 62)
      throw Error(quoted(file) + ": shape " + shape_text(shape) + " is negative or too large");
  return bytes;
}

void write_folder(const TensorDict& td, const fs::path& dir, const std::string& prefix, bool zeros) {
  make_folder(dir);
  Json meta = Json::object();
  for (const auto& [name, value] : td.items()) {
    const std::string key = prefix + name;
    if (std::find(kReservedKeys.begin(), kReservedKeys.end(), name) != kReservedKeys.end())
      throw Error("tensordict: memmap: key '" + key + "' means something else in meta.json; rename it");
    if (!value.is_tensor()) {
      meta[name] = {{"type", "TensorDict"}};
      write_folder(value.dict(), dir / file_name(name), key + "/", zeros);
      continue;
    }
    const at::Tensor& leaf = value.tensor();
    const DType dtype = dtype_of(leaf.scalar_type());
    meta[name] = {{"device", "cpu"},
                  {"shape", leaf.sizes().vec()},
                  {"dtype", std::string("torch.") + dtype_name(dtype)},
                  {"is_nested", false}};
    if (leaf.numel() == 0) continue;
    const fs::path file = dir / (file_name(name) + ".memmap");
    if (zeros) {
      write_zeros(file, leaf.nbytes());
    } else {
      const at::Tensor host = leaf.detach().to(at::kCPU).contiguous();
      write_file(file, {static_cast<const char*>(host.data_ptr()), host.nbytes()});
    }
  }
  meta["shape"] = td.batch_size();
  meta["device"] = "cpu";
  meta["_type"] = "<class 'tensordict._td.TensorDict'>";
  meta["_format_version"] = kFormatVersion;
  meta["_class"] = "tensordict:TensorDict";
  try {
    write_file(dir / kMetaFile, meta.dump());
  } catch (const Json::exception&) {
    throw Error("tensordict: memmap: a key under '" + prefix + "' is not UTF-8");
  }
}

// Only what memmap itself writes may be replaced: a wrong path must not cost a user other files.
void check_replaceable(const fs::path& dir) {
  std::error_code error;
  if (!fs::exists(dir, error)) return;
  if (!fs::is_directory(dir, error)) throw Error("tensordict: memmap: " + quoted(dir) + " is not a folder");
  if (fs::is_empty(dir, error)) return;
  if (!fs::exists(dir / kMetaFile, error))
    throw Error("tensordict: memmap: folder " + quoted(dir) + " is neither empty nor a TensorDict (no meta.json)");
  for (const fs::directory_entry& entry : fs::directory_iterator(dir, error)) {
    const fs::path& path = entry.path();
    if (entry.is_directory() && !entry.is_symlink())
      check_replaceable(path);
    else if (path.filename() != kMetaFile && path.extension() != ".memmap")
      throw Error("tensordict: memmap: folder " + quoted(dir) + " also holds '" + path.filename().string() +
                  "', which is no part of a TensorDict");
  }
  if (error) throw Error("cannot read " + quoted(dir) + ": " + error.message());
}

at::Tensor map_file(const fs::path& file, DType dtype, const Shape& shape, MapMode mode) {
  const std::size_t bytes = byte_count(dtype, shape, file);
  const auto options = at::TensorOptions(scalar_type(dtype));
  if (bytes == 0) return at::empty(shape, options);
  const auto fail = [&](int error) -> void {
    const bool denied = mode == MapMode::shared && (error == EACCES || error == EROFS || error == EPERM);
    throw Error("cannot map " + quoted(file) + ": " + std::strerror(error) +
                (denied ? " (MapMode::copy_on_write needs no write permission)" : ""));
  };
  const bool shared = mode == MapMode::shared;
  const int fd = ::open(file.c_str(), (shared ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (fd < 0) fail(errno);
  struct stat status {};
  void* data = MAP_FAILED;
  int error = ::fstat(fd, &status) == 0 ? 0 : errno;
  const bool fits = !error && S_ISREG(status.st_mode) && static_cast<std::size_t>(status.st_size) == bytes;
  if (fits) {
    data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) error = errno;
  }
  ::close(fd);
  if (error) fail(error);
  if (!fits)
    throw Error(quoted(file) + " has " + std::to_string(status.st_size) + " bytes, but meta.json says " +
                dtype_name(dtype) + shape_text(shape) + ", which is " + std::to_string(bytes));
  return at::from_blob(
      data, shape, [bytes](void* p) { ::munmap(p, bytes); }, options);
}

Json read_meta(const fs::path& dir) {
  const fs::path file = dir / kMetaFile;
  std::error_code error;
  if (!fs::is_directory(dir, error)) throw Error("tensordict: load_memmap: " + quoted(dir) + " is not a folder");
  if (!fs::exists(file, error))
    throw Error("tensordict: load_memmap: " + quoted(dir) + " is no TensorDict folder (no meta.json)");
  const Json meta = Json::parse(read_file(file, kMaxMetaBytes), nullptr, false);
  const std::string name = quoted(file);
  if (!meta.is_object()) throw Error(name + " is not a JSON object");
  const auto version = meta.find("_format_version");
  if (version != meta.end() && version->is_number_integer() && version->get<std::int64_t>() > kFormatVersion)
    throw Error(name + " has format version " + version->dump() + "; up to " + std::to_string(kFormatVersion) +
                " is understood");
  const auto text = [&](const char* key) {
    const auto found = meta.find(key);
    return found != meta.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const std::string type = text("_class").empty() ? text("_type") : text("_class");
  const bool known = type == "tensordict:TensorDict" || type.find(".TensorDict'>") != std::string::npos;
  if (!known) throw Error(name + " describes '" + type + "'; only TensorDict can be loaded");
  return meta;
}

Shape read_shape(const Json& json, const std::string& where) {
  Shape shape;
  if (!json.is_array()) throw Error(where + ": shape is not a list");
  for (const Json& n : json) {
    if (!n.is_number_integer() || n.get<std::int64_t>() < 0)
      throw Error(where + ": shape " + json.dump() + " is not a list of sizes");
    shape.push_back(n.get<std::int64_t>());
  }
  return shape;
}

DType read_dtype(const Json& entry, const std::string& where) {
  const auto found = entry.find("dtype");
  const std::string text = found != entry.end() && found->is_string() ? found->get<std::string>() : "";
  for (int i = 0; i <= static_cast<int>(DType::f64); ++i)
    if (text == std::string("torch.") + dtype_name(static_cast<DType>(i))) return static_cast<DType>(i);
  throw Error(where + ": dtype '" + text +
              "' is not torch. and one of bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64");
}

// Older writers did not encode names: what is not there encoded may be there as it is.
fs::path entry_path(const fs::path& dir, const std::string& key, const char* extension) {
  const fs::path encoded = dir / (file_name(key) + extension);
  std::error_code error;
  const bool safe = key != "." && key != ".." && key.find('\\') == std::string::npos;
  if (!fs::exists(encoded, error) && safe && fs::exists(dir / (key + extension), error)) return dir / (key + extension);
  return encoded;
}

TensorDict read_folder(const fs::path& dir, MapMode mode, std::optional<at::Device> device) {
  const Json meta = read_meta(dir);
  const std::string where = quoted(dir / kMetaFile);
  const auto batch = meta.find("shape");
  // a key of that name takes the place of the batch size in Python's files, which then is lost
  if (batch == meta.end()) throw Error(where + " has no batch size ('shape')");
  TensorDict result(read_shape(*batch, where), device);
  for (const auto& [key, entry] : meta.items()) {
    if (!entry.is_object()) continue;
    if (key.empty() || key.find('/') != std::string::npos)
      throw Error(where + ": key '" + key + "' is empty or holds '/', which separates nested keys");
    try {
      if (entry.contains("type")) {
        result.set(key, read_folder(entry_path(dir, key, ""), mode, device));
        continue;
      }
      const auto nested = entry.find("is_nested");
      if (nested != entry.end() && *nested == true) throw Error(where + ": '" + key + "' is a nested tensor");
      const auto shape = entry.find("shape");
      if (shape == entry.end()) throw Error(where + ": '" + key + "' has no shape");
      const at::Tensor leaf = map_file(entry_path(dir, key, ".memmap"), read_dtype(entry, where + ": '" + key + "'"),
                                       read_shape(*shape, where + ": '" + key + "'"), mode);
      result.set(key, device && device->is_cpu() ? leaf.clone() : leaf);
    } catch (const Error& e) {
      const std::string text = e.what();
      const bool named = text.find(dir.string()) != std::string::npos;
      throw Error(named ? text : where + ": " + text);
    }
  }
  return result;
}

TensorDict save(const TensorDict& td, const fs::path& dir, bool zeros) {
  StagedPath staged(dir);
  check_replaceable(staged.target());
  write_folder(td, staged.path(), "", zeros);
  staged.commit_folder();
  return load_memmap(staged.target()).lock_();
}

}  // namespace

TensorDict memmap(const TensorDict& td, const fs::path& dir) { return save(td, dir, false); }
TensorDict memmap_like(const TensorDict& td, const fs::path& dir) { return save(td, dir, true); }

TensorDict load_memmap(const fs::path& dir, MapMode mode, std::optional<at::Device> device) {
  return read_folder(dir, mode, device);
}

}  // namespace hotloop
