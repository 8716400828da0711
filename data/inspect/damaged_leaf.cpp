#include "data/inspect/damaged_leaf.h"

#include <algorithm>

#include "data/hdf5_types.h"
#include "sim/core/value.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

// HDF5's own tools open cut files by this property. Versions that have it no more refuse them.
constexpr const char* kSkipEndOfFileCheck = "skip_eof_check";

// Rows of a chunked dataset before the first chunk that is not there.
std::int64_t rows_in_chunks(const Hdf5Handle& set, const Hdf5Handle& layout, double file_bytes, std::int64_t rows,
                            const std::string& where) {
  std::vector<hsize_t> chunk(hdf5_dims(set.get(), where).size()), offset(chunk.size());
  hdf5_check(H5Pget_chunk(layout.get(), static_cast<int>(chunk.size()), chunk.data()), where);
  const Hdf5Handle space(H5Dget_space(set.get()), where);
  hsize_t count = 0;
  hdf5_check(H5Dget_num_chunks(set.get(), space.get(), &count), where);
  std::int64_t whole = 0;
  for (hsize_t i = 0; i < count; ++i) {
    haddr_t address = 0;
    hsize_t size = 0;
    unsigned filters = 0;
    hdf5_check(H5Dget_chunk_info(set.get(), space.get(), i, offset.data(), &filters, &address, &size), where);
    const bool in_order = static_cast<std::int64_t>(offset[0]) == whole;
    if (!in_order || static_cast<double>(address) + static_cast<double>(size) > file_bytes) break;
    whole += static_cast<std::int64_t>(chunk[0]);
  }
  return std::min(rows, whole);
}

}  // namespace

OpenHdf5 open_damaged_hdf5(const fs::path& path) {
  OpenHdf5 file;
  std::error_code error;
  file.bytes = static_cast<double>(fs::file_size(path, error));
  if (error) throw Error(path.string() + ": " + error.message());
  if (H5Fis_hdf5(path.c_str()) <= 0) throw Error(path.string() + ": is no trajectory log or dataset (not HDF5)");
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), "HDF5 properties");
  const hbool_t skip = true;
  if (H5Pexist(access.get(), kSkipEndOfFileCheck) > 0)
    hdf5_check(H5Pset(access.get(), kSkipEndOfFileCheck, &skip), "HDF5 properties");
  const hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get());
  if (id >= 0) file.file = Hdf5Handle(id, path.string());
  return file;
}

DataLeaf damaged_leaf(const OpenHdf5& file, const std::string& path) {
  Hdf5Room room(file.bytes * kMostCut);
  DataLeaf leaf = hdf5_leaf(file.file.get(), path, path, room);
  const Hdf5Handle set(H5Dopen2(file.file.get(), path.c_str(), H5P_DEFAULT), path);
  const Hdf5Handle layout(H5Dget_create_plist(set.get()), path);
  if (H5Pget_layout(layout.get()) == H5D_CHUNKED) {
    leaf.rows = rows_in_chunks(set, layout, file.bytes, leaf.rows, path);
  } else if (H5Pget_layout(layout.get()) == H5D_CONTIGUOUS && leaf.rows > 0) {
    const double row_bytes = static_cast<double>(H5Dget_storage_size(set.get())) / static_cast<double>(leaf.rows);
    const haddr_t begin = H5Dget_offset(set.get());
    const double held = begin == HADDR_UNDEF ? 0 : file.bytes - static_cast<double>(begin);
    leaf.rows = row_bytes > 0 ? std::clamp<std::int64_t>(static_cast<std::int64_t>(held / row_bytes), 0, leaf.rows) : 0;
  }
  return leaf;
}

DataLeaf damaged_leaf(const MemmapEntry& entry, const std::string& name) {
  if (entry.nested || entry.shape.empty()) throw Error(name + ": is no array of steps");
  std::vector<std::int64_t> row(entry.shape.begin() + 1, entry.shape.end());
  MemmapEntry one = entry;
  one.shape[0] = 1;
  std::error_code error;
  const std::uintmax_t held = fs::file_size(entry.path, error);
  if (error) throw Error(entry.path.string() + ": " + error.message());
  const auto rows = static_cast<std::int64_t>(held / std::max<std::size_t>(1, one.bytes()));
  return raw_leaf(entry.path, name, entry.dtype, std::min(rows, entry.shape[0]), std::move(row), true);
}

}  // namespace hotloop
