// Some worlds of a time-major array as a dense array of their own.
#pragma once
#include <cstdint>

#include "sim/core/device.h"

namespace hotloop {

struct WorldGather {
  const std::byte* from = nullptr;       // [rows, num_envs, item] bytes
  std::byte* to = nullptr;               // [rows, count, item]
  const std::int32_t* worlds = nullptr;  // [count], on exec's device; null: all of them
  std::int64_t rows = 1, num_envs = 1, count = 1, item = 1;
};

// Ordered on exec; both arrays are on its device, aligned to 4 bytes.
void gather_worlds(const Exec& exec, const WorldGather& gather);

}  // namespace hotloop
