// A permutation of [0, n) as a function of its index, so that an order of any number of rows takes no memory and may be
// entered anywhere: a Feistel network over the next even number of bits, walked until it is inside again (Black &
// Rogaway 2002, "Ciphers with arbitrary finite domains").
#pragma once
#include <cstdint>

#include "sim/core/hd.h"

namespace hotloop {

// 64 well mixed bits (the finaliser of Steele et al. 2014, "SplitMix").
SIM_HD std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// Where row i of [0, n) goes in the permutation that `key` names; i < n < 2^62.
SIM_HD std::uint64_t shuffled(std::uint64_t i, std::uint64_t n, std::uint64_t key) {
  int half = 1;
  while ((std::uint64_t{1} << (2 * half)) < n) ++half;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    std::uint64_t left = i >> half, right = i & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ (mixed(mixed(key + round) ^ right) & mask);
      left = right;
      right = next;
    }
    i = left << half | right;
  } while (i >= n);
  return i;
}

// The row of `n` that the `sample`-th draw takes: every row once an epoch, each epoch in an order of its own.
SIM_HD std::int64_t drawn_row(std::uint64_t seed, std::int64_t sample, std::int64_t n) {
  const auto count = static_cast<std::uint64_t>(n), at = static_cast<std::uint64_t>(sample);
  return static_cast<std::int64_t>(shuffled(at % count, count, mixed(seed) ^ mixed(~(at / count))));
}

}  // namespace hotloop
