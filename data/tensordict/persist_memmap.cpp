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
#include "data/memmap_meta.h"
#include "data/staged_path.h"
#include "data/tensordict/arena_view.h"
#include "data/tensordict/persist.h"
#include "data/tensordict/tensordict_node.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using tensordict_detail::shape_text;

const std::vector<std::string> kReservedKeys = {"shape", "device", "_type", "_format_version", "_class", "_names"};

std::string quoted(const fs::path& path) {
  std::string text = "'";
  return text.append(path.string()).append("'");
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
      write_folder(value.dict(), dir / memmap_file_name(name), key + "/", zeros);
      continue;
    }
    const at::Tensor& leaf = value.tensor();
    const DType dtype = dtype_of(leaf.scalar_type());
    meta[name] = {{"device", "cpu"},
                  {"shape", leaf.sizes().vec()},
                  {"dtype", std::string("torch.") + dtype_name(dtype)},
                  {"is_nested", false}};
    if (leaf.numel() == 0) continue;
    const fs::path file = dir / (memmap_file_name(name) + ".memmap");
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
  meta["_format_version"] = kMemmapFormatVersion;
  meta["_class"] = "tensordict:TensorDict";
  try {
    write_file(dir / kMemmapMetaFile, meta.dump());
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
  if (!fs::exists(dir / kMemmapMetaFile, error))
    throw Error("tensordict: memmap: folder " + quoted(dir) + " is neither empty nor a TensorDict (no meta.json)");
  for (const fs::directory_entry& entry : fs::directory_iterator(dir, error)) {
    const fs::path& path = entry.path();
    if (entry.is_directory() && !entry.is_symlink())
      check_replaceable(path);
    else if (path.filename() != kMemmapMetaFile && path.extension() != ".memmap")
      throw Error("tensordict: memmap: folder " + quoted(dir) + " also holds '" + path.filename().string() +
                  "', which is no part of a TensorDict");
  }
  if (error) throw Error("cannot read " + quoted(dir) + ": " + error.message());
}

at::Tensor map_file(const MemmapEntry& leaf, MapMode mode) {
  const fs::path& file = leaf.path;
  const std::size_t bytes = leaf.bytes();
  const auto options = at::TensorOptions(scalar_type(leaf.dtype));
  if (bytes == 0) return at::empty(leaf.shape, options);
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
                dtype_name(leaf.dtype) + shape_text(leaf.shape) + ", which is " + std::to_string(bytes));
  return at::from_blob(
      data, leaf.shape, [bytes](void* p) { ::munmap(p, bytes); }, options);
}

TensorDict read_folder(const fs::path& dir, MapMode mode, std::optional<at::Device> device) {
  const MemmapMeta meta(dir);
  TensorDict result(meta.batch_size(), device);
  for (const std::string& key : meta.keys()) {
    const MemmapEntry entry = meta.entry(key);
    try {
      if (entry.nested) {
        result.set(key, read_folder(entry.path, mode, device));
        continue;
      }
      const at::Tensor leaf = map_file(entry, mode);
      result.set(key, device && device->is_cpu() ? leaf.clone() : leaf);
    } catch (const Error& e) {
      const std::string text = e.what();
      const bool named = text.find(dir.string()) != std::string::npos;
      throw Error(named ? text : quoted(dir / kMemmapMetaFile) + ": " + text);
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
