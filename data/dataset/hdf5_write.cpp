#include "data/dataset/hdf5_write.h"

#include <algorithm>
#include <cstring>

#include "data/staged_path.h"

namespace hotloop {
namespace {

constexpr std::size_t kChunkBytes = 512 * 1024;  // below the chunk cache of HDF5's readers, 1 MiB
// What HDF5 writes in small pieces lies together: between the data of episodes it would cost a disk access a piece.
constexpr hsize_t kSmallPiecesBytes = hsize_t{1} << 20;

// Without the time of writing, so that the same episodes are the same bytes.
Hdf5Handle dataset_properties() {
  Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), "HDF5 properties");
  hdf5_check(H5Pset_obj_track_times(properties.get(), false), "HDF5 properties");
  return properties;
}

std::string cannot_write(const std::string& file) { return "cannot write '" + file + "'"; }
std::string cannot_write(const std::string& file, const std::string& name) {
  return cannot_write(file) + ": '" + name + "'";
}

std::string file_of(hid_t object) {
  std::string name(static_cast<std::size_t>(std::max<ssize_t>(0, H5Fget_name(object, nullptr, 0))), '\0');
  H5Fget_name(object, name.data(), name.size() + 1);
  return name;
}

Hdf5Handle create_file(const std::filesystem::path& path) {
  const Hdf5Quiet quiet;
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), "HDF5 properties");
  hdf5_check(H5Pset_meta_block_size(access.get(), kSmallPiecesBytes), "HDF5 properties");
  hdf5_check(H5Pset_small_data_block_size(access.get(), kSmallPiecesBytes), "HDF5 properties");
  return Hdf5Handle(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access.get()), cannot_write(path.string()));
}

}  // namespace

Hdf5File::Hdf5File(const std::filesystem::path& path) : path_(path), file_(create_file(path)) {}

Hdf5Handle Hdf5File::create_group(hid_t parent, const std::string& name) const {
  return Hdf5Handle(H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                    cannot_write(path_.string(), name));
}

void Hdf5File::finish() {
  hdf5_check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), cannot_write(path_.string()));
  file_.reset();
  synchronize_path(path_);
}

RowDataset::RowDataset(hid_t group, const std::string& name, Hdf5Handle type, std::vector<hsize_t> row_dims)
    : name_(cannot_write(file_of(group), name)),
      type_(std::move(type)),
      dims_(std::move(row_dims)),
      row_bytes_(H5Tget_size(type_.get())) {
  for (const hsize_t n : dims_) row_bytes_ *= n;
  chunk_rows_ = std::max<std::size_t>(1, kChunkBytes / row_bytes_);
  chunk_.resize(chunk_rows_ * row_bytes_);
  dims_.insert(dims_.begin(), 0);
  std::vector<hsize_t> most = dims_, chunk = dims_;
  most[0] = H5S_UNLIMITED;
  chunk[0] = chunk_rows_;
  const int rank = static_cast<int>(dims_.size());
  const Hdf5Handle space(H5Screate_simple(rank, dims_.data(), most.data()), name_);
  const Hdf5Handle layout = dataset_properties();
  hdf5_check(H5Pset_chunk(layout.get(), rank, chunk.data()), name_);
  set_ = Hdf5Handle(H5Dcreate2(group, name.c_str(), type_.get(), space.get(), H5P_DEFAULT, layout.get(), H5P_DEFAULT),
                    name_);
}

void RowDataset::append(const void* data, std::size_t rows) {
  const char* bytes = static_cast<const char*>(data);
  for (std::size_t left = rows * row_bytes_; left > 0;) {
    const std::size_t count = std::min(left, chunk_.size() - pending_);
    std::memcpy(chunk_.data() + pending_, bytes, count);
    bytes += count, left -= count, pending_ += count;
    if (pending_ == chunk_.size()) write_chunk();
  }
}

void RowDataset::finish() {
  if (pending_ == 0) return;
  std::fill(chunk_.begin() + static_cast<std::ptrdiff_t>(pending_), chunk_.end(), 0);
  write_chunk();
}

// Past HDF5's own cache of chunks, which would copy them and read each that is written in parts.
void RowDataset::write_chunk() {
  std::vector<hsize_t> start(dims_.size(), 0);
  start[0] = dims_[0];
  dims_[0] += pending_ / row_bytes_;
  pending_ = 0;
  hdf5_check(H5Dset_extent(set_.get(), dims_.data()), name_);
  hdf5_check(H5Dwrite_chunk(set_.get(), H5P_DEFAULT, 0, start.data(), chunk_.size(), chunk_.data()), name_);
}

}  // namespace hotloop
