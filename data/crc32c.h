// CRC-32C (Castagnoli), the checksum of TensorBoard's record framing and of our safetensors files.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hotloop {

// Of `bytes` bytes. `previous` is the result over what precedes them, so that a file can be summed in pieces.
std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t previous = 0);
inline std::uint32_t crc32c(std::string_view text, std::uint32_t previous = 0) {
  return crc32c(text.data(), text.size(), previous);
}

// The same without the processor's instruction, for processors that lack it.
std::uint32_t crc32c_portable(const void* data, std::size_t bytes, std::uint32_t previous = 0);

}  // namespace hotloop
