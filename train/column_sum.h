// Sums over the rows of a matrix, one result a column: bias gradients and per-feature statistics. The tree depends on
// the number of rows alone. .cu files only.
#pragma once
#include "sim/core/launch.h"

namespace hotloop {

inline constexpr std::int64_t kColumnRows = 256;  // rows of one partial sum
inline constexpr int kColumnTile = 32;

// Elements of scratch that column_sum needs.
inline std::int64_t column_sum_scratch(std::int64_t rows, std::int64_t cols) {
  return (rows + kColumnRows - 1) / kColumnRows * cols;
}

// One group: kColumnRows rows of kColumnTile columns. Lane l takes column l % 32 and every eighth row.
template <class T, class F>
struct ColumnSumOp {
  struct Shared {
    T lanes[kSumLanes];
  };
  std::int64_t rows, cols, tiles, chunk_rows;
  F term;
  T* out;  // [chunks, cols]

  template <class G>
  SIM_HD void operator()(const G& group, std::int64_t i, Shared& shared) const {
    constexpr int kPhases = kSumLanes / kColumnTile;
    const std::int64_t chunk = i / tiles, first = i % tiles * kColumnTile;
    const std::int64_t begin = chunk * chunk_rows;
    const std::int64_t end = begin + chunk_rows < rows ? begin + chunk_rows : rows;
    group.for_each(kSumLanes, [&](int lane) {
      const std::int64_t c = first + lane % kColumnTile;
      T total{};
      if (c < cols)
        for (std::int64_t r = begin + lane / kColumnTile; r < end; r += kPhases) total = total + term(r, c);
      shared.lanes[lane] = total;
    });
    for (int half = kSumLanes / 2; half >= kColumnTile; half /= 2)
      group.for_each(half, [&](int lane) { shared.lanes[lane] = shared.lanes[lane] + shared.lanes[lane + half]; });
    group.for_each(kColumnTile, [&](int lane) {
      if (first + lane < cols) out[chunk * cols + first + lane] = shared.lanes[lane];
    });
  }
};

template <class T>
struct PartialColumn {
  const T* partials;
  std::int64_t cols;
  SIM_HD T operator()(std::int64_t r, std::int64_t c) const { return partials[r * cols + c]; }
};

// out[c] = sum over rows r of term(r, c), which may also write what belongs to (r, c).
template <class T, class F>
void column_sum(const Exec& exec, std::int64_t rows, std::int64_t cols, const F& term, T* scratch, T* out) {
  const std::int64_t tiles = (cols + kColumnTile - 1) / kColumnTile;
  const std::int64_t chunks = (rows + kColumnRows - 1) / kColumnRows;
  if (chunks <= 1) {
    parallel_groups<kSumLanes>(exec, tiles, ColumnSumOp<T, F>{rows, cols, tiles, kColumnRows, term, out});
    return;
  }
  parallel_groups<kSumLanes>(exec, chunks * tiles, ColumnSumOp<T, F>{rows, cols, tiles, kColumnRows, term, scratch});
  parallel_groups<kSumLanes>(exec, tiles,
                             ColumnSumOp<T, PartialColumn<T>>{chunks, cols, tiles, chunks, {scratch, cols}, out});
}

}  // namespace hotloop
