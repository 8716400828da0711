// Forward, backward and parameter gradients of one network over a group's rows in shared memory. A group is four
// warps; each passes its own rows through all layers without waiting for the others, who meet only for the gradients of
// parameters, of which each gathers a part.
#pragma once
#include "train/fused/activate.h"
#include "train/fused/net_shape.h"

namespace hotloop {

inline constexpr int kGroupThreads = 128;

// The block's threads wait for each other. Warps arrive whole: tools that look for races count warps, not threads.
__device__ __forceinline__ void block_barrier() {
  __syncwarp();
  __syncthreads();
}

// The threads of one of the two groups wait for each other, or (kWide) of both. Barrier 0 is the block's.
template <bool kWide>
__device__ __forceinline__ void group_barrier(int group) {
  if constexpr (kWide) return block_barrier();
  __syncwarp();
  if (group == 0)
    asm volatile("bar.sync 1, %0;" ::"n"(kGroupThreads) : "memory");
  else
    asm volatile("bar.sync 2, %0;" ::"n"(kGroupThreads) : "memory");
}

// kRows: of the group.
template <class Net, Activation kActivation, int kRows, bool kWideBarriers>
struct NetPass {
  using T = typename Net::Number;
  using Engine = typename Net::Engine;
  static constexpr int kHidden = Net::kHidden;
  static constexpr bool kRough = sizeof(T) == 2;
  static constexpr int kChunk = 64;  // columns whose sums one warp holds in registers at a time

  const T* weights;
  const float* biases;
  T* memory;   // activations of the group
  float* out;  // [rows][kHeadColumns] the head's outputs

  template <int L>
  __device__ __forceinline__ T* output(int row) const {
    constexpr int kAt = Net::output_at(L, kRows), kStride = Net::stride(L);
    return memory + kAt + row * kStride;
  }
  template <int L>
  __device__ __forceinline__ T* gradient(int row) const {
    constexpr int kAt = Net::gradient_at(L, kRows), kStride = Net::stride(L);
    return memory + kAt + row * kStride;
  }
  template <int L>
  __device__ __forceinline__ const T* weight(int row) const {
    constexpr int kAt = Net::weight_at(L), kStride = Net::stride(L);
    return weights + kAt + row * kStride;
  }
  template <int L>
  __device__ __forceinline__ const float* bias(int first) const {
    constexpr int kAt = Net::bias_at(L);
    return biases + kAt + first;
  }

  // What becomes of a layer's sums: start, pack and store as an engine's product calls them, of pairs of columns or
  // of single ones.
  struct FromBias {
    const float* bias;
    __device__ __forceinline__ float2 start(int c) const { return *reinterpret_cast<const float2*>(bias + c); }
    __device__ __forceinline__ float start_one(int c) const { return bias[c]; }
  };
  // Applies the activation and keeps the result; silu's input stays where its gradient will be.
  template <int kStride>
  struct Activate : FromBias {
    T *to, *input;
    __device__ __forceinline__ Activate(const float* b, T* t, T* i) : FromBias{b}, to(t), input(i) {}
    __device__ __forceinline__ static float apply(float v) { return fast_activate<kActivation, kRough>(v); }
    __device__ __forceinline__ std::uint32_t pack(int, int, int, int, int, float v0, float v1) const {
      return T::pack(apply(v0), apply(v1));
    }
    __device__ __forceinline__ float pack(int, int, float v) const { return apply(v); }
    __device__ __forceinline__ void store(int row, int c, std::uint32_t y, float v0, float v1) const {
      if constexpr (kActivation == Activation::silu) put(input + row * kStride + c, v0, v1);
      *reinterpret_cast<std::uint32_t*>(to + row * kStride + c) = y;
    }
    __device__ __forceinline__ void store(int row, int c, float y, float v) const {
      if constexpr (kActivation == Activation::silu) put(input + row * kStride + c, v);
      put(to + row * kStride + c, y);
    }
  };
  // The same where nobody needs the outputs but the next layer.
  template <int kStride>
  struct ActivateOnly : Activate<kStride> {
    using Activate<kStride>::Activate;
    __device__ __forceinline__ void store(int, int, std::uint32_t, float, float) const {}
  };
  struct Head : FromBias {
    float* out;
    __device__ __forceinline__ Head(const float* b, float* o) : FromBias{b}, out(o) {}
    __device__ __forceinline__ std::uint32_t pack(int, int, int, int, int, float, float) const { return 0; }
    __device__ __forceinline__ float pack(int, int, float v) const { return v; }
    __device__ __forceinline__ void store(int row, int c, std::uint32_t, float v0, float v1) const {
      if (c < Net::kHeadColumns) *reinterpret_cast<float2*>(out + row * Net::kHeadColumns + c) = make_float2(v0, v1);
    }
    __device__ __forceinline__ void store(int row, int c, float v, float) const {
      if (c < Net::kHeadColumns) out[row * Net::kHeadColumns + c] = v;
    }
  };
  template <int kStride>
  struct Slope {
    const T* known;  // outputs, or silu's inputs
    T* to;
    __device__ __forceinline__ float2 start(int) const { return make_float2(0.0f, 0.0f); }
    __device__ __forceinline__ float start_one(int) const { return 0.0f; }
    __device__ __forceinline__ static std::uint32_t times(std::uint32_t y, float v0, float v1) {
      if constexpr (kActivation == Activation::tanh)
        return T::multiply(T::pack(v0, v1), T::fma(y ^ 0x80008000u, y, T::kOnes));
      return T::pack(v0 * fast_slope<kActivation, kRough>(T::unpack(static_cast<std::uint16_t>(y))),
                     v1 * fast_slope<kActivation, kRough>(T::unpack(static_cast<std::uint16_t>(y >> 16))));
    }
    __device__ __forceinline__ std::uint32_t pack(int, int, int, int row, int c, float v0, float v1) const {
      return times(*reinterpret_cast<const std::uint32_t*>(known + row * kStride + c), v0, v1);
    }
    __device__ __forceinline__ float pack(int row, int c, float v) const {
      return v * fast_slope<kActivation, kRough>(get(known + row * kStride + c));
    }
    __device__ __forceinline__ void store(int row, int c, std::uint32_t d, float, float) const {
      *reinterpret_cast<std::uint32_t*>(to + row * kStride + c) = d;
    }
    __device__ __forceinline__ void store(int row, int c, float d, float) const { put(to + row * kStride + c, d); }
  };

  // The same with the outputs in registers.
  template <int kStride, class Kept>
  struct SlopeOfKept : Slope<kStride> {
    const Kept& kept;
    __device__ __forceinline__ SlopeOfKept(T* t, const Kept& k) : Slope<kStride>{t, t}, kept(k) {}
    __device__ __forceinline__ std::uint32_t pack(int r, int n, int h, int, int, float v0, float v1) const {
      return Slope<kStride>::times(kept.v[r][n][h], v0, v1);
    }
  };

  // Columns [kFirst, N) of hidden layer L for 16 * R rows.
  template <int L, int R, int N, int kFirst = 0>
  __device__ __forceinline__ void hidden_layer(int row) const {
    constexpr int kNow = N - kFirst < kChunk ? N - kFirst : kChunk;
    hidden_columns<L, R, kNow>(row, kFirst);
    if constexpr (kFirst + kNow < N) hidden_layer<L, R, N, kFirst + kNow>(row);
  }
  template <int L, int R, int N>
  __device__ __forceinline__ void hidden_columns(int row, int first) const {
    constexpr int kIn = Net::depth(L), kStride = Net::stride(L), kTo = Net::stride(L + 1);
    const Activate<kTo> f(bias<L>(first), output<L + 1>(row) + first, gradient<L + 1>(row) + first);
    Engine::template product<R, kIn, N, false>(output<L>(row), kStride, weight<L>(first), kStride, f);
  }
  template <int R>
  __device__ __forceinline__ void head(int row) const {
    constexpr int kIn = Net::depth(kHidden), kOut = Net::breadth(kHidden + 1), kStride = Net::stride(kHidden);
    const Head f(bias<kHidden>(0), out + row * Net::kHeadColumns);
    Engine::template product<R, kIn, kOut, false>(output<kHidden>(row), kStride, weight<kHidden>(0), kStride, f);
    __syncwarp();
  }

  // From the input of this warp's 16 * R rows, the first of which is `row`, to the head's outputs.
  template <int R, int L = 0>
  __device__ __forceinline__ void forward(int row) const {
    if constexpr (L < kHidden) {
      hidden_layer<L, R, Net::breadth(L + 1)>(row);
      __syncwarp();
      forward<R, L + 1>(row);
    } else {
      head<R>(row);
    }
  }

  // The same for the group's first 16 * R rows by all its warps, each taking every fourth unit of 16 columns; ends
  // before the head.
  template <int R, int L = 0>
  __device__ __forceinline__ void forward_together(int group, int warp) const {
    if constexpr (L < kHidden) {
      constexpr int kUnits = Net::pad(L + 1) / 16;
      for (int unit = warp; unit < kUnits; unit += 4) hidden_columns<L, R, 16>(0, 16 * unit);
      group_barrier<kWideBarriers>(group);
      forward_together<R, L + 1>(group, warp);
    }
  }

  // From the head's gradient to that of hidden layer 1.
  template <int R, int L = kHidden>
  __device__ __forceinline__ void backward(int row) const {
    if constexpr (L > 0) {
      backward_columns<R, L, Net::breadth(L)>(row);
      __syncwarp();
      backward<R, L - 1>(row);
    }
  }
  template <int R, int L, int N, int kFirst = 0>
  __device__ __forceinline__ void backward_columns(int row) const {
    constexpr int kNow = N - kFirst < kChunk ? N - kFirst : kChunk;
    constexpr int kIn = Net::depth(L + 1), kFrom = Net::stride(L + 1), kStride = Net::stride(L);
    T* to = gradient<L>(row) + kFirst;
    const Slope<kStride> f{kActivation == Activation::silu ? to : output<L>(row) + kFirst, to};
    Engine::template product<R, kIn, kNow, true>(gradient<L + 1>(row), kFrom, weight<L>(0) + kFirst, kStride, f);
    if constexpr (kFirst + kNow < N) backward_columns<R, L, N, kFirst + kNow>(row);
  }

  // Forward, loss() and, with kBack, backward of this warp's rows, whose activations stay in registers from layer to
  // layer and are written to memory for the parameters' gradients only. kept: outputs of the layers before L.
  template <int R, bool kBack, int L = 0, class Loss, class... Kept>
  __device__ __forceinline__ void chain(int row, const Loss& loss, const Kept&... kept) const {
    if constexpr (L < kHidden) {
      constexpr int kIn = Net::pad(L), kOut = Net::pad(L + 1), kStride = Net::stride(L), kTo = Net::stride(L + 1);
      using F = std::conditional_t<kBack, Activate<kTo>, ActivateOnly<kTo>>;
      const F f(bias<L>(0), output<L + 1>(row), gradient<L + 1>(row));
      if constexpr (L == 0) {
        const typename Engine::FromMemory from(output<0>(row), kStride);
        const auto out = Engine::template product_of<R, kIn, kOut, false>(from, weight<L>(0), kStride, f);
        chain<R, kBack, 1>(row, loss, out);
      } else {
        const typename Engine::template FromRows<R, kIn> from{first_of(kept...)};
        const auto out = Engine::template product_of<R, kIn, kOut, false>(from, weight<L>(0), kStride, f);
        if constexpr (kBack && Net::kept(R))
          chain<R, kBack, L + 1>(row, loss, out, kept...);
        else
          chain<R, kBack, L + 1>(row, loss, out);
      }
    } else {
      constexpr int kIn = Net::pad(L), kOut = Net::pad(L + 1), kStride = Net::stride(L);
      const Head f(bias<L>(0), out + row * Net::kHeadColumns);
      const typename Engine::template FromRows<R, kIn> from{first_of(kept...)};
      Engine::template product_of<R, kIn, kOut, false>(from, weight<L>(0), kStride, f);
      __syncwarp();
      loss();
      __syncwarp();
      if constexpr (kBack) {
        const typename Engine::FromMemory back(gradient<L + 1>(row), Net::stride(L + 1));
        chain_back<R, L>(row, back, kept...);
      }
    }
  }
  template <class First, class... Rest>
  __device__ __forceinline__ static const First& first_of(const First& first, const Rest&...) {
    return first;
  }
  // Gradients of hidden layer L's sums and those before it; kept: outputs of layer L and of those before it, or of the
  // last alone.
  template <int R, int L, class From, class First, class... Rest>
  __device__ __forceinline__ void chain_back(int row, const From& from, const First& first, const Rest&... rest) const {
    constexpr int kIn = Net::pad(L + 1), kOut = Net::pad(L), kStride = Net::stride(L);
    constexpr bool kKnown = (Net::kept(R) || L == kHidden) && kActivation != Activation::silu;
    T* to = gradient<L>(row);
    const auto go = [&](const auto& f) {
      const auto d = Engine::template product_of<R, kIn, kOut, true>(from, weight<L>(0), kStride, f);
      if constexpr (L > 1) {
        const typename Engine::template FromRows<R, kOut> next{d};
        if constexpr (sizeof...(Rest) > 0)
          chain_back<R, L - 1>(row, next, rest...);
        else
          chain_back<R, L - 1>(row, next, first);
      }
    };
    if constexpr (kKnown)
      go(SlopeOfKept<kStride, First>(to, first));
    else
      go(Slope<kStride>{kActivation == Activation::silu ? to : output<L>(row), to});
  }

  // Adds this warp's share of the parameters' gradients over the group's rows.
  template <int L = 0>
  __device__ __forceinline__ void gradients(int warp, float (&sums)[Net::kSums]) const {
    if constexpr (L <= kHidden) {
      constexpr bool kIsHead = L == kHidden;
      constexpr int kUnits = Net::units(L), kSumAt = Net::sum_at(L), kShare = Net::share(L);
      constexpr int kStride = Net::stride(L), kNext = Net::stride(L + 1), kStep = 16 * Net::warps_down(L);
      constexpr int kRowsOfUnits = Net::pad(kIsHead ? L : L + 1);
      // where the units divide among the warps, all of a warp's at once
      constexpr int kAtOnce = kRowsOfUnits % kStep == 0 ? kUnits : 1;
#pragma unroll
      for (int u = 0; u < kUnits; u += kAtOnce) {
        const int first = first_row<L>(warp) + u * kStep;
        float* to = sums + kSumAt + u * Net::unit_numbers(L);
        if (kAtOnce == 1 && first >= kRowsOfUnits) break;
        if constexpr (kIsHead)
          Engine::template outer<kRows, kShare, false, kAtOnce, kStep>(to, output<L>(0) + first, kStride,
                                                                       gradient<L + 1>(0), kNext);
        else
          Engine::template outer<kRows, kShare, true, kAtOnce, kStep>(to, gradient<L + 1>(0) + first, kNext,
                                                                      output<L>(0) + first_column<L>(warp), kStride);
      }
      gradients<L + 1>(warp, sums);
    }
  }
  // Of a warp's part in layer L's gradients: the first unit's first row, and the first column.
  template <int L>
  __device__ __forceinline__ static int first_row(int warp) {
    constexpr int kDown = Net::warps_down(L);
    return 16 * (warp % kDown);
  }
  template <int L>
  __device__ __forceinline__ static int first_column(int warp) {
    constexpr int kShare = Net::share(L), kDown = Net::warps_down(L);
    constexpr bool kHalved = Net::halved(L);
    return kHalved ? warp / kDown * kShare : 0;
  }
};

}  // namespace hotloop
