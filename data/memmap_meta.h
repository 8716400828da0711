// meta.json of a folder in TensorDict's memmap layout: what it says of its entries, and where these lie. Nothing beside
// it is opened.
#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/arena.h"

namespace hotloop {

inline constexpr const char* kMemmapMetaFile = "meta.json";
inline constexpr int kMemmapFormatVersion = 1;

// The file name of a key, without its extension: what a file system could misread is percent-encoded.
std::string memmap_file_name(const std::string& key);

struct MemmapEntry {
  std::filesystem::path path;  // the raw file, or the folder of a nested TensorDict
  bool nested = false;
  DType dtype = DType::f32;  // of a raw file
  std::vector<std::int64_t> shape = {};

  std::size_t bytes() const;  // Error where the shape is too large for any file
};

class MemmapMeta {
 public:
  // Error where `folder` holds no meta.json, or one of anything but a TensorDict.
  explicit MemmapMeta(const std::filesystem::path& folder);

  bool contains(const std::string& key) const { return json_.contains(key); }
  std::vector<std::int64_t> batch_size() const;  // Error where there is none
  std::vector<std::string> keys() const;         // of its entries, in their order
  // What a key that is no entry says. Error where that is no text.
  std::string text(const std::string& key) const;
  // Error naming file and key where it is missing, or makes no sense.
  MemmapEntry entry(const std::string& key) const;

 private:
  std::filesystem::path folder_;
  std::string where_;
  nlohmann::ordered_json json_;
};

}  // namespace hotloop
