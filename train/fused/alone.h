// The update of a member that one block trains: each thread steps the parameters whose gradients it has gathered, with
// no way through memory for the gradients and none back for the parameters, which go straight into the block's copies.
#pragma once
#include "train/fused/minibatch.h"
#include "train/fused/update.h"

namespace hotloop {

// The squared norm of this thread's gradients.
struct SquareSink {
  static constexpr int kPasses = 1;
  float mean;
  double squares;
  int pass = 0;
  __device__ __forceinline__ void add(bool there, float v) {
    const double g = there ? static_cast<double>(v * mean) : 0.0;
    squares += g * g;
  }
  template <int L>
  __device__ __forceinline__ void one(bool there, ParameterPlace, float v, int) {
    add(there, v);
  }
  template <int L>
  __device__ __forceinline__ void two(bool there, ParameterPlace, float v0, float v1, int, int) {
    add(there, v0), add(there, v1);
  }
  template <int L>
  __device__ __forceinline__ void bias(bool there, ParameterPlace, float v, int) {
    add(there, v);
  }
};

// Adam's step, unit by unit: first all of a unit's state is read, then it is stepped and written.
template <class S, class Net>
struct StepSink {
  using T = typename Net::Number;
  static constexpr int kPasses = 2;
  static constexpr int most_numbers() {
    int most = 0;
    for (int l = 0; l <= Net::kHidden; ++l) most = most > Net::unit_numbers(l) ? most : Net::unit_numbers(l);
    return most;
  }
  static constexpr int kMost = most_numbers();

  float *moment1, *moment2, *parameters;
  T* weights;
  float* biases;
  typename Fused<S>::AdamScale adam;
  float mean;
  typename Fused<S>::template AdamState<kMost> state;
  int pass = 0;  // 0: read, 1: step and write

  __device__ __forceinline__ void fetch(int flat, int i) {
    state.m[i] = moment1[flat], state.v[i] = moment2[flat], state.w[i] = parameters[flat];
  }
  __device__ __forceinline__ float step(int flat, float v, int i) {
    adam.step(v * mean, state.m[i], state.v[i], state.w[i]);
    moment1[flat] = state.m[i], moment2[flat] = state.v[i], parameters[flat] = state.w[i];
    return state.w[i];
  }
  template <int L>
  __device__ __forceinline__ T* weight(const ParameterPlace& place) const {
    constexpr int kAt = Net::weight_at(L), kStride = Net::stride(L);
    return weights + kAt + place.row * kStride + place.column;
  }
  static constexpr bool doubled(int l) { return l == 0 && Net::kSplit; }
  template <int L>
  __device__ __forceinline__ void one(bool there, const ParameterPlace& place, float v, int i) {
    constexpr int kInputs = Net::width(L);
    if (there && pass == 0) fetch(place.flat, i);
    if (there && pass == 1) {
      const float w = step(place.flat, v, i);
      T* to = weight<L>(place);
      put(to, w);
      if constexpr (doubled(L)) put(to + kInputs, w);
    }
  }
  template <int L>
  __device__ __forceinline__ void two(bool there, const ParameterPlace& place, float v0, float v1, int i, int j) {
    constexpr int kInputs = Net::width(L);
    if constexpr (S::kEvenOffsets) {
      if (there && pass == 0) {
        const float2 m = *reinterpret_cast<const float2*>(moment1 + place.flat);
        const float2 v = *reinterpret_cast<const float2*>(moment2 + place.flat);
        const float2 w = *reinterpret_cast<const float2*>(parameters + place.flat);
        state.m[i] = m.x, state.v[i] = v.x, state.w[i] = w.x;
        state.m[j] = m.y, state.v[j] = v.y, state.w[j] = w.y;
      }
      if (there && pass == 1) {
        adam.step(v0 * mean, state.m[i], state.v[i], state.w[i]);
        adam.step(v1 * mean, state.m[j], state.v[j], state.w[j]);
        *reinterpret_cast<float2*>(moment1 + place.flat) = make_float2(state.m[i], state.m[j]);
        *reinterpret_cast<float2*>(moment2 + place.flat) = make_float2(state.v[i], state.v[j]);
        *reinterpret_cast<float2*>(parameters + place.flat) = make_float2(state.w[i], state.w[j]);
        T* to = weight<L>(place);
        put(to, state.w[i], state.w[j]);
        if constexpr (doubled(L)) put(to + kInputs, state.w[i], state.w[j]);
      }
    } else {
      one<L>(there, place, v0, i);
      one<L>(there, {place.flat + 1, place.row, place.column + 1}, v1, j);
    }
  }
  template <int L>
  __device__ __forceinline__ void bias(bool there, const ParameterPlace& place, float v, int i) {
    constexpr int kAt = Net::bias_at(L);
    if (there && pass == 0) fetch(place.flat, i);
    if (there && pass == 1) biases[kAt + place.row] = step(place.flat, v, i);
  }
};

template <class S>
template <class Net>
__device__ __forceinline__ void Fused<S>::update_alone(int net, int index) {
  float sums[Net::kSums], lane_sums[kLaneSums];
  gather<Net>(net, index, sums, lane_sums);
  SquareSink square{1.0f / static_cast<float>(args.minibatch_rows), 0.0};
  const LaneGradient own = sum_lanes(net, lane_sums, square.mean);
  if (own.flat >= 0) square.squares += static_cast<double>(own.value) * static_cast<double>(own.value);
  each_unit<Net, 0>(net, sums, square);
  mark(FusedPhase::tiles);
  plan(square.squares);
  mark(FusedPhase::norm);
  if (shared.apply != 0) {
    const Pass<Net> p = pass<Net>(net);
    StepSink<S, Net> step{at(args.moment1),
                          at(args.moment2),
                          at(args.parameters),
                          const_cast<T*>(p.weights),
                          const_cast<float*>(p.biases),
                          adam_scale(),
                          square.mean,
                          {}};
    each_unit<Net, 0>(net, sums, step);
    if (own.flat >= 0) {
      float m = step.moment1[own.flat], v = step.moment2[own.flat], w = step.parameters[own.flat];
      step.adam.step(own.value, m, v, w);
      step.moment1[own.flat] = m, step.moment2[own.flat] = v, step.parameters[own.flat] = w;
      if (own.index < kMostOutputs)
        step.biases[Net::bias_at(Net::kHidden) + own.index] = w;
      else
        shared.log_std[own.index - kMostOutputs] = w;
    }
  }
  mark(FusedPhase::adam);
  block_barrier();
  mark(FusedPhase::meet_parameters);
}

}  // namespace hotloop
