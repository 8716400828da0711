// A minibatch's way through a chain and back, with PPO's loss of each row where the row is.
#pragma once
#include "train/fused/chain_sums.h"

namespace hotloop {

template <class T, int kN, bool kRing>
struct ChainTrainOp {
  using Block = ChainBlock<T, kN, kRing>;
  static constexpr int kThreads = Block::kThreads, kMinBlocks = 1, kBytes = Block::Places::kShared;
  ChainTrain train;

  __device__ __forceinline__ void operator()(std::byte* memory) const {
    Block block(train.pass, train.x, memory);
    block.run([&](int) { block.bring_forward(), block.bring_backward(); }, [&] { pass_tiles(block); });
  }

 private:
  // What the loss reads of a row, on its way while the row passes the layers.
  struct RowData {
    float log_prob, advantage, value, value_target;
  };

  // Rows' losses are worked out by a tile's first threads.
  __device__ __forceinline__ static int loss_row() { return Block::index(); }
  __device__ __forceinline__ static bool has_loss_row() { return loss_row() < kTileRows; }

  __device__ __forceinline__ void pass_tiles(Block& block) const {
    const int stride = train.pass.score_stride;
    const bool log_std = train.log_std_at >= 0 && block.net().actor > 0;
    float mean = 0.0f, deviation = 1.0f;
    if (has_loss_row() && normalises(train.update, train.pass.rows)) {
      const AdvantageScale scale = advantage_scale(*train.advantage_terms, static_cast<double>(train.pass.rows));
      mean = static_cast<float>(scale.mean), deviation = static_cast<float>(scale.deviation) + 1e-8f;
    }
    float columns = 0.0f;
    block.each_tile([&](int tile) {
      typename Block::Held held;
      block.template forward<true>(held, tile, train.inputs);
      RowData row{};
      const std::int64_t i = static_cast<std::int64_t>(tile) * kTileRows + loss_row();
      const std::int64_t at = has_loss_row() && i < train.pass.rows ? train.inputs.at(i) : -1;
      if (at >= 0) row = read(at);
      const int outputs = block.outputs();
      block.heads(held, [&](int r, int column, float v) {
        if (column < outputs) block.scores()[r * stride + column] = v;
      });
      block.tile_barrier();
      if (has_loss_row()) {
        row.advantage = (row.advantage - mean) / deviation;
        const LossTerms terms = loss(block, at, row, log_std);
        block.terms()[loss_row()] = block.terms()[loss_row()] + terms;
        for (int c = 0; c < outputs; ++c) block.put_gradient(loss_row(), c, block.scores()[loss_row() * stride + c]);
      }
      block.tile_barrier();
      columns += sum_of_rows(block, outputs + (log_std ? 1 + train.head.dim : 0));
      block.template backward<true>(held, tile);
    });
    if (has_loss_row()) add_terms(block.terms()[loss_row()]);
    write_sums(block, train.partials, train.partial_stride, columns, train.log_std_at, log_std ? train.head.dim : 0);
    if (threadIdx.x == 0) train.terms[blockIdx.x] = sum_of_terms(block);
  }
  // Of sixteen rows of a column of the scores.
  __device__ __forceinline__ float sum_of_rows(const Block& block, int columns) const {
    const int c = Block::index() % 32;
    float sum = 0.0f;
    if (c >= columns) return sum;
#pragma unroll
    for (int r = 0; r < 16; ++r) sum += block.scores()[(Block::index() / 32 * 16 + r) * train.pass.score_stride + c];
    return sum;
  }

  __device__ __forceinline__ RowData read(std::int64_t i) const {
    const Samples<float>& b = train.batch;
    return {b.log_prob[i], b.advantage[i], b.value[i], b.value_target[i]};
  }

  // The outputs of row i of the batch, -1: none, make room for their gradients, not divided by the rows: fp16 would
  // lose them.
  __device__ __forceinline__ LossTerms loss(const Block& block, std::int64_t i, const RowData& data,
                                            bool log_std) const {
    const int actor = block.net().actor;
    float* const row = block.scores() + loss_row() * train.pass.score_stride;
    LossTerms terms;
    if (i < 0) {
      for (int c = 0; c < train.pass.score_stride; ++c) row[c] = 0.0f;
      return terms;
    }
    const LossWeights<float> weights = loss_weights<float>(train.update);
    if (block.outputs() > actor) {
      float d = 0.0f;
      terms.value_loss = static_cast<double>(critic_loss(weights, row[actor], data.value, data.value_target, d));
      row[actor] = weights.value * d;
    }
    if (actor == 0) return terms;
    const Samples<float>& b = train.batch;
    const HeadView& head = train.head;
    const bool categorical = head.kind == HeadKind::categorical;
    const ActorTerms<float> a =
        actor_loss(weights, head, row, train.log_std, b.mask == nullptr ? nullptr : b.mask + i * head.head_dim,
                   categorical ? b.action + i * head.dim : nullptr, categorical ? nullptr : b.sample + i * head.dim,
                   data.log_prob, data.advantage, 1.0f, row, log_std ? row + actor + 1 : nullptr);
    terms.policy_loss = static_cast<double>(a.loss);
    terms.entropy = static_cast<double>(a.entropy);
    terms.old_approx_kl = static_cast<double>(-a.log_ratio);
    terms.approx_kl = static_cast<double>(a.ratio - 1.0f - a.log_ratio);
    terms.clipfrac = static_cast<double>(a.clipped);
    return terms;
  }

  // The first lane's become sums over its warp's rows of all tiles.
  __device__ __forceinline__ static void add_terms(LossTerms& of_row) {
    LossTerms terms = of_row;
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
    if (threadIdx.x % 32 == 0) of_row = terms;
  }
};

}  // namespace hotloop
