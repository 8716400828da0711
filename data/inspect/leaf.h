// One array of a dataset, whatever file it lies in, and the reading of all its values by blocks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/arena.h"
#include "data/hdf5_handle.h"
#include "data/hdf5_room.h"
#include "data/inspect/report.h"

namespace hotloop {

struct DataLeaf {
  std::string name;            // "obs/flat"
  std::optional<DType> dtype;  // nothing: text and other kinds, which are not read
  std::int64_t rows = 0;
  std::vector<std::int64_t> row_shape = {};
  std::function<void(std::int64_t row, std::int64_t rows, std::byte* out)> read = {};

  std::int64_t row_numel() const {
    std::int64_t n = 1;
    for (const std::int64_t d : row_shape) n *= d;
    return n;
  }
  const char* dtype_text() const { return dtype ? dtype_name(*dtype) : "other"; }
};

// The dataset `path` of a file. Error where it lies elsewhere, and where the file has no `room` for it. `name`: what
// the leaf is called.
DataLeaf hdf5_leaf(hid_t file, const std::string& path, const std::string& name, Hdf5Room& room);
// Every dataset below group `path`, named from there; those that cannot be opened are problems.
std::vector<DataLeaf> hdf5_leaves(hid_t file, const std::string& path, Hdf5Room& room, Report& report);
// A raw file. Error where it has not exactly the size; `may_be_longer`: or more.
DataLeaf raw_leaf(const std::filesystem::path& path, const std::string& name, DType dtype, std::int64_t rows,
                  std::vector<std::int64_t> row_shape, bool may_be_longer = false);

// Values of one block as numbers: bool as 0 and 1.
double leaf_number(DType dtype, const std::byte* element);
std::int64_t count_non_finite(DType dtype, const std::byte* elements, std::size_t count);

// Reads every value once; `take` is given blocks of rows in their order. Counts in the report; what cannot be read is a
// problem starting with `where`, and ends it: false.
using TakeRows = std::function<void(std::int64_t row, std::int64_t rows, const std::byte* values)>;
bool scan_leaf(const DataLeaf& leaf, const std::string& where, Report& report, const TakeRows& take = {});

}  // namespace hotloop
