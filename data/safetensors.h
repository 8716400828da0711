// safetensors files: named arrays behind a JSON header, readable by every safetensors library. Layout: uint64 length of
// the header (little-endian), the header (JSON, padded with spaces to a multiple of 8 bytes), the arrays without gaps.
//
// Files written here carry a key "crc32c" in the header's "__metadata__": 8 lower-case hexadecimal digits, CRC-32C of
// the whole file with these digits as '0'. So a file that was cut, or in which one bit has changed, is refused.
#pragma once
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "data/arena.h"

namespace hotloop {

// A view: whoever made it owns the bytes (row-major, little-endian).
struct NamedTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

using Metadata = std::map<std::string, std::string>;

// Writes to a temporary name and renames. The same input gives the same bytes. Error for a repeated name, bytes that do
// not fit dtype and shape, a name or value that is not UTF-8, and whatever the disk refuses.
void write_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                       const Metadata& metadata = {});

struct SafetensorsOptions {
  bool require_checksum = true;  // false: also files of other programs, which have none; one that is there must fit
  std::uint64_t max_bytes = std::uint64_t{1} << 40;
};

// A file in memory. Nothing about the content is trusted: whatever is wrong is an Error naming the file.
class Safetensors {
 public:
  static Safetensors read(const std::filesystem::path& path, const SafetensorsOptions& options = {});
  // The same from memory; `name` stands for the file in messages.
  static Safetensors parse(std::string content, std::string name, const SafetensorsOptions& options = {});
  // Copies of tensors, as if they had been read from a file of this name; their bytes must fit dtype and shape.
  static Safetensors of(std::string name, const std::vector<NamedTensor>& tensors, Metadata metadata);

  const std::vector<NamedTensor>& tensors() const { return tensors_; }  // in the order of their bytes
  const Metadata& metadata() const { return metadata_; }                // without "crc32c"
  const std::string& name() const { return name_; }

  bool contains(const std::string& tensor) const { return find(tensor) != nullptr; }
  // Error naming the file and the nearest name.
  const NamedTensor& get(const std::string& tensor) const;
  // Error also if dtype or shape differ.
  const NamedTensor& get(const std::string& tensor, DType dtype, const std::vector<std::int64_t>& shape) const;
  // Error if the key is missing.
  const std::string& metadata_value(const std::string& key) const;

  // The elements of a tensor of any shape. Error if its element type is not T.
  template <class T>
  std::vector<T> values(const std::string& tensor) const {
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no data(); read the bytes");
    const NamedTensor& t = get(tensor);
    check_dtype(t, dtype_of<T>());
    std::vector<T> out(t.bytes.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), t.bytes.data(), t.bytes.size());  // foreign files may be unaligned
    return out;
  }

 private:
  const NamedTensor* find(const std::string& tensor) const;
  void check_dtype(const NamedTensor& tensor, DType wanted) const;
  void read_header(const SafetensorsOptions& options);
  [[noreturn]] void fail(const std::string& what) const;

  std::string name_;
  std::unique_ptr<const std::string> content_;  // its bytes stay in place when this object is moved
  std::vector<NamedTensor> tensors_;
  Metadata metadata_;
};

}  // namespace hotloop
