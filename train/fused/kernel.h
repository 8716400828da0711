// The fused kernel: whole PPO iterations, from the worlds' states to the updated parameters and the metrics that the
// host reads. A member's blocks stay on the card throughout and meet at a few barriers; activations never leave a
// multiprocessor.
#pragma once
#include "train/fused/advantage.h"
#include "train/fused/alone.h"
#include "train/fused/finish.h"
#include "train/fused/rollout.h"

namespace hotloop {

// Layer L of network `net` and those after it, then `rest`: what all have to load is under way before the first stores.
template <class S>
template <class Net, int L, class Rest>
__device__ __forceinline__ void Fused<S>::load_layer(int net, Rest rest) {
  constexpr int kInputs = Net::width(L), kStride = Net::stride(L), kOutputs = Net::width(L + 1);
  constexpr int kWeightAt = Net::weight_at(L), kBiasAt = Net::bias_at(L), kWeightBytes = bytes(Net::kWeights);
  constexpr bool kIsHead = L == Net::kHidden;
  constexpr bool kDouble = L == 0 && Net::kSplit;  // both parts of the input meet the same weights
  constexpr int kQuads = kInputs / 4, kTimes = kInputs % 4 == 0 ? (kOutputs * kQuads + kThreads - 1) / kThreads : 0;
  constexpr int kBiasTimes = (kOutputs + kThreads - 1) / kThreads;
  const int outputs = kIsHead ? S::outputs(net) : kOutputs;
  const auto place = [&](int row) {
    return kIsHead ? S::head_weight(net, row) : S::layer_weight(net, L) + row * kInputs;
  };
  char* image = memory + (net == 0 ? 0 : kActorBytes);
  T* to = reinterpret_cast<T*>(image) + kWeightAt;
  float* biases = reinterpret_cast<float*>(image + kWeightBytes) + kBiasAt;
  float4 w[kTimes > 0 ? kTimes : 1];
  float b[kBiasTimes];
#pragma unroll
  for (int k = 0; k < kTimes; ++k) {
    const int i = k * kThreads + threadIdx.x, row = i / kQuads;
    w[k] = __ldcg(
        reinterpret_cast<const float4*>(at(args.parameters) + place(row < outputs ? row : 0) + 4 * (i % kQuads)));
  }
#pragma unroll
  for (int k = 0; k < kBiasTimes; ++k) {
    const int i = k * kThreads + threadIdx.x < outputs ? k * kThreads + threadIdx.x : 0;
    b[k] = __ldcg(at(args.parameters) + (kIsHead ? S::head_bias(net, i) : S::layer_bias(net, L) + i));
  }
  if constexpr (kIsHead)
    rest();
  else
    load_layer<Net, L + 1>(net, rest);
#pragma unroll
  for (int k = 0; k < kBiasTimes; ++k)
    if (k * kThreads + threadIdx.x < outputs) biases[k * kThreads + threadIdx.x] = b[k];
#pragma unroll
  for (int k = 0; k < kTimes; ++k) {
    const int i = k * kThreads + threadIdx.x, row = i / kQuads;
    T* at = to + row * kStride + 4 * (i % kQuads);
    if (row >= outputs) continue;
    put(at, w[k].x, w[k].y), put(at + 2, w[k].z, w[k].w);
    if constexpr (kDouble) put(at + kInputs, w[k].x, w[k].y), put(at + kInputs + 2, w[k].z, w[k].w);
  }
  if constexpr (kTimes == 0) {  // rows that are no multiple of 16 bytes: number by number
#pragma unroll 4
    for (int i = threadIdx.x; i < outputs * kInputs; i += kThreads) {
      const int row = i / kInputs, column = i % kInputs;
      const float x = __ldcg(at(args.parameters) + place(row) + column);
      put(to + row * kStride + column, x);
      if constexpr (kDouble) put(to + row * kStride + kInputs + column, x);
    }
  }
}

// Brings the block's copies up to date with args.parameters.
template <class S>
__device__ void Fused<S>::load_parameters() {
  load_layer<Actor, 0>(0, [&] {
    if constexpr (!S::kShared) load_layer<Critic, 0>(1, [] {});
  });
  if constexpr (S::kLogStd >= 0)
    for (int k = threadIdx.x; k < kActionDim; k += kThreads)
      shared.log_std[k] = __ldcg(at(args.parameters) + S::kLogStd + k);
}

// Where a group's memory goes from one network's rows to another's, what the one left lies where the other keeps zeros.
template <class S>
__device__ void Fused<S>::clear_activations() {
  if constexpr (!kSame && !S::kShared) {
    block_barrier();
    uint4* from = fused_memory + (kActorBytes + kCriticBytes) / 16;
    for (int i = threadIdx.x; i < S::kGroups * kGroupBytes / 16; i += kThreads) from[i] = make_uint4(0, 0, 0, 0);
  }
  block_barrier();
}

template <class S>
__device__ __forceinline__ void Fused<S>::iteration() {
  returns = {};
  if (warp == kWarps - 1) order_rows();
  rollout();
  clear_activations();
  if constexpr (S::kNormalizeReward) publish_returns();
  mark(FusedPhase::rollout);
  if (warp == kWarps - 1) collect_episodes();
  values();
  clear_activations();
  if constexpr (S::kNormalizeReward) scale_rewards();
  mark(FusedPhase::values);
  advantages();
  block_barrier();
  advantage_sums();
  mark(FusedPhase::advantages);
  grid_barrier();
  advantage_scales();
  if constexpr (S::kNormalizeObservation) observation_sums();
  mark(FusedPhase::meet);
#pragma unroll 1
  for (int epoch = 0; epoch < S::kEpochs && shared.control.stop == 0; ++epoch) {
    if (threadIdx.x == 0) shared.order = shared.orders[epoch];
    block_barrier();
#pragma unroll 1
    for (int m = 0; m < S::kEpochMinibatches && shared.control.stop == 0; ++m)
      minibatch(epoch * S::kEpochMinibatches + m);
  }
  clear_activations();
}

template <class S>
__device__ void Fused<S>::run() {
  last_mark = clock64();
  for (int i = threadIdx.x; i < kSharedBytes / 16; i += kThreads) fused_memory[i] = make_uint4(0, 0, 0, 0);
  block_barrier();
  if (threadIdx.x == 0) {
    shared.control = *at(args.control);
    shared.update = at(args.member)->update;
    begin_iteration(shared.update, shared.control);
    if constexpr (S::kNormalizeReward)
      for (int k = 0; k < 3; ++k) shared.return_state[k] = at(args.return_state)[k];
  }
  load_parameters();
  if constexpr (kAlone) transfer_states<true>();
  if constexpr (S::kNormalizeObservation) load_normalizer();
  block_barrier();
  mark(FusedPhase::start);
  for (int i = 0; i < args.iterations; ++i) {
    iteration();
    finish(i + 1 == args.iterations);
  }
  announce(shared.control.iteration);
  if constexpr (kAlone) transfer_states<false>();
  if (block != 0 || threadIdx.x != 0) return;
  *at(args.control) = shared.control;
  at(args.tally)->barriers = barriers, at(args.tally)->updates = updates;
  if constexpr (S::kNormalizeReward)
    for (int k = 0; k < 3; ++k) at(args.return_state)[k] = shared.return_state[k];
  if (args.phases != nullptr && blockIdx.x == 0)
    for (int k = 0; k < static_cast<int>(FusedPhase::count); ++k) args.phases[k] += shared.phases[k];
}

}  // namespace hotloop
