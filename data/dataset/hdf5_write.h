// What the HDF5 formats write with: whole datasets, datasets that grow by rows.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "data/hdf5_handle.h"

namespace hotloop {

// A new file in the oldest format, which every reader of the field knows.
Hdf5Handle create_hdf5(const std::filesystem::path& path);
// Hands everything to the system and to the disk; a failure that closing would hide is an Error here.
void flush_hdf5(const Hdf5Handle& file, const std::filesystem::path& path);

Hdf5Handle create_group(hid_t parent, const std::string& name);

// A contiguous dataset of `dims`; `data` is of `type`.
void write_dataset(hid_t group, const std::string& name, hid_t type, const std::vector<hsize_t>& dims,
                   const void* data);

// For what is stored as another type: HDF5 would take, and zero, a megabyte for each dataset that it converts.
template <class To, class From>
std::vector<To> converted(const std::vector<From>& values) {
  return {values.begin(), values.end()};
}

// A chunked dataset of rows that grows at its end.
class RowDataset {
 public:
  // row_dims: of one row; empty for a number a row.
  RowDataset(hid_t group, const std::string& name, Hdf5Handle type, std::vector<hsize_t> row_dims);
  // `rows` rows of the dataset's own type. They are written by whole chunks.
  void append(const void* data, std::size_t rows);
  // The last rows; nothing may follow.
  void finish();

 private:
  void write_chunk();

  std::string name_;
  Hdf5Handle type_, set_;
  std::vector<hsize_t> dims_;  // dims_[0]: rows written
  std::size_t row_bytes_, chunk_rows_;
  std::vector<char> chunk_;  // the next
  std::size_t pending_ = 0;  // bytes of it
};

}  // namespace hotloop
