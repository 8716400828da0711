#include "train/fused/cpu_gemm.h"

#include <algorithm>

#include "train/fused/float8.h"

namespace hotloop {
namespace {

constexpr std::int64_t kPanel = 2 * kLanes;  // columns of a tile
constexpr std::int64_t kTileRows = 6;        // 12 sums, 2 vectors of b and a number of a: the registers of AVX2

std::int64_t whole_vectors(std::int64_t cols) { return (cols + kLanes - 1) / kLanes * kLanes; }

// One product's operands, at the start of a panel of columns.
struct Panel {
  std::int64_t depth;
  const float* a;
  std::int64_t a_stride;
  const float* b;
  std::int64_t b_stride;
  const float* bias;
  float* c;
  std::int64_t c_stride;
};

enum class Form { store, add, transposed_add };

template <Form F, int M, int V>
void tile(const Panel& p, std::int64_t row) {
  constexpr bool kTransposed = F == Form::transposed_add;
  Float8 sum[M][V];
  for (int j = 0; j < V; ++j) {
    const Float8 start = F == Form::store && p.bias != nullptr ? load8(p.bias + j * kLanes) : all8(0.0f);
    for (int i = 0; i < M; ++i) sum[i][j] = start;
  }
  const float* a = p.a + (kTransposed ? row : row * p.a_stride);
  const float* b = p.b;
  for (std::int64_t k = 0; k < p.depth; ++k) {
    Float8 right[V];
#pragma GCC unroll 2
    for (int j = 0; j < V; ++j) right[j] = load8(b + j * kLanes);
#pragma GCC unroll 6
    for (int i = 0; i < M; ++i) {
      const Float8 left = all8(kTransposed ? a[i] : a[i * p.a_stride]);
#pragma GCC unroll 2
      for (int j = 0; j < V; ++j) sum[i][j] += left * right[j];
    }
    a += kTransposed ? p.a_stride : 1;
    b += p.b_stride;
  }
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < V; ++j) {
      float* const to = p.c + (row + i) * p.c_stride + j * kLanes;
      store8(to, F == Form::store ? sum[i][j] : load8(to) + sum[i][j]);
    }
}

template <Form F, int V>
void panel(const Panel& p, std::int64_t rows) {
  std::int64_t row = 0;
  for (; rows - row >= kTileRows; row += kTileRows) tile<F, kTileRows, V>(p, row);
  switch (rows - row) {
    case 1:
      return tile<F, 1, V>(p, row);
    case 2:
      return tile<F, 2, V>(p, row);
    case 3:
      return tile<F, 3, V>(p, row);
    case 4:
      return tile<F, 4, V>(p, row);
    case 5:
      return tile<F, 5, V>(p, row);
  }
}

template <Form F>
void product(std::int64_t rows, std::int64_t cols, std::int64_t depth, const float* a, std::int64_t a_stride,
             const float* b, const float* bias, float* c) {
  const std::int64_t width = whole_vectors(cols), c_stride = row_stride(cols);
  for (std::int64_t first = 0; first < width; first += kPanel) {
    const std::int64_t own = std::min(kPanel, width - first);
    Panel p{depth, a, a_stride, b, own, bias == nullptr ? nullptr : bias + first, c + first, c_stride};
    p.b = b + first * (F == Form::transposed_add ? 1 : depth);
    if (F == Form::transposed_add) p.b_stride = c_stride;
    own == kPanel ? panel<F, 2>(p, rows) : panel<F, 1>(p, rows);
  }
}

}  // namespace

std::int64_t row_stride(std::int64_t cols) { return ((cols + kPanel - 1) / kPanel | 1) * kPanel; }

std::int64_t packed_size(std::int64_t depth, std::int64_t cols) { return depth * whole_vectors(cols); }

void pack(std::int64_t depth, std::int64_t cols, const float* from, std::int64_t depth_step, std::int64_t col_step,
          float* to) {
  const std::int64_t width = whole_vectors(cols);
  for (std::int64_t first = 0; first < width; first += kPanel) {
    const std::int64_t own = std::min(kPanel, width - first), there = std::min(own, cols - first);
    const float* const corner = from + first * col_step;
    if (there < own) std::fill_n(to, depth * own, 0.0f);
    if (col_step == 1)
      for (std::int64_t k = 0; k < depth; ++k) std::copy_n(corner + k * depth_step, there, to + k * own);
    else
      for (std::int64_t c = 0; c < there; ++c)
        for (std::int64_t k = 0; k < depth; ++k) to[k * own + c] = corner[k * depth_step + c * col_step];
    to += depth * own;
  }
}

void multiply(std::int64_t rows, std::int64_t cols, std::int64_t depth, const float* a, const float* b,
              const float* bias, float* c) {
  product<Form::store>(rows, cols, depth, a, row_stride(depth), b, bias, c);
}

void multiply_add(std::int64_t rows, std::int64_t cols, std::int64_t depth, const float* a, const float* b, float* c) {
  product<Form::add>(rows, cols, depth, a, row_stride(depth), b, nullptr, c);
}

void multiply_transposed_add(std::int64_t rows, std::int64_t cols, std::int64_t depth, const float* a, const float* b,
                             float* c) {
  product<Form::transposed_add>(rows, cols, depth, a, row_stride(rows), b, nullptr, c);
}

}  // namespace hotloop
