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

template <class T, int kN, int kTiles>
struct ChainForwardOp {
  using Block = ChainBlock<T, kN, kTiles>;
  static constexpr int kThreads = Block::kThreads, kMinBlocks = 1, kBytes = Block::Places::kShared;
  ChainForward forward;

  __device__ __forceinline__ void operator()(std::byte* memory) const {
    Block block(forward.pass, memory);
    block.run([&](std::int64_t) { block.bring_forward(); }, [&] { pass_tiles(block); });
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

template <class T, int kN, int kTiles>
struct ChainBackwardOp {
  using Block = ChainBlock<T, kN, kTiles>;
  static constexpr int kThreads = Block::kThreads, kMinBlocks = 1, kBytes = Block::Places::kShared;
  ChainBackward backward;

  __device__ __forceinline__ void operator()(std::byte* memory) const {
    Block block(backward.pass, memory);
    block.run([&](std::int64_t) { block.bring_backward(); }, [&] { pass_tiles(block); });
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
      block.template backward<false>(tile);
    });
    wait_bulk_stores();
  }
};

constexpr int kFewStages = 3;  // fewer would leave weights on their way too late

// A block a multiprocessor, as many for each network.
unsigned chain_blocks(const ChainPass& pass, int at_once) {
  const std::int64_t tiles = chain_tiles(pass.rows), rounds = (tiles + at_once - 1) / at_once;
  const std::int64_t most = std::max(1, pass.multiprocessors / pass.nets);
  return static_cast<unsigned>(std::min(rounds, most) * pass.nets);
}

// f(number, width, tiles that a block passes at once): two, where they leave room for a ring of weights.
template <class F>
void with_shape(Number16 number, const ChainPass& pass, F f) {
  const auto with_tiles = [&]<class T, int kN>(T number_type, std::integral_constant<int, kN> width) {
    if (ChainPlaces<kN, 2>::stages_of(pass) >= kFewStages)
      f(number_type, width, std::integral_constant<int, 2>{});
    else
      f(number_type, width, std::integral_constant<int, 1>{});
  };
  const auto with_width = [&]<class T>(T number_type) {
    if (pass.width == 128)
      with_tiles(number_type, std::integral_constant<int, 128>{});
    else
      with_tiles(number_type, std::integral_constant<int, 256>{});
  };
  if (number == Number16::fp16)
    with_width(Fp16Bits{});
  else
    with_width(Bf16Bits{});
}

}  // namespace

void chain_forward(const Exec& exec, Number16 number, const ChainForward& forward) {
  with_shape(number, forward.pass,
             [&]<class T, int kN, int kTiles>(T, std::integral_constant<int, kN>, std::integral_constant<int, kTiles>) {
               launch_blocks(exec, dim3(chain_blocks(forward.pass, kTiles)), ChainForwardOp<T, kN, kTiles>{forward});
             });
}

void chain_backward(const Exec& exec, Number16 number, const ChainBackward& backward) {
  with_shape(number, backward.pass,
             [&]<class T, int kN, int kTiles>(T, std::integral_constant<int, kN>, std::integral_constant<int, kTiles>) {
               launch_blocks(exec, dim3(chain_blocks(backward.pass, kTiles)), ChainBackwardOp<T, kN, kTiles>{backward});
             });
}

int chain_slots(const ChainPass& pass) {
  int slots = 0;
  with_shape(Number16::bf16, pass,
             [&]<class T, int kN, int kTiles>(T, std::integral_constant<int, kN>, std::integral_constant<int, kTiles>) {
               slots = static_cast<int>(chain_blocks(pass, kTiles)) / pass.nets * kTiles;
             });
  return slots;
}

void plan_own_gradients(ChainPass& pass) {
  const auto fits = [&] {
    bool two = false;
    with_shape(Number16::bf16, pass,
               [&]<class T, int kN, int kTiles>(T, std::integral_constant<int, kN>,
                                                std::integral_constant<int, kTiles>) { two = kTiles == 2; });
    return two;
  };
  pass.own_head = pass.own_first = false;
  if (!fits() || outputs_of(pass) > kOwnOutputs) return;
  pass.own_head = true;
  if (!fits()) pass.own_head = false;
  if (!pass.own_head || pass.inputs > kOwnInputs) return;
  pass.own_first = true;
  if (!fits()) pass.own_first = false;
}

void chain_train(const Exec& exec, Number16 number, const ChainTrain& train) {
  with_shape(number, train.pass,
             [&]<class T, int kN, int kTiles>(T, std::integral_constant<int, kN>, std::integral_constant<int, kTiles>) {
               launch_blocks(exec, dim3(chain_blocks(train.pass, kTiles)), ChainTrainOp<T, kN, kTiles>{train});
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
             [&]<class T, int kN, int kTiles>(T, std::integral_constant<int, kN>, std::integral_constant<int, kTiles>) {
               launch_blocks(exec, grid, ChainGradientOp<T, kN>{gradient});
             });
}

#else  // no CUDA: never called, as there is no such device

void chain_forward(const Exec&, Number16, const ChainForward&) { throw std::logic_error("chain: without CUDA"); }
void chain_backward(const Exec&, Number16, const ChainBackward&) { throw std::logic_error("chain: without CUDA"); }
int chain_slots(const ChainPass&) { throw std::logic_error("chain: without CUDA"); }
void plan_own_gradients(ChainPass&) { throw std::logic_error("chain: without CUDA"); }
void chain_train(const Exec&, Number16, const ChainTrain&) { throw std::logic_error("chain: without CUDA"); }
void chain_gradient(const Exec&, Number16, const ChainPass&, const void*, float*, std::int64_t) {
  throw std::logic_error("chain: without CUDA");
}

#endif

}  // namespace hotloop
