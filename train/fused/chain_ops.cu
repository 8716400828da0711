#include "train/fused/chain_ops.h"

#include <stdexcept>

#include "sim/core/launch.h"

#ifdef __CUDACC__
#include "train/fused/chain_gradient.h"
#include "train/fused/chain_pass.h"
#include "train/fused/chain_train.h"
#endif

namespace hotloop {

#ifdef __CUDACC__
namespace {

template <class T, int kN, int kGroups>
struct ChainForwardOp {
  using Block = ChainBlock<T, kN, kGroups>;
  static constexpr int kThreads = Block::kThreads, kMinBlocks = 1, kBytes = Block::Places::kShared;
  ChainForward forward;

  __device__ __forceinline__ void operator()(std::byte* memory) const {
    Block block(forward.pass, memory);
    if (Block::brings()) {
      Block::give_registers();
      if (threadIdx.x == 128 * kGroups) block.each_tile([&](std::int64_t) { block.bring_forward(); });
    } else {
      Block::take_registers();
      pass_tiles(block);
    }
  }

 private:
  __device__ __forceinline__ void pass_tiles(Block& block) const {
    const bool keep = forward.x != nullptr;
    block.each_tile([&](std::int64_t tile) {
      block.read_rows(forward.observation, tile);
      if (keep && blockIdx.x % forward.pass.nets == 0)
        block.store(forward.x, tile, panels_of(forward.pass.inputs), block.input_tile());
      block.forward(tile, keep);
      const int actor = block.net().actor, outputs = block.outputs();
      block.heads([&](int row, int column, float v) {
        const std::int64_t at = tile * kTileRows + row;
        if (at >= forward.pass.rows || column >= outputs) return;
        if (column >= actor && forward.value != nullptr) forward.value[at] = v;
        if (column < actor && forward.head != nullptr) forward.head[at * actor + column] = v;
      });
    });
    if (keep) wait_bulk_stores();
  }
};

template <class T, int kN, int kGroups>
struct ChainBackwardOp {
  using Block = ChainBlock<T, kN, kGroups>;
  static constexpr int kThreads = Block::kThreads, kMinBlocks = 1, kBytes = Block::Places::kShared;
  ChainBackward backward;

  __device__ __forceinline__ void operator()(std::byte* memory) const {
    Block block(backward.pass, memory);
    if (Block::brings()) {
      Block::give_registers();
      if (threadIdx.x == 128 * kGroups) block.each_tile([&](std::int64_t) { block.bring_backward(); });
    } else {
      Block::take_registers();
      pass_tiles(block);
    }
  }

 private:
  __device__ __forceinline__ void pass_tiles(Block& block) const {
    block.each_tile([&](std::int64_t tile) {
      const int actor = block.net().actor;
      block.read_gradients([&](int row, int column) {
        const std::int64_t at = tile * kTileRows + row;
        if (at >= backward.pass.rows) return 0.0f;
        return backward.scale * (column < actor ? backward.d_head[at * actor + column] : backward.d_value[at]);
      });
      block.load_layers(tile);
      block.backward(tile);
    });
    wait_bulk_stores();
  }
};

// A block a multiprocessor, as many for each network.
unsigned chain_blocks(const ChainPass& pass, int groups) {
  const std::int64_t tiles = chain_tiles(pass.rows), rounds = (tiles + groups - 1) / groups;
  const std::int64_t most = std::max(1, pass.multiprocessors / pass.nets);
  return static_cast<unsigned>(std::min(rounds, most) * pass.nets);
}

// f(number, width, warpgroups of a block): two, where their tiles leave room for a ring of weights.
template <class F>
void with_shape(Number16 number, const ChainPass& pass, F f) {
  int layers = 0;
  for (int n = 0; n < pass.nets; ++n) layers = std::max(layers, pass.net[n].layers - 1);
  const auto with_groups = [&]<class T, int kN>(T number_type, std::integral_constant<int, kN> width) {
    if (ChainPlaces<kN>::stages_of(2, layers, panels_of(pass.inputs), pass.score_stride) >= 3)
      f(number_type, width, std::integral_constant<int, 2>{});
    else
      f(number_type, width, std::integral_constant<int, 1>{});
  };
  const auto with_width = [&]<class T>(T number_type) {
    if (pass.width == 64)
      with_groups(number_type, std::integral_constant<int, 64>{});
    else if (pass.width == 128)
      with_groups(number_type, std::integral_constant<int, 128>{});
    else
      with_groups(number_type, std::integral_constant<int, 256>{});
  };
  if (number == Number16::fp16)
    with_width(Fp16Bits{});
  else
    with_width(Bf16Bits{});
}

}  // namespace

void chain_forward(const Exec& exec, Number16 number, const ChainForward& forward) {
  with_shape(
      number, forward.pass,
      [&]<class T, int kN, int kGroups>(T, std::integral_constant<int, kN>, std::integral_constant<int, kGroups>) {
        launch_blocks(exec, dim3(chain_blocks(forward.pass, kGroups)), ChainForwardOp<T, kN, kGroups>{forward});
      });
}

void chain_backward(const Exec& exec, Number16 number, const ChainBackward& backward) {
  with_shape(
      number, backward.pass,
      [&]<class T, int kN, int kGroups>(T, std::integral_constant<int, kN>, std::integral_constant<int, kGroups>) {
        launch_blocks(exec, dim3(chain_blocks(backward.pass, kGroups)), ChainBackwardOp<T, kN, kGroups>{backward});
      });
}

void chain_train(const Exec& exec, Number16 number, const ChainTrain& train) {
  with_shape(
      number, train.pass,
      [&]<class T, int kN, int kGroups>(T, std::integral_constant<int, kN>, std::integral_constant<int, kGroups>) {
        launch_blocks(exec, dim3(chain_blocks(train.pass, kGroups)), ChainTrainOp<T, kN, kGroups>{train});
      });
}

void chain_gradient(const Exec& exec, Number16 number, const ChainPass& pass, const void* x, float* partials,
                    std::int64_t partial_stride) {
  ChainGradient gradient{};
  gradient.tiles = chain_tiles(pass.rows);
  gradient.splits = layer_splits(pass.rows);
  gradient.partials = partials, gradient.partial_stride = partial_stride;
  for (int n = 0; n < pass.nets; ++n)
    for (int l = pass.net[n].layers - 1; l >= 0; --l) add_gradient_items(gradient, pass, n, l, x);
  const dim3 grid(static_cast<unsigned>(gradient.count), static_cast<unsigned>(gradient.splits));
  with_shape(
      number, pass,
      [&]<class T, int kN, int kGroups>(T, std::integral_constant<int, kN>, std::integral_constant<int, kGroups>) {
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
