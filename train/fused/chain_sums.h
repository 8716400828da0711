// What a block's tiles added up over their rows, as its part of the gradients and of the loss's terms.
#pragma once
#include "train/fused/chain_pass.h"

namespace hotloop {

// The sum over all slots of what this one has at p.
template <class Block>
__device__ __forceinline__ float sum_of_slots(const Block& block, float* p) {
  float sum = 0.0f;
#pragma unroll
  for (int t = 0; t < Block::kTiles; ++t) sum += *block.of_slot(p, t);
  return sum;
}

// After the last tile, in all threads that pass tiles. columns: sums over this thread's rows, index() / 32 * 16 and
// fifteen more, of column index() % 32 of the scores.
template <class Block>
__device__ __forceinline__ void write_sums(const Block& block, float* partials, std::int64_t stride, float columns,
                                           std::int64_t log_std_at, int log_stds) {
  const ChainPass& pass = block.pass();
  const ChainNet& net = block.net();
  float* const to = partials + blockIdx.x / pass.nets * stride;
  const LayerSizes &head = net.layer[net.layers - 1].size, &first = net.layer[0].size;
  block.tile_barrier();  // scores are not needed any more
  block.scores()[Block::index()] = columns;
  Block::tiles_barrier();
  const int thread = static_cast<int>(threadIdx.x);
  if (pass.own_head)
    for (int e = thread; e < head.out * Block::kWidth; e += Block::kConsumers) {
      const int o = e / Block::kWidth, i = e % Block::kWidth;
      if (i < head.in) to[head.weight_at(o) + i] = sum_of_slots(block, block.head_sums() + e);
    }
  if (thread < 32) {
    float sum = 0.0f;
    for (int t = 0; t < Block::kTiles; ++t)
      for (int k = 0; k < 4; ++k) sum += block.of_slot(block.scores(), t)[32 * k + thread];
    if (pass.own_head && thread < head.out) to[head.bias_at(thread)] = sum;
    const int k = thread - net.actor - 1;
    if (net.actor > 0 && k >= 0 && k < log_stds) to[log_std_at + k] = sum;
  }
  if (!pass.own_first) return;
  for (int e = thread; e < (first.in + 1) * Block::kWidth; e += Block::kConsumers) {
    const int i = e / Block::kWidth, o = e % Block::kWidth;
    if (o < first.out)
      to[i < first.in ? first.weight_at(o) + i : first.bias_at(o)] = sum_of_slots(block, block.first_sums() + e);
  }
}

// Of all rows' terms, each warp's in its first row; in one thread.
template <class Block>
__device__ __forceinline__ LossTerms sum_of_terms(const Block& block) {
  LossTerms sum;
  for (int t = 0; t < Block::kTiles; ++t)
    for (int r = 0; r < kTileRows; r += 32) sum = sum + block.of_slot(block.terms(), t)[r];
  return sum;
}

}  // namespace hotloop
