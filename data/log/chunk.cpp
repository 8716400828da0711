#include "data/log/chunk.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "sim/core/error.h"

namespace hotloop {

void gather_chunk(const std::byte* block, const ChunkPlace& place, std::byte* chunk) {
  const auto width = static_cast<std::size_t>(std::min(place.width, place.block_width - place.begin)) * place.item;
  const std::size_t row_bytes = static_cast<std::size_t>(place.width) * place.item;
  for (std::int64_t r = 0; r < place.rows; ++r, chunk += row_bytes) {
    const std::int64_t first = (place.row + r) * place.block_width + place.begin;
    std::memcpy(chunk, block + static_cast<std::size_t>(first) * place.item, width);
    std::memset(chunk + width, 0, row_bytes - width);
  }
}

void shuffle_bytes(const std::byte* from, std::size_t bytes, std::size_t element, std::byte* to) {
  const std::size_t count = bytes / element;
  for (std::size_t k = 0; k < element; ++k)
    for (std::size_t i = 0; i < count; ++i) *to++ = from[i * element + k];
}

std::vector<std::byte> deflate_bytes(const std::vector<std::byte>& from, int level) {
  uLongf size = compressBound(static_cast<uLong>(from.size()));
  std::vector<std::byte> to(size);
  const int status = compress2(reinterpret_cast<Bytef*>(to.data()), &size, reinterpret_cast<const Bytef*>(from.data()),
                               static_cast<uLong>(from.size()), level);
  if (status != Z_OK) throw Error("gzip: zlib gives " + std::to_string(status));
  to.resize(size);
  return to;
}

}  // namespace hotloop
