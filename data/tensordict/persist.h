// Saving and loading TensorDicts in the two forms that Python's tensordict (0.15) reads and writes.
//
// memmap: a folder with meta.json and one raw file a leaf, a subfolder a nested TensorDict; loading maps the files, so
// that it costs nothing until a leaf is read. In Python: TensorDict.load_memmap(dir), td.memmap(dir).
//
//   memmap(td, dir);
//   TensorDict mapped = load_memmap(dir);
//
// HDF5: a dataset a leaf, a group a nested TensorDict. In Python: TensorDict.from_h5(file), td.to_h5(file). Python
// stores no batch size there and takes the longest shape that all entries share; files written here also carry the
// attribute batch_size, which Python ignores. Python's tensordict knows no bfloat16 in HDF5 ("unsupported ScalarType"),
// so that it is an Error here too: use memmap, or to(at::kFloat) first.
//
//   to_h5(td, file);
//   TensorDict loaded = from_h5(file);
//
// Element types: bool, uint8, int8, int16, int32, int64, float16, bfloat16 (memmap), float32, float64. What Python can
// save and this does not read (NonTensorData, lazy stacks, nested tensors, complex and quantised types, dimension names
// are dropped) is an Error that says so. Files are complete or absent: they are written under another name in the same
// folder, synchronised and renamed.
#pragma once
#include <filesystem>
#include <optional>

#include "data/tensordict/tensordict.h"

namespace hotloop {

enum class MapMode {
  shared,        // writing into a leaf writes the file, as in Python
  copy_on_write  // the file stays as it is, and needs no write permission
};

// Writes td (from any device) and returns it as mapped from there, locked. A TensorDict folder that is there is
// replaced; any other folder that is not empty, or one with foreign files in it, is an Error.
TensorDict memmap(const TensorDict& td, const std::filesystem::path& dir);
// The same with zeros for every leaf, to be filled through the mapping.
TensorDict memmap_like(const TensorDict& td, const std::filesystem::path& dir);
// `device`: copies there instead of mapping. A mapped file must not be shortened while a leaf of it lives.
TensorDict load_memmap(const std::filesystem::path& dir, MapMode mode = MapMode::shared,
                       std::optional<at::Device> device = std::nullopt);

// `gzip`: deflate level 1 to 9 with byte shuffle, 0 stores as is.
void to_h5(const TensorDict& td, const std::filesystem::path& file, int gzip = 0);
TensorDict from_h5(const std::filesystem::path& file, std::optional<Shape> batch_size = std::nullopt,
                   std::optional<at::Device> device = std::nullopt);

}  // namespace hotloop
