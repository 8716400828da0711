// The bytes of one chunk of a dataset, as HDF5's own filters would have made them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hotloop {

// Where a chunk [rows, width] lies in a block [*, block_width] of items; what is beyond the block is filled with zeros.
struct ChunkPlace {
  std::int64_t row = 0, rows = 1, begin = 0, width = 1, block_width = 1;
  std::size_t item = 1;  // [bytes]
};
void gather_chunk(const std::byte* block, const ChunkPlace& place, std::byte* chunk);

// Byte k of every element, then byte k + 1 ...: HDF5's shuffle filter.
void shuffle_bytes(const std::byte* from, std::size_t bytes, std::size_t element, std::byte* to);

// zlib's format. Error where zlib fails.
std::vector<std::byte> deflate_bytes(const std::vector<std::byte>& from, int level);

}  // namespace hotloop
