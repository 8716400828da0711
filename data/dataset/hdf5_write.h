// What the HDF5 formats write with: files, whole datasets, datasets that grow by rows.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset/value_writer.h"
#include "data/hdf5_handle.h"

namespace hotloop {

// A new file in the oldest format, which every reader of the field knows.
//
// A group of five datasets costs the library 0.25 ms of its lists and caches, below the lock that it has for the whole
// process, and of short episodes there are many. So it only finds the places of whole datasets, and their values reach
// the file by another thread, without it.
class Hdf5File {
 public:
  explicit Hdf5File(const std::filesystem::path& path);

  hid_t get() const { return file_.get(); }
  Hdf5Handle create_group(hid_t parent, const std::string& name) const;
  // A contiguous dataset of `dims`; `data` is of `type`.
  void write_dataset(hid_t group, const std::string& name, hid_t type, const std::vector<hsize_t>& dims,
                     const void* data);
  // Hands everything to the system and to the disk, and closes; a failure that closing would hide is an Error here.
  void finish();

 private:
  std::filesystem::path path_;
  Hdf5Handle file_, group_properties_, set_properties_;
  ValueWriter values_;
};

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
