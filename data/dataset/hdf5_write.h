// What is written by HDF5's library: files, datasets that grow by rows.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "data/hdf5_handle.h"

namespace hotloop {

// A new file in the oldest format, which every reader of the field knows.
class Hdf5File {
 public:
  explicit Hdf5File(const std::filesystem::path& path);

  hid_t get() const { return file_.get(); }
  Hdf5Handle create_group(hid_t parent, const std::string& name) const;
  // Hands everything to the system and to the disk, and closes; a failure that closing would hide is an Error here.
  void finish();

 private:
  std::filesystem::path path_;
  Hdf5Handle file_;
};

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
