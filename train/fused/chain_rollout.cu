#include <stdexcept>

#include "sim/core/batch_impl.h"
#include "sim/envs/env_list.h"
#include "train/fused/chain_ops.h"

#ifdef __CUDACC__
#include "train/fused/chain_launch.h"
#include "train/sample_op.h"
#endif

namespace hotloop {
namespace {

// f(environment's type) for the one at `place` of the list, if its worlds are a thread each and take no masks.
template <class F, class... E>
bool with_env(int place, EnvTypes<E...>, const F& f) {
  int i = 0;
  const auto ask = [&]<class Env>(std::type_identity<Env> type) {
    if (i++ != place) return false;
    if constexpr (ThreadEnv<Env> && !HasActionMask<Env>) {
      f(type);
      return true;
    }
    return false;
  };
  return (ask(std::type_identity<E>{}) || ...);
}

}  // namespace

bool chain_rolls_out(const ChainPass& pass, const RolloutWork& work) {
  return !pass.ring && with_env(work.built_in, BuiltInEnvs{}, [](auto) {});
}

#ifdef __CUDACC__
namespace {

// Tiles of 64 worlds: their warpgroup passes the observations, then a thread for each world draws its action and steps
// it.
template <class T, int kN, class Env>
struct ChainRolloutOp {
  using Block = ChainBlock<T, kN, false>;
  static constexpr int kThreads = Block::kThreads, kMinBlocks = 1, kBytes = Block::Places::kShared;
  ChainRollout rollout;

  __device__ __forceinline__ void operator()(std::byte* memory) const {
    Block block(rollout.pass, nullptr, memory);
    block.each_tile([&](int tile) {
      for (std::int64_t t = 0; t < rollout.work.num_steps; ++t) step(block, tile, t);
    });
  }

 private:
  __device__ __forceinline__ void step(Block& block, int tile, std::int64_t t) const {
    const RolloutWork& r = rollout.work;
    const int stride = rollout.pass.score_stride;
    typename Block::Held held;
    block.template forward<false>(held, tile, {r.observation + t * r.num_envs * r.obs_dim, nullptr, r.normalizer});
    block.heads(held, [&](int row, int column, float v) {
      if (column < block.outputs()) block.scores()[row * stride + column] = v;
    });
    block.tile_barrier();
    const std::int64_t w = static_cast<std::int64_t>(tile) * kTileRows + Block::index();
    if (Block::index() < kTileRows && w < r.num_envs) {
      const float* const row = block.scores() + Block::index() * stride;
      SampleOp sample{r.head, r.key, false, sample_at(r, t)};
      sample.key.t = t;
      sample.draw(w, row);
      if (block.outputs() > block.net().actor) r.value[t * r.num_envs + w] = row[block.net().actor];
      ThreadOps<Env> ops;
      static_cast<BookView&>(ops.view) = r.book;
      ops.view.params = {}, ops.view.words = r.words;
      ops.step(w, step_at(r, t));
    }
    block.tile_barrier();
  }
};

}  // namespace

void chain_rollout(const Exec& exec, Number16 number, const ChainRollout& rollout) {
  with_env(rollout.work.built_in, BuiltInEnvs{}, [&]<class Env>(std::type_identity<Env>) {
    const auto with_number = [&]<class T>(T) {
      if (rollout.pass.width == 128)
        launch_chain<ChainRolloutOp<T, 128, Env>>(exec, rollout);
      else
        launch_chain<ChainRolloutOp<T, 256, Env>>(exec, rollout);
    };
    if (number == Number16::fp16)
      with_number(Fp16Bits{});
    else
      with_number(Bf16Bits{});
  });
}

#else  // no CUDA: never called, as there is no such device

void chain_rollout(const Exec&, Number16, const ChainRollout&) { throw std::logic_error("chain: without CUDA"); }

#endif

}  // namespace hotloop
