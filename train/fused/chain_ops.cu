#include "train/fused/chain_ops.h"

#include <stdexcept>

#include "sim/core/launch.h"

#ifdef __CUDACC__
#include "train/fused/chain_gradient.h"
#include "train/fused/chain_launch.h"
#include "train/fused/chain_train.h"
#endif

namespace hotloop {

#ifdef __CUDACC__
namespace {

template <class T, int kN, bool kRing>
struct ChainForwardOp {
  using Block = ChainBlock<T, kN, kRing>;
  static constexpr int kThreads = Block::kThreads, kMinBlocks = 1, kBytes = Block::Places::kShared;
  ChainForward forward;

  __device__ __forceinline__ void operator()(std::byte* memory) const {
    Block block(forward.pass, forward.x, memory);
    block.run([&](int) { block.bring_forward(); },
              [&] {
                if (forward.x != nullptr)
                  pass_tiles<true>(block);
                else
                  pass_tiles<false>(block);
              });
  }

 private:
  template <bool kKeep>
  __device__ __forceinline__ void pass_tiles(Block& block) const {
    const ChainPass& pass = forward.pass;
    block.each_tile([&](int tile) {
      typename Block::Held held;
      block.template forward<kKeep>(held, tile, forward.inputs);
      const int actor = block.net().actor, outputs = block.outputs();
      block.heads(held, [&](int row, int column, float v) {
        const std::int64_t at = static_cast<std::int64_t>(tile) * kTileRows + row;
        if (at >= pass.rows || column >= outputs) return;
        if (column >= actor && forward.value != nullptr) forward.value[at] = v;
        if (column < actor && forward.head != nullptr) forward.head[at * actor + column] = v;
      });
    });
  }
};

template <class T, int kN, bool kRing>
struct ChainBackwardOp {
  using Block = ChainBlock<T, kN, kRing>;
  static constexpr int kThreads = Block::kThreads, kMinBlocks = 1, kBytes = Block::Places::kShared;
  ChainBackward backward;

  __device__ __forceinline__ void operator()(std::byte* memory) const {
    Block block(backward.pass, nullptr, memory);
    block.run([&](int) { block.bring_backward(); }, [&] { pass_tiles(block); });
  }

 private:
  __device__ __forceinline__ void pass_tiles(Block& block) const {
    block.each_tile([&](int tile) {
      const int actor = block.net().actor, row = Block::index();
      const std::int64_t at = static_cast<std::int64_t>(tile) * kTileRows + row;
      typename Block::Held held;
      block.load(held, block.net().layer[block.net().layers - 2].y, tile);
      for (int c = 0; row < kTileRows && c < block.outputs(); ++c) {
        float d = 0.0f;
        if (at < backward.pass.rows)
          d = backward.scale * (c < actor ? backward.d_head[at * actor + c] : backward.d_value[at]);
        block.put_gradient(row, c, d);
      }
      block.template backward<false>(held, tile);
    });
  }
};

// f(number, width, whether weights come through a ring).
template <class F>
void with_shape(Number16 number, const ChainPass& pass, F f) {
  const auto with_width = [&]<class T>(T number_type) {
    if (pass.ring)
      f(number_type, std::integral_constant<int, 256>{}, std::true_type{});
    else if (pass.width == 128)
      f(number_type, std::integral_constant<int, 128>{}, std::false_type{});
    else
      f(number_type, std::integral_constant<int, 256>{}, std::false_type{});
  };
  if (number == Number16::fp16)
    with_width(Fp16Bits{});
  else
    with_width(Bf16Bits{});
}

}  // namespace

void chain_forward(const Exec& exec, Number16 number, const ChainForward& forward) {
  with_shape(number, forward.pass,
             [&]<class T, int kN, bool kRing>(T, std::integral_constant<int, kN>, std::bool_constant<kRing>) {
               launch_chain<ChainForwardOp<T, kN, kRing>>(exec, forward);
             });
}

void chain_backward(const Exec& exec, Number16 number, const ChainBackward& backward) {
  with_shape(number, backward.pass,
             [&]<class T, int kN, bool kRing>(T, std::integral_constant<int, kN>, std::bool_constant<kRing>) {
               launch_chain<ChainBackwardOp<T, kN, kRing>>(exec, backward);
             });
}

void chain_train(const Exec& exec, Number16 number, const ChainTrain& train) {
  with_shape(number, train.pass,
             [&]<class T, int kN, bool kRing>(T, std::integral_constant<int, kN>, std::bool_constant<kRing>) {
               launch_chain<ChainTrainOp<T, kN, kRing>>(exec, train);
             });
}

void chain_gradient(const Exec& exec, Number16 number, const ChainPass& pass, const void* x, float* partials,
                    std::int64_t partial_stride) {
  ChainGradient gradient{};
  gradient.tiles = chain_tiles(pass.rows);
  gradient.splits = layer_splits(pass.rows);
  gradient.partials = partials, gradient.partial_stride = partial_stride;
  for (int n = 0; n < pass.nets; ++n)
    for (int l = pass.net[n].layers - 1; l >= 0; --l) {
      if ((l == 0 && pass.own_first) || (l == pass.net[n].layers - 1 && pass.own_head)) continue;
      add_gradient_items(gradient, pass, n, l, x);
    }
  if (gradient.count == 0) return;
  const dim3 grid(static_cast<unsigned>(gradient.count), static_cast<unsigned>(gradient.splits));
  with_shape(number, pass,
             [&]<class T, int kN, bool kRing>(T, std::integral_constant<int, kN>, std::bool_constant<kRing>) {
               launch_blocks(exec, grid, ChainGradientOp<T, kN>{gradient});
             });
}

#else  // no CUDA: never called, as there is no such device

void chain_forward(const Exec&, Number16, const ChainForward&) { throw std::logic_error("chain: without CUDA"); }
void chain_backward(const Exec&, Number16, const ChainBackward&) { throw std::logic_error("chain: without CUDA"); }
void chain_train(const Exec&, Number16, const ChainTrain&) { throw std::logic_error("chain: without CUDA"); }
void chain_gradient(const Exec&, Number16, const ChainPass&, const void*, float*, std::int64_t) {
  throw std::logic_error("chain: without CUDA");
}

#endif

}  // namespace hotloop
