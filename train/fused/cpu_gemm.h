// Matrix products in single precision on one thread. Matrices are row-major with rows of row_stride() floats, whose
// columns beyond the matrix may hold anything finite. An element's terms are added in the order of the inner index,
// whatever the number of rows: neither tiles nor threads reach the bits.
#pragma once
#include <cstdint>

namespace hotloop {

// Floats from one row to the next: whole vectors, and an odd number of cache lines, so that the rows of a tile do not
// compete for the same sets of the cache.
std::int64_t row_stride(std::int64_t cols);

// The right-hand side of a product, packed into panels in the order in which it is read; missing columns are zero.
std::int64_t packed_size(std::int64_t depth, std::int64_t cols);
// Element (k, c) is taken from from[k * depth_step + c * col_step].
void pack(std::int64_t depth, std::int64_t cols, const float* from, std::int64_t depth_step, std::int64_t col_step,
          float* to);

// c = a b + bias, or c += a b. a [rows, depth], b packed [depth, cols], c [rows, cols]; bias null or [cols] in whole
// vectors. Writes whole vectors of c.
void multiply(std::int64_t rows, std::int64_t cols, std::int64_t depth, const float* a, const float* b,
              const float* bias, float* c);
void multiply_add(std::int64_t rows, std::int64_t cols, std::int64_t depth, const float* a, const float* b, float* c);

// c += a^T b. a [depth, rows], b [depth, cols], c [rows, cols].
void multiply_transposed_add(std::int64_t rows, std::int64_t cols, std::int64_t depth, const float* a, const float* b,
                             float* c);

}  // namespace hotloop
