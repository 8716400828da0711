// Gradients of a chain's weights: products of the layers' gradients and inputs over rows, whose panels bulk copies
// bring as the chain left them.
#pragma once
#include "train/fused/chain_pass.h"

namespace hotloop {

// A block's part of one layer's weights: the gradients of two panels of outputs by up to kN inputs.
struct GradientItem {
  LayerSizes size;
  const std::byte *d, *x;  // first panels of the first tile
  int d_panels, x_panels;  // of this item
  int d_stride, x_stride;  // panels of a tile
  int first_out, first_in;
};
struct ChainGradient {
  static constexpr int kMost = 32;
  std::int64_t tiles;
  int splits, count;
  float* partials;
  std::int64_t partial_stride;
  GradientItem item[kMost];
};

inline void add_gradient_items(ChainGradient& to, const ChainPass& pass, int n, int l, const void* x) {
  const ChainNet& net = pass.net[n];
  const ChainLayer& layer = net.layer[l];
  const int hidden = panels_of(pass.width), most = hidden;
  const int d_panels = l + 1 == net.layers ? 1 : hidden, x_panels = l == 0 ? panels_of(pass.inputs) : hidden;
  const auto* const d = static_cast<const std::byte*>(layer.d);
  const auto* const in = static_cast<const std::byte*>(l == 0 ? x : net.layer[l - 1].y);
  for (int o = 0; o < d_panels && 64 * o < layer.size.out; o += 2)
    for (int i = 0; i < x_panels && 64 * i < layer.size.in; i += most) {
      if (to.count == ChainGradient::kMost) throw std::logic_error("chain: more gradients than planned");
      to.item[to.count++] = {layer.size,
                             d + o * kPanelBytes,
                             in + i * kPanelBytes,
                             std::min(2, d_panels - o),
                             std::min(most, x_panels - i),
                             d_panels,
                             x_panels,
                             64 * o,
                             64 * i};
    }
}

template <class T, int kN>
struct ChainGradientOp {
  static constexpr int kPanels = kN / kPanelColumns;
  static constexpr int kStageBytes = (2 + kPanels) * kPanelBytes, kStages = kPanels == 4 ? 4 : 6;
  static constexpr int kOnesBytes = 512, kThreads = 2 * 128 + 32, kMinBlocks = 1;
  static constexpr int kBytes = 128 + kStages * kStageBytes + kOnesBytes + 256;
  ChainGradient gradient;

  __device__ __forceinline__ void operator()(std::byte* memory) const {
    const unsigned base = (shared_address(memory) + 127) / 128 * 128, ones = base + kStages * kStageBytes;
    StageRing ring{base, ones + kOnesBytes, kStageBytes, kStages};
    if (threadIdx.x == 0) ring.init(8);
    for (int i = static_cast<int>(threadIdx.x); i < kOnesBytes / 4; i += kThreads)
      asm volatile("st.shared.b32 [%0], %1;" ::"r"(ones + 4 * i), "r"(T::kOnes) : "memory");
    show_to_engines();
    __syncthreads();
    const GradientItem& item = gradient.item[blockIdx.x];
    // every splits-th tile from the last one on: what the chain wrote last is still in the cache
    const std::int64_t last = gradient.tiles - 1 - static_cast<std::int64_t>(blockIdx.y);
    const int count = last < 0 ? 0 : static_cast<int>(last / gradient.splits) + 1;
    if (threadIdx.x >= 256) {
      if (threadIdx.x % 32 == 0) bring(ring, item, last, count);
    } else {
      multiply(ring, item, ones, count);
    }
  }

 private:
  __device__ __forceinline__ void bring(StageRing& ring, const GradientItem& item, std::int64_t tile, int count) const {
    const int d_bytes = item.d_panels * kPanelBytes, x_bytes = item.x_panels * kPanelBytes;
    for (int i = 0; i < count; ++i, tile -= gradient.splits)
      ring.fill(d_bytes + x_bytes, [&](unsigned to, unsigned full) {
        bulk_load(to, item.d + tile * item.d_stride * kPanelBytes, d_bytes, full);
        bulk_load(to + 2 * kPanelBytes, item.x + tile * item.x_stride * kPanelBytes, x_bytes, full);
      });
  }

  __device__ __forceinline__ void multiply(StageRing& ring, const GradientItem& item, unsigned ones, int count) const {
    const int group = static_cast<int>(threadIdx.x) / 128;
    float sums[kN / 2], biases[8];
#pragma unroll 1
    for (int n = 0; n < count; ++n)
      ring.use([&](unsigned from) {
        const unsigned d = from + group * kPanelBytes, x = from + 2 * kPanelBytes;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int rows = number_at(kTileRows, 16 * k, 0);
          const std::uint64_t left = operand_at<true>(d + rows, kTileRows);
          group_product<T, kN, true, true>(sums, left, operand_at<true>(x + rows, kTileRows), n > 0 || k > 0);
          group_product<T, 16, true, false>(biases, left, operand_at<false>(ones, 16), n > 0 || k > 0);
        }
      });
    ring.drain();
    const bool any = count > 0;  // else nothing was multiplied
    if (group >= item.d_panels) return;
    const int lane = threadIdx.x % 32;
    const int row = static_cast<int>(threadIdx.x) % 128 / 32 * 16 + lane / 4, column = item.first_in + lane % 4 * 2;
    float* const to = gradient.partials + blockIdx.y * gradient.partial_stride;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int o = item.first_out + 64 * group + row + 8 * half;
      if (o >= item.size.out) continue;
      float* const weights = to + item.size.weight_at(o);
#pragma unroll
      for (int j = 0; j < kN / 8; ++j) {
        const int i = column + 8 * j;
        if (8 * j >= kPanelColumns * item.x_panels) continue;
        if (i < item.size.in) weights[i] = any ? sums[4 * j + 2 * half] : 0.0f;
        if (i + 1 < item.size.in) weights[i + 1] = any ? sums[4 * j + 2 * half + 1] : 0.0f;
      }
      if (item.first_in == 0 && lane % 4 == 0) to[item.size.bias_at(o)] = any ? biases[2 * half] : 0.0f;
    }
  }
};

}  // namespace hotloop
