// How matrices of 16-bit numbers lie where products of warpgroups find them.
#pragma once
#include "sim/core/hd.h"

namespace hotloop {

// Matrices of 16-bit numbers in shared memory are made of panels: rows of 64 numbers (128 bytes), of which the chunks
// of 16 bytes are exchanged so that eight rows' chunks of one column lie in different banks. A panel begins at a
// multiple of 1024 bytes.
inline constexpr int kPanelColumns = 64, kPanelRowBytes = 128;

// Where number `column` of `row` lies in its panel [bytes].
SIM_HD constexpr int panel_at(int row, int column) {
  return row * kPanelRowBytes + ((column / 8) ^ (row % 8)) * 16 + column % 8 * 2;
}

}  // namespace hotloop
