// After the blocks have met with their partial gradients: each sums a slice of the parameters over all blocks in order,
// all agree on the norm and on what the minibatch means for the schedule, and each steps its slice by Adam.
#pragma once
#include "train/fused/kernel_base.h"

namespace hotloop {

// Sums this block's slice into args.gradients; returns this thread's part of the squared norm. Teams of threads each
// take some of the partial sums; all loads of a thread are under way at once.
template <class S>
__device__ double Fused<S>::reduce_gradients() {
  constexpr int kQuads = S::kSlice / 4;
  constexpr int kMostTeams = kThreads / kQuads, kTeams = kMostTeams < kPartials ? kMostTeams : kPartials;
  const int first = block * S::kSlice;
  const float4* from =
      reinterpret_cast<const float4*>(at(args.partials) + static_cast<std::int64_t>(first) * kPartials);
  double squares = 0;
  const auto finish = [&](int k, float g) {
    const int flat = first + k;
    if (flat >= S::kParameters) return;
    at(args.gradients)[flat] = g;
    squares += static_cast<double>(g) * static_cast<double>(g);
  };
  const auto add = [](float4& sum, const float4& v) { sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w; };
  if constexpr (kTeams < 2) {
#pragma unroll 4
    for (int quad = threadIdx.x; quad < kQuads; quad += kThreads) {
      float4 sum = __ldcg(from + quad);
#pragma unroll 4
      for (int p = 1; p < kPartials; ++p) add(sum, __ldcg(from + p * kQuads + quad));
      finish(4 * quad, sum.x), finish(4 * quad + 1, sum.y), finish(4 * quad + 2, sum.z), finish(4 * quad + 3, sum.w);
    }
  } else {
    constexpr int kEach = (kPartials + kTeams - 1) / kTeams;
    const int quad = threadIdx.x % kQuads, team = threadIdx.x / kQuads;
    if (team < kTeams) {
      float4 v[kEach], sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
      for (int k = 0; k < kEach; ++k) {
        const int p = team + k * kTeams;  // the last ones may not be there: they read the first again and leave it out
        v[k] = __ldcg(from + (p < kPartials ? p : 0) * kQuads + quad);
      }
#pragma unroll
      for (int k = 0; k < kEach; ++k)
        if (team + k * kTeams < kPartials) add(sum, v[k]);
      shared.team_sums[team * kQuads + quad] = sum;
    }
    block_barrier();
    const float* sums = reinterpret_cast<const float*>(shared.team_sums);
    for (int k = threadIdx.x; k < S::kSlice; k += kThreads) {
      float sum = sums[k];
#pragma unroll
      for (int t = 1; t < kTeams; ++t) sum += sums[t * S::kSlice + k];
      finish(k, sum);
    }
  }
  return squares;
}

// Sums over the minibatch's rows, by one warp.
template <class S>
__device__ void Fused<S>::sum_losses() {
  double sums[kLossTerms] = {};
#pragma unroll 4
  for (int p = lane; p < S::kTileBlocks * S::kGroups; p += 32) {
    const float4* from = reinterpret_cast<const float4*>(at(args.loss_partials) + p * kLossStride);
    const float4 a = __ldcg(from), b = __ldcg(from + 1);
    sums[0] += a.x, sums[1] += a.y, sums[2] += a.z, sums[3] += a.w, sums[4] += b.x, sums[5] += b.y;
  }
#pragma unroll
  for (int k = 0; k < kLossTerms; ++k) sums[k] = warp_sum(sums[k]);
  if (lane == 0) shared.loss = {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]};
}

// The sum of all blocks' squared norms, by one warp. Integers add up to the same in any order, so atomic additions do:
// word k counts units of 2^(30 - 47 k) in its lower 56 bits and blocks above them. Infinity where a block has a number
// that is not finite or beyond 2^77.
template <class S>
__device__ double Fused<S>::exchange(double squares) {
  if constexpr (S::kBlocks == 1) return squares;
  constexpr double kUnit[3] = {1073741824.0, 7.62939453125e-6, 5.421010862427522e-20};
  constexpr double kInverse[3] = {9.313225746154785e-10, 131072.0, 1.8446744073709552e19};
  constexpr std::uint64_t kMost = 1ull << 47, kBlock = 1ull << 56;
  std::uint64_t own = 0;
  double rest = squares;
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    const double units = floor(rest * kInverse[k]);
    const std::uint64_t n = units < static_cast<double>(kMost) ? static_cast<std::uint64_t>(units) : kMost;  // also NaN
    rest = n == kMost ? 0.0 : rest - static_cast<double>(n) * kUnit[k];
    if (lane == k) own = n;
  }
  double total = 0;
  if (lane < 3) {
    // this set's turn is over since the last minibatch and comes again in three
    if (block == 0) at(args.norms)[(updates + 3) % 4 * kNormWords + lane] = 0;
    unsigned long long* word = at(args.norms) + updates % 4 * kNormWords + lane;
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(word), "l"(kBlock + own) : "memory");
    std::uint64_t seen;
    do {
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(seen) : "l"(word) : "memory");
    } while ((seen >> 56) != S::kBlocks);
    const std::uint64_t units = seen & (kBlock - 1);
    total = static_cast<double>(units) * (lane == 0 ? kUnit[0] : (lane == 1 ? kUnit[1] : kUnit[2]));
    if (lane == 0 && units >= kMost) total = __longlong_as_double(0x7ff0000000000000ll);
  }
  __syncwarp();
  return __shfl_sync(0xffffffffu, total, 0) + __shfl_sync(0xffffffffu, total, 1) + __shfl_sync(0xffffffffu, total, 2);
}

// What every parameter's step shares: each block comes to the same. Warps prepare its parts side by side.
template <class S>
__device__ void Fused<S>::plan(double squares) {
  squares = warp_sum(squares);
  if (lane == 0) shared.warp_sums[warp][0] = squares;
  block_barrier();
  double norm = 0;
  if (warp == 0) {
    double own = 0;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) own += shared.warp_sums[i][0];
    norm = sqrt(exchange(own));
  } else if (warp == 1) {
    sum_losses();
  } else if (warp == 2 && lane < 2) {
    const auto t = static_cast<double>(shared.control.adam_step + 1);
    const double correction = 1.0 - pow(lane == 0 ? shared.update.adam_beta1 : shared.update.adam_beta2, t);
    shared.correction[lane] = 1.0 / (lane == 0 ? correction : sqrt(correction));
  }
  block_barrier();
  if (threadIdx.x == 0) {
    const double mean = 1.0 / S::kMinibatchRows;
    const LossTerms& sum = shared.loss;
    Control& c = shared.control;
    shared.apply = end_minibatch(shared.update, c,
                                 {sum.policy_loss * mean, sum.value_loss * mean, sum.entropy * mean,
                                  sum.old_approx_kl * mean, sum.approx_kl * mean, sum.clipfrac * mean},
                                 norm)
                       ? 1
                       : 0;
    const double limit = shared.update.max_grad_norm / (norm + 1e-6);  // as torch's clip_grad_norm_
    shared.gradient_scale = static_cast<float>(limit < 1.0 ? limit : 1.0);
    shared.step_size = static_cast<float>(c.learning_rate * shared.correction[0]);
    shared.inverse_sqrt_correction2 = static_cast<float>(shared.correction[1]);
  }
  block_barrier();
}

template <class S>
__device__ __forceinline__ typename Fused<S>::AdamScale Fused<S>::adam_scale() const {
  return {static_cast<float>(shared.update.adam_beta1),
          static_cast<float>(shared.update.adam_beta2),
          static_cast<float>(shared.update.adam_eps),
          shared.gradient_scale,
          shared.step_size,
          shared.inverse_sqrt_correction2};
}

template <class S>
__device__ __forceinline__ void Fused<S>::AdamScale::step(float g, float& m, float& v, float& w) const {
  g *= gradient;
  m = beta1 * m + (1.0f - beta1) * g;
  v = beta2 * v + (1.0f - beta2) * g * g;
  // to a few units in the last place: IEEE's root and quotient would be most of a step's instructions
  float root, quotient;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(v));
  asm("div.approx.f32 %0, %1, %2;" : "=f"(quotient) : "f"(step_size * m), "f"(root * correction + eps));
  w -= quotient;
}

template <class S>
__device__ __forceinline__ typename Fused<S>::AdamQuad Fused<S>::fetch_moments() const {
  const int flat = block * S::kSlice + 4 * threadIdx.x;
  if (4 * threadIdx.x >= S::kSlice || flat >= S::kParameters) return {};
  return {*reinterpret_cast<const float4*>(at(args.moment1) + flat),
          *reinterpret_cast<const float4*>(at(args.moment2) + flat),
          __ldcg(reinterpret_cast<const float4*>(at(args.parameters) + flat))};
}

template <class S>
__device__ void Fused<S>::step_parameters(const AdamQuad& first) {
  if (shared.apply == 0) return;
  const AdamScale adam = adam_scale();
  AdamQuad now = first;
#pragma unroll 1
  for (int quad = threadIdx.x; 4 * quad < S::kSlice; quad += kThreads) {
    const int flat = block * S::kSlice + 4 * quad;
    if (flat >= S::kParameters) break;  // a multiple of four, as slices are
    const float4 g = *reinterpret_cast<const float4*>(at(args.gradients) + flat);
    AdamQuad next = now;
    if (4 * (quad + kThreads) < S::kSlice && flat + 4 * kThreads < S::kParameters) {
      const int later = flat + 4 * kThreads;
      next = {*reinterpret_cast<const float4*>(at(args.moment1) + later),
              *reinterpret_cast<const float4*>(at(args.moment2) + later),
              __ldcg(reinterpret_cast<const float4*>(at(args.parameters) + later))};
    }
    adam.step(g.x, now.m.x, now.v.x, now.w.x), adam.step(g.y, now.m.y, now.v.y, now.w.y);
    adam.step(g.z, now.m.z, now.v.z, now.w.z), adam.step(g.w, now.m.w, now.v.w, now.w.w);
    *reinterpret_cast<float4*>(at(args.moment1) + flat) = now.m;
    *reinterpret_cast<float4*>(at(args.moment2) + flat) = now.v;
    __stcg(reinterpret_cast<float4*>(at(args.parameters) + flat), now.w);
    now = next;
  }
}

}  // namespace hotloop
