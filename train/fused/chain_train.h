// A minibatch's way through a chain and back, with PPO's loss of each row where the row is.
#pragma once
#include "train/fused/chain_pass.h"

namespace hotloop {

template <class T, int kN, int kGroups>
struct ChainTrainOp {
  using Block = ChainBlock<T, kN, kGroups>;
  static constexpr int kThreads = Block::kThreads, kMinBlocks = 1, kBytes = Block::Places::kShared;
  ChainTrain train;

  __device__ __forceinline__ void operator()(std::byte* memory) const {
    Block block(train.pass, memory);
    if (Block::brings()) {
      Block::give_registers();
      if (threadIdx.x == 128 * kGroups)
        block.each_tile([&](std::int64_t) { block.bring_forward(), block.bring_backward(); });
    } else {
      Block::take_registers();
      pass_tiles(block);
    }
  }

 private:
  __device__ __forceinline__ void pass_tiles(Block& block) const {
    const int stride = train.pass.score_stride;
    block.each_tile([&](std::int64_t tile) {
      block.read_rows(train.batch.observation, tile);
      if (blockIdx.x % train.pass.nets == 0)
        block.store(train.x, tile, panels_of(train.pass.inputs), block.input_tile());
      block.forward(tile, true);
      const int outputs = block.outputs();
      block.heads([&](int row, int column, float v) {
        if (column < outputs) block.scores()[row * stride + column] = v;
      });
      group_barrier(Block::group_index());
      losses(block, tile);
      group_barrier(Block::group_index());
      block.read_gradients([&](int row, int column) { return block.scores()[row * stride + column]; });
      block.backward(tile);
    });
    wait_bulk_stores();
  }

  // Of each row: its outputs make room for their gradients, not divided by the rows: fp16 would lose them.
  __device__ __forceinline__ void losses(const Block& block, std::int64_t tile) const {
    const int r = static_cast<int>(threadIdx.x) % 128, actor = block.net().actor;
    const bool value = block.outputs() > actor, log_std = train.d_log_std != nullptr && actor > 0;
    float* const row = block.scores() + r * train.pass.score_stride;
    if (r < kTileRows) {
      const std::int64_t i = tile * kTileRows + r;
      LossTerms terms;
      if (i < train.pass.rows) {
        if (value) row[actor] = critic_row(i, row[actor], terms);
        if (actor > 0) actor_row(i, row, log_std ? row + actor + 1 : nullptr, terms);
      } else {
        for (int c = 0; c < block.outputs(); ++c) row[c] = 0.0f;
        for (int c = 0; log_std && c < train.head.dim; ++c) row[actor + 1 + c] = 0.0f;
      }
      add_terms(tile, terms);
    }
    if (!log_std) return;
    group_barrier(Block::group_index());
    if (r >= train.head.dim || tile >= tiles()) return;
    float sum = 0.0f;
    for (int k = 0; k < kTileRows; ++k) sum += block.scores()[k * train.pass.score_stride + actor + 1 + r];
    train.d_log_std[tile * train.head.dim + r] = sum / static_cast<float>(train.pass.rows);
  }

  __device__ __forceinline__ float critic_row(std::int64_t i, float v, LossTerms& terms) const {
    const LossWeights<float> weights = loss_weights<float>(train.update);
    float d = 0.0f;
    terms.value_loss =
        static_cast<double>(critic_loss(weights, v, train.batch.value[i], train.batch.value_target[i], d));
    return weights.value * d;
  }

  __device__ __forceinline__ void actor_row(std::int64_t i, float* row, float* d_log_std, LossTerms& terms) const {
    const Samples<float>& b = train.batch;
    const HeadView& head = train.head;
    const bool categorical = head.kind == HeadKind::categorical;
    const float advantage = loss_advantage(train.update, train.advantage_terms, train.pass.rows, b.advantage[i]);
    const ActorTerms<float> a = actor_loss(
        loss_weights<float>(train.update), head, row, train.log_std,
        b.mask == nullptr ? nullptr : b.mask + i * head.head_dim, categorical ? b.action + i * head.dim : nullptr,
        categorical ? nullptr : b.sample + i * head.dim, b.log_prob[i], advantage, 1.0f, row, d_log_std);
    terms.policy_loss = static_cast<double>(a.loss);
    terms.entropy = static_cast<double>(a.entropy);
    terms.old_approx_kl = static_cast<double>(-a.log_ratio);
    terms.approx_kl = static_cast<double>(a.ratio - 1.0f - a.log_ratio);
    terms.clipfrac = static_cast<double>(a.clipped);
  }

  // Sums over each 32 rows.
  __device__ __forceinline__ void add_terms(std::int64_t tile, LossTerms terms) const {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      LossTerms other;
      other.policy_loss = __shfl_down_sync(0xffffffffu, terms.policy_loss, step);
      other.value_loss = __shfl_down_sync(0xffffffffu, terms.value_loss, step);
      other.entropy = __shfl_down_sync(0xffffffffu, terms.entropy, step);
      other.old_approx_kl = __shfl_down_sync(0xffffffffu, terms.old_approx_kl, step);
      other.approx_kl = __shfl_down_sync(0xffffffffu, terms.approx_kl, step);
      other.clipfrac = __shfl_down_sync(0xffffffffu, terms.clipfrac, step);
      terms = terms + other;
    }
    if (threadIdx.x % 32 != 0 || tile >= tiles()) return;
    const std::int64_t net = blockIdx.x % train.pass.nets;
    train.terms[(net * tiles() + tile) * 2 + threadIdx.x % 128 / 32] = terms;
  }
  __device__ __forceinline__ std::int64_t tiles() const { return chain_tiles(train.pass.rows); }
};

}  // namespace hotloop
