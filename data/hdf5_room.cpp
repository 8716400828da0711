#include "data/hdf5_room.h"

#include <algorithm>
#include <cmath>

#include "data/hdf5_read.h"

namespace hotloop {
namespace {

// A dataset may be linked from several places.
constexpr double kMostReadings = 4;
// Of a header, or of a link: an open costs time even of a set that is empty.
constexpr double kObjectBytes = 128;
// What was never written reads as the fill value, and a small file may have some of that. Each chunk of it costs HDF5
// a search.
constexpr double kMostUnwritten = 16.0 * 1048576, kLeastChunk = 1024;

constexpr const char* kTooLarge = " is larger than the file can hold";

struct Extent {
  double stored = 0, unwritten = 0;  // bytes of the file, bytes that no part of it stands for
};

Extent extent_of_chunks(hid_t set, const Hdf5Handle& layout, const std::vector<hsize_t>& dims, double element,
                        double rows, const std::string& where) {
  std::vector<hsize_t> chunk(dims.size());
  hdf5_check(H5Pget_chunk(layout.get(), static_cast<int>(chunk.size()), chunk.data()), where);
  double claimed = 1, chunk_bytes = element;
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    const double size = static_cast<double>(std::max<hsize_t>(1, chunk[i]));
    claimed *= std::ceil((i == 0 ? rows : static_cast<double>(dims[i])) / size);
    chunk_bytes *= size;
  }
  const Hdf5Handle space(H5Dget_space(set), where);
  hsize_t count = 0;
  if (claimed > 0) hdf5_check(H5Dget_num_chunks(set, space.get(), &count), where);
  const double stored = static_cast<double>(H5Dget_storage_size(set));
  // few bytes of many chunks are no work of deflate
  const double there = std::min(static_cast<double>(count), stored * kMostDeflate / chunk_bytes);
  return {stored, std::max(0.0, claimed - there) * std::max(kLeastChunk, chunk_bytes)};
}

}  // namespace

Hdf5Room::Hdf5Room(double file_bytes)
    : most_claimed_(kMostDeflate * file_bytes),
      stored_left_(kMostReadings * file_bytes),
      unwritten_left_(file_bytes + kMostUnwritten) {}

void Hdf5Room::take(hid_t set, const std::vector<hsize_t>& dims, std::size_t element, double rows,
                    const std::string& where) {
  const Hdf5Handle layout(H5Dget_create_plist(set), where);
  const auto bytes = static_cast<double>(element);
  // before all else, so that no product of sizes is too large for its type; empty sets may have them, too
  double volume = bytes;
  for (const hsize_t size : dims) volume *= static_cast<double>(std::max<hsize_t>(1, size));
  if (volume > most_claimed_) throw Error(where + kTooLarge);
  if (H5Pget_layout(layout.get()) == H5D_CHUNKED) {
    const Extent extent = extent_of_chunks(set, layout, dims, bytes, rows, where);
    return take(extent.stored, extent.unwritten, where);
  }
  double claimed = bytes;
  for (std::size_t i = 0; i < dims.size(); ++i) claimed *= i == 0 ? rows : static_cast<double>(dims[i]);
  const auto stored = static_cast<double>(H5Dget_storage_size(set));
  take(stored, std::max(0.0, claimed - stored), where);
}

void Hdf5Room::take_group(double links, const std::string& where) { take(links * kObjectBytes, 0, where); }

void Hdf5Room::take(double stored, double unwritten, const std::string& where) {
  if (stored + kObjectBytes > stored_left_ || unwritten > unwritten_left_) throw Error(where + kTooLarge);
  stored_left_ -= stored + kObjectBytes;
  unwritten_left_ -= unwritten;
}

}  // namespace hotloop
