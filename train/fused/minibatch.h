// One minibatch in a block: its share of the rows through forward, loss and backward, tile by tile, and the partial
// gradients that the blocks exchange.
#pragma once
#include "train/fused/kernel_base.h"

namespace hotloop {

// The loss of this lane's row and its gradient with respect to the head's outputs, times the number of rows.
template <class S>
template <class Net>
__device__ __forceinline__ void Fused<S>::loss(const LossWeights<float>& weights, const Pass<Net>& pass, int net,
                                               int row, const float (&record)[kRecord], float2 scale,
                                               float (&lane_sums)[kLaneSums]) const {
  float out[Net::kHeadColumns], d[Net::kHeadColumns] = {};
#pragma unroll
  for (int k = 0; k < Net::kHeadColumns; ++k) out[k] = pass.out[row * Net::kHeadColumns + k];
  float* terms = lane_sums + kMostOutputs + kLogStds;
  if (net == 0) {
    std::int64_t action[kActionDim];
    float sample[kActionDim], d_log_std[kActionDim] = {};
#pragma unroll
    for (int k = 0; k < kActionDim; ++k)
      sample[k] = record[kObsDim + k], action[k] = static_cast<std::int64_t>(record[kObsDim + k]);
    const float advantage = (record[kAdvantageAt] - scale.x) * scale.y;
    const ActorTerms<float> actor = actor_loss(weights, head_view(), out, shared.log_std, nullptr, action, sample,
                                               record[kLogProbAt], advantage, 1.0f, d, d_log_std);
    if constexpr (kLogStds > 0) {
#pragma unroll
      for (int k = 0; k < kActionDim; ++k) lane_sums[kMostOutputs + k] += d_log_std[k];
    }
    terms[0] += actor.loss, terms[2] += actor.entropy, terms[3] -= actor.log_ratio;
    terms[4] += actor.ratio - 1.0f - actor.log_ratio, terms[5] += actor.clipped;
  }
  if (S::kShared || net == 1) {
    const float old_value = record[kValueAt];
    float d_value;
    terms[1] += critic_loss(weights, out[kValueColumn], old_value, record[kAdvantageAt] + old_value, d_value);
    d[kValueColumn] = weights.value * d_value;
  }
#pragma unroll
  for (int k = 0; k < Net::kOutputs; ++k) lane_sums[k] += d[k];
  T* to = pass.template gradient<Net::kHidden + 1>(row);
#pragma unroll
  for (int k = 0; k < Net::kHeadColumns; k += 2) put(to + k, d[k], d[k + 1]);
}

// Sums over the block's tiles: of gradients as a warp shares them, and what lanes gather.
template <class S>
template <class Net>
__device__ __forceinline__ void Fused<S>::gather(int net, int index, float (&sums)[Net::kSums],
                                                 float (&lane_sums)[kLaneSums]) {
  const Pass<Net> p = pass<Net>(net);
#pragma unroll
  for (int k = 0; k < Net::kSums; ++k) sums[k] = 0.0f;
#pragma unroll
  for (int k = 0; k < kLaneSums; ++k) lane_sums[k] = 0.0f;
  const float2 scale = shared.advantage[index];
  const LossWeights<float> weights = loss_weights<float>(shared.update);
  const int first_position = index % S::kEpochMinibatches * S::kMinibatchRows;
  const int row = group_warp * kWarpRows;
  const bool own = lane < kWarpRows;
  const auto position_in = [&](int tile) { return tile * kTileRows + group / kNets * kGroupRows + row + lane; };
  const auto is_valid = [&](int tile) { return own && position_in(tile) < S::kMinibatchRows; };
  // the records of the tile after this one are under way while this one is worked on
  float next[kRecord] = {};
  const auto fetch = [&](int tile) {
    const std::int64_t i = shared.order.row(static_cast<std::uint32_t>(first_position + position_in(tile)));
    const float4* from = reinterpret_cast<const float4*>(at(args.record) + i * kRecord);
#pragma unroll
    for (int k = 0; k < kRecord; k += 4) {
      const float4 part = __ldcg(from + k / 4);
      next[k] = part.x, next[k + 1] = part.y, next[k + 2] = part.z, next[k + 3] = part.w;
    }
  };
  if (is_valid(block)) fetch(block);
  for (int tile = block; tile * kTileRows < S::kMinibatchRows; tile += S::kTileBlocks) {
    const bool valid = is_valid(tile);
    float record[kRecord];
#pragma unroll
    for (int k = 0; k < kRecord; ++k) record[k] = valid ? next[k] : 0.0f;
    if (is_valid(tile + S::kTileBlocks)) fetch(tile + S::kTileBlocks);
    if (own) {
      float x[kObsDim];
#pragma unroll
      for (int k = 0; k < kObsDim; ++k) x[k] = record[k];
      put_input<Net>(p.template output<0>(row + lane), x);
    }
    __syncwarp();
    const auto lane_loss = [&] {
      if (valid) {
        loss(weights, p, net, row + lane, record, scale, lane_sums);
      } else if (own) {
        T* to = p.template gradient<Net::kHidden + 1>(row + lane);
#pragma unroll
        for (int k = 0; k < Net::kHeadColumns; k += 2) put(to + k, 0.0f, 0.0f);
      }
    };
    if constexpr (Net::chained()) {
      p.template chain<S::kRowTiles, true>(row, lane_loss);
    } else {
      p.template forward<S::kRowTiles>(row);
      lane_loss();
      __syncwarp();
      p.template backward<S::kRowTiles>(row);
    }
    group_barrier<S::kWideBarriers>(group);
    p.gradients(group_warp, sums);
    group_barrier<S::kWideBarriers>(group);
  }
}

// The flat buffer is cut into slices, one a block; a block's partial sums of a slice lie together.
template <class S>
__device__ __forceinline__ void Fused<S>::put_partial(int flat, float v) const {
  const int slice = flat / S::kSlice;
  __stcg(at(args.partials) + (slice * kPartials + block * kParts + group / kNets) * S::kSlice + flat % S::kSlice, v);
}
template <class S>
__device__ __forceinline__ void Fused<S>::put_partial(int flat, float v0, float v1) const {
  if constexpr (S::kEvenOffsets) {
    const int slice = flat / S::kSlice;
    float* to = at(args.partials) + (slice * kPartials + block * kParts + group / kNets) * S::kSlice + flat % S::kSlice;
    __stcg(reinterpret_cast<float2*>(to), make_float2(v0, v1));
  } else {
    put_partial(flat, v0);
    put_partial(flat + 1, v1);
  }
}

// The gradients of one unit as parameters: gives the sink the sums that a thread has, one or two neighbours at a time,
// with what parameter they are of, whether there is one, and where in the unit they are kept.
struct ParameterPlace {
  int flat;         // in the flat buffer
  int row, column;  // of the weight in the block's copy of its layer; row: output
};
template <class S, class Net, int L, class Sink>
struct UnitOf {
  static constexpr bool kIsHead = L == Net::kHidden;
  static constexpr int kInputs = Net::width(L), kOutputs = Net::width(L + 1);
  const float* acc;
  Sink& sink;
  int net, first, first_column;
  __device__ __forceinline__ void operator()(int m, int n, int i) const {
    if constexpr (kIsHead) {  // m: input, n: output
      const bool there = first + m < kInputs && n < S::outputs(net);
      sink.template one<L>(there, {there ? S::head_weight(net, n) + first + m : 0, n, first + m}, acc[i], i);
    } else {
      const int row = first + m, column = first_column + n;
      sink.template one<L>(row < kOutputs && column < kInputs,
                           {S::layer_weight(net, L) + row * kInputs + column, row, column}, acc[i], i);
    }
  }
  __device__ __forceinline__ void operator()(int m, int n, int i, int j) const {
    if constexpr (!kIsHead && kInputs % 2 == 0) {
      const int row = first + m, column = first_column + n;
      sink.template two<L>(row < kOutputs && column < kInputs,
                           {S::layer_weight(net, L) + row * kInputs + column, row, column}, acc[i], acc[j], i, j);
    } else {
      (*this)(m, n, i);
      (*this)(m, n + 1, j);
    }
  }
};

// Gives the sink what this warp has gathered of layer L and those after it, unit by unit, each kPasses times.
template <class S>
template <class Net, int L, class Sink>
__device__ __forceinline__ void Fused<S>::each_unit(int net, const float (&sums)[Net::kSums], Sink& sink) const {
  using Engine = typename Net::Engine;
  constexpr int kUnits = Net::units(L), kSumAt = Net::sum_at(L);
  constexpr int kNumbers = Net::unit_numbers(L), kShare = Net::share(L), kOutputs = Net::width(L + 1);
  constexpr int kStep = 16 * Net::warps_down(L);
  const int first_row = Pass<Net>::template first_row<L>(group_warp);
  const int first_column = Pass<Net>::template first_column<L>(group_warp);
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    const float* acc = sums + kSumAt + u * kNumbers;
    const UnitOf<S, Net, L, Sink> to{acc, sink, net, first_row + kStep * u, first_column};
    sink.first = kSumAt + u * kNumbers;
#pragma unroll
    for (int pass = 0; pass < Sink::kPasses; ++pass) {
      sink.pass = pass;
      Engine::template each_outer<kShare>(to);
      if constexpr (L < Net::kHidden) {
        Engine::template each_bias<kShare>(acc, [&](int m, float v, int i) {
          const int row = to.first + m;
          sink.template bias<L>(first_column == 0 && row < kOutputs, {S::layer_bias(net, L) + row, row, 0}, v, i);
        });
      }
    }
  }
  if constexpr (L < Net::kHidden) each_unit<Net, L + 1>(net, sums, sink);
}

// The sums that lanes have gathered: over the lanes of a warp, then over the group's warps in order. The loss's terms
// are written; of the parameters each of the group's first threads gets one.
template <class S>
__device__ typename Fused<S>::LaneGradient Fused<S>::sum_lanes(int net, const float (&lane_sums)[kLaneSums],
                                                               float mean) {
  static_assert(kLaneSums <= kGroupThreads);
#pragma unroll
  for (int k = 0; k < kLaneSums; ++k) {
    const float sum = warp_sum(lane_sums[k]);
    if (lane == 0) shared.group_sums[group][group_warp][k] = sum;
  }
  group_barrier<S::kWideBarriers>(group);
  const int k = threadIdx.x % kGroupThreads;
  if (k >= kLaneSums) return {-1, 0, 0.0f};
  const auto& sums = shared.group_sums[group];
  float sum = sums[0][k];
#pragma unroll
  for (int i = 1; i < 4; ++i) sum += sums[i][k];
  const int log_std = k - kMostOutputs, term = log_std - kLogStds;
  if (term >= 0) __stcg(at(args.loss_partials) + (block * S::kGroups + group) * kLossStride + term, sum);
  if (term >= 0 || (log_std >= 0 ? net != 0 : k >= S::outputs(net))) return {-1, 0, 0.0f};
  return {log_std >= 0 ? S::kLogStd + log_std : S::head_bias(net, k), k, sum * mean};
}

// ---- where gradients go: to the other blocks

template <class S>
struct PartialSink {
  static constexpr int kPasses = 1;
  const Fused<S>& fused;
  float mean;
  int pass = 0, first = 0;
  template <int L>
  __device__ __forceinline__ void one(bool there, ParameterPlace place, float v, int) const {
    if (there) fused.put_partial(place.flat, v * mean);
  }
  template <int L>
  __device__ __forceinline__ void two(bool there, ParameterPlace place, float v0, float v1, int, int) const {
    if (there) fused.put_partial(place.flat, v0 * mean, v1 * mean);
  }
  template <int L>
  __device__ __forceinline__ void bias(bool there, ParameterPlace place, float v, int i) const {
    one<L>(there, place, v, i);
  }
};

template <class S>
template <class Net>
__device__ void Fused<S>::tiles(int net, int index) {
  float sums[Net::kSums], lane_sums[kLaneSums];
  gather<Net>(net, index, sums, lane_sums);
  PartialSink<S> sink{*this, 1.0f / static_cast<float>(S::kMinibatchRows)};
  each_unit<Net, 0>(net, sums, sink);
  const LaneGradient own = sum_lanes(net, lane_sums, sink.mean);
  if (own.flat >= 0) put_partial(own.flat, own.value);
}

template <class S>
__device__ __forceinline__ void Fused<S>::minibatch(int index) {
  if constexpr (kAlone) {
    if constexpr (kSame)
      update_alone<Actor>(group % 2, index);
    else if (group % 2 == 0)
      update_alone<Actor>(0, index);
    else
      update_alone<Critic>(1, index);
    return;
  }
  if (block < S::kTileBlocks) {
    if constexpr (S::kShared)
      tiles<Actor>(0, index);
    else if constexpr (kSame)
      tiles<Actor>(group % 2, index);
    else if (group % 2 == 0)
      tiles<Actor>(0, index);
    else
      tiles<Critic>(1, index);
  }
  mark(FusedPhase::tiles);
  grid_barrier();
  mark(FusedPhase::meet_gradients);
  const AdamQuad moments = fetch_moments();
  const double squares = reduce_gradients();
  mark(FusedPhase::reduce);
  plan(squares);
  mark(FusedPhase::norm);
  step_parameters(moments);
  mark(FusedPhase::adam);
  grid_barrier();
  mark(FusedPhase::meet_parameters);
  load_parameters();
  block_barrier();
  mark(FusedPhase::load);
  ++updates;
}

}  // namespace hotloop
