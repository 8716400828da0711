// How matrices of 16-bit numbers lie where products of warpgroups find them.
#pragma once
#include "sim/core/hd.h"

namespace hotloop {

// Eight numbers of a row (16 bytes) lie together, and after them those of the next row: [columns / 8, rows, 8]. So
// eight rows of eight columns are 128 bytes on end, in global memory as in shared memory: a whole line for a warp whose
// threads hold two numbers each as products leave them, and all banks. Where number `column` of `row` lies [bytes]:
SIM_HD constexpr int number_at(int rows, int row, int column) {
  return (column / 8 * rows + row) * 16 + column % 8 * 2;
}

// Tiles of activations have 64 rows; 64 columns of one are a panel.
inline constexpr int kTileRows = 64, kPanelColumns = 64, kPanelBytes = kTileRows * kPanelColumns * 2;

constexpr int panels_of(int columns) { return (columns + kPanelColumns - 1) / kPanelColumns; }

}  // namespace hotloop
