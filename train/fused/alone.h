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
  int pass = 0, first = 0;
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

// Adam's state of a thread's parameters, in the order of its sums: neighbouring threads touch neighbouring numbers. As
// many of its three arrays as there is room for lie in shared memory.
template <class S>
struct OwnState {
  static constexpr int kStride = Fused<S>::kThreads, kEach = Fused<S>::kMostSums * kStride;
  float *slow, *fast;
  __device__ __forceinline__ OwnState(const Fused<S>& fused)
      : slow(fused.at(fused.args.own) + threadIdx.x),
        fast(reinterpret_cast<float*>(fused.memory + Fused<S>::kOwnAt) + threadIdx.x) {}
  template <int kArray>
  __device__ __forceinline__ float& at(int k) const {
    return (kArray < S::kFastArrays ? fast : slow)[kArray * kEach + k * kStride];
  }
  __device__ __forceinline__ float& m(int k) const { return at<0>(k); }
  __device__ __forceinline__ float& v(int k) const { return at<1>(k); }
  __device__ __forceinline__ float& w(int k) const { return at<2>(k); }
};

// Brings the state from the flat buffers into that order, or back.
template <class S, bool kLoad>
struct TransferSink {
  static constexpr int kPasses = 1;
  OwnState<S> own;
  float *moment1, *moment2, *parameters;
  int pass = 0, first = 0;
  template <int L>
  __device__ __forceinline__ void one(bool there, const ParameterPlace& place, float, int i) const {
    if (!there) return;
    if constexpr (kLoad)
      own.m(first + i) = moment1[place.flat], own.v(first + i) = moment2[place.flat],
                    own.w(first + i) = parameters[place.flat];
    else
      moment1[place.flat] = own.m(first + i), moment2[place.flat] = own.v(first + i),
      parameters[place.flat] = own.w(first + i);
  }
  template <int L>
  __device__ __forceinline__ void two(bool there, const ParameterPlace& place, float, float, int i, int j) const {
    one<L>(there, place, 0.0f, i);
    one<L>(there, {place.flat + 1, 0, 0}, 0.0f, j);
  }
  template <int L>
  __device__ __forceinline__ void bias(bool there, const ParameterPlace& place, float, int i) const {
    one<L>(there, place, 0.0f, i);
  }
};

template <class S>
template <bool kLoad>
__device__ __forceinline__ void Fused<S>::transfer_states() {
  TransferSink<S, kLoad> sink{*this, at(args.moment1), at(args.moment2), at(args.parameters)};
  const float none[kMostSums] = {};
  const auto of = [&]<class Net>(const Net*, int net) {
    each_unit<Net, 0>(net, reinterpret_cast<const float(&)[Net::kSums]>(none), sink);
  };
  if (kSame || group % 2 == 0)
    of(static_cast<const Actor*>(nullptr), group % 2);
  else
    of(static_cast<const Critic*>(nullptr), 1);
}

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

  OwnState<S> own;
  T* weights;
  float* biases;
  typename Fused<S>::AdamScale adam;
  float mean;
  typename Fused<S>::template AdamState<kMost> state;
  int pass = 0, first = 0;  // pass 0: read, 1: step and write

  __device__ __forceinline__ void fetch(int i) {
    state.m[i] = own.m(first + i), state.v[i] = own.v(first + i), state.w[i] = own.w(first + i);
  }
  __device__ __forceinline__ float step(float v, int i) {
    adam.step(v * mean, state.m[i], state.v[i], state.w[i]);
    own.m(first + i) = state.m[i], own.v(first + i) = state.v[i], own.w(first + i) = state.w[i];
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
    if (there && pass == 0) fetch(i);
    if (there && pass == 1) {
      const float w = step(v, i);
      T* to = weight<L>(place);
      put(to, w);
      if constexpr (doubled(L)) put(to + kInputs, w);
    }
  }
  template <int L>
  __device__ __forceinline__ void two(bool there, const ParameterPlace& place, float v0, float v1, int i, int j) {
    constexpr int kInputs = Net::width(L);
    if (there && pass == 0) fetch(i), fetch(j);
    if (there && pass == 1) {
      const float w0 = step(v0, i), w1 = step(v1, j);
      T* to = weight<L>(place);
      put(to, w0, w1);
      if constexpr (doubled(L)) put(to + kInputs, w0, w1);
    }
  }
  template <int L>
  __device__ __forceinline__ void bias(bool there, const ParameterPlace& place, float v, int i) {
    constexpr int kAt = Net::bias_at(L);
    if (there && pass == 0) fetch(i);
    if (there && pass == 1) biases[kAt + place.row] = step(v, i);
  }
};

template <class S>
template <class Net>
__device__ __forceinline__ void Fused<S>::update_alone(int net, int index) {
  float sums[Net::kSums], lane_sums[kLaneSums];
  gather<Net>(net, index, sums, lane_sums);
  SquareSink square{1.0f / static_cast<float>(S::kMinibatchRows), 0.0};
  const LaneGradient own = sum_lanes(net, lane_sums, square.mean);
  if (own.flat >= 0) square.squares += static_cast<double>(own.value) * static_cast<double>(own.value);
  each_unit<Net, 0>(net, sums, square);
  mark(FusedPhase::tiles);
  plan(square.squares);
  mark(FusedPhase::norm);
  if (shared.apply != 0) {
    const Pass<Net> p = pass<Net>(net);
    StepSink<S, Net> step{*this, const_cast<T*>(p.weights), const_cast<float*>(p.biases), adam_scale(), square.mean,
                          {}};
    each_unit<Net, 0>(net, sums, step);
    if (own.flat >= 0) {
      float &m = at(args.moment1)[own.flat], &v = at(args.moment2)[own.flat], &w = at(args.parameters)[own.flat];
      step.adam.step(own.value, m, v, w);
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
