// A minibatch's way through a chain and back, with PPO's loss of each row where the row is.
#pragma once
#include "train/fused/chain_pass.h"

namespace hotloop {

template <class T, int kN, int kTiles>
struct ChainTrainOp {
  using Block = ChainBlock<T, kN, kTiles>;
  static constexpr int kThreads = Block::kThreads, kMinBlocks = 1, kBytes = Block::Places::kShared;
  ChainTrain train;

  __device__ __forceinline__ void operator()(std::byte* memory) const {
    Block block(train.pass, memory);
    block.run([&](std::int64_t) { block.bring_forward(), block.bring_backward(); }, [&] { pass_tiles(block); });
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
    const bool log_std = train.d_log_std != nullptr && block.net().actor > 0;
    float mean = 0.0f, deviation = 1.0f;
    if (has_loss_row()) {
      block.terms()[loss_row()] = LossTerms{};
      if (normalises(train.update, train.pass.rows)) {
        const AdvantageScale scale = advantage_scale(*train.advantage_terms, static_cast<double>(train.pass.rows));
        mean = static_cast<float>(scale.mean), deviation = static_cast<float>(scale.deviation) + 1e-8f;
      }
    }
    float head_bias = 0.0f;
    block.each_tile([&](std::int64_t tile) {
      RowData row{};
      if (has_loss_row()) row = read(tile * kTileRows + loss_row());
      block.read_rows(train.batch.observation, tile);
      if (blockIdx.x % train.pass.nets == 0 && !train.pass.own_first)
        block.store(train.x, tile, panels_of(train.pass.inputs), block.input_tile());
      block.forward(tile, true);
      const int outputs = block.outputs();
      block.heads([&](int r, int column, float v) {
        if (column < outputs) block.scores()[r * stride + column] = v;
      });
      Block::tile_barrier();
      if (has_loss_row()) {
        row.advantage = (row.advantage - mean) / deviation;
        const LossTerms terms = loss(block, tile * kTileRows + loss_row(), row, log_std);
        block.terms()[loss_row()] = block.terms()[loss_row()] + terms;
      }
      Block::tile_barrier();
      if (log_std) add_log_std(block, tile);
      if (train.pass.own_head) head_bias += sum_of_rows(block);
      block.read_gradients([&](int r, int column) { return block.scores()[r * stride + column]; });
      block.template backward<true>(tile);
    });
    if (has_loss_row()) add_terms(block.terms()[loss_row()]);
    block.write_sums(train.partials, train.partial_stride, head_bias);
    wait_bulk_stores();
  }
  __device__ __forceinline__ float sum_of_rows(const Block& block) const {
    const int c = Block::index() % 32;
    float sum = 0.0f;
    if (c >= block.outputs()) return sum;
#pragma unroll
    for (int r = 0; r < 16; ++r) sum += block.scores()[(Block::index() / 32 * 16 + r) * train.pass.score_stride + c];
    return sum;
  }

  __device__ __forceinline__ RowData read(std::int64_t i) const {
    const Samples<float>& b = train.batch;
    if (i >= train.pass.rows) return {};
    return {b.log_prob[i], b.advantage[i], b.value[i], b.value_target[i]};
  }

  // The outputs of row i make room for their gradients, not divided by the rows: fp16 would lose them.
  __device__ __forceinline__ LossTerms loss(const Block& block, std::int64_t i, const RowData& data,
                                            bool log_std) const {
    const int actor = block.net().actor;
    float* const row = block.scores() + loss_row() * train.pass.score_stride;
    LossTerms terms;
    if (i >= train.pass.rows) {
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

  __device__ __forceinline__ void add_log_std(const Block& block, std::int64_t tile) const {
    const int c = Block::index() % 32, part = Block::index() / 32;
    if (c >= train.head.dim || tile >= chain_tiles(train.pass.rows)) return;
    const float* const from = block.scores() + 16 * part * train.pass.score_stride + block.net().actor + 1 + c;
    float sum = 0.0f;
#pragma unroll
    for (int r = 0; r < 16; ++r) sum += from[r * train.pass.score_stride];
    train.d_log_std[(tile * 4 + part) * train.head.dim + c] = sum / static_cast<float>(train.pass.rows);
  }

  // Sums over a warp's rows of all tiles.
  __device__ __forceinline__ void add_terms(LossTerms terms) const {
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
    if (threadIdx.x % 32 == 0)
      train.terms[(blockIdx.x * kTiles + static_cast<unsigned>(Block::slot())) * 2 + loss_row() / 32] = terms;
  }
};

}  // namespace hotloop
