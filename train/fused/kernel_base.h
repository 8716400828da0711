// What all parts of the fused kernel share: the specialisation S that the host writes as text (see specialize.cpp), the
// block's place, shared memory, and the barrier of a member's blocks. A launch trains one or many members of a
// population, S::kBlocks blocks each, which know nothing of each other.
//
// S has: Env; Actor, Critic (NetShape; the same type where both have equal sizes); kShared: one network with both
// heads; kActivation; kHead, kHeadDim, kActionDim, kStateStd; nvec(), low(), high(); kParameters, kLogStd (offset in
// the flat buffer, -1: none); outputs(net), layer_weight(net, l), layer_bias(net, l), head_weight(net, output),
// head_bias(net, output): offsets in the flat buffer; kEvenOffsets; kNormalizeObservation, kNormalizeReward;
// kWideBarriers: groups wait for each other too (compute-sanitizer's racecheck loses track of the block's barrier where
// groups have their own: it reports hazards across __syncthreads); kBlocks, kTileBlocks (those that pass rows),
// kBlockEnvs, kGroups, kRowTiles, kSlice; kFastArrays (of OwnState, in shared memory); kRows (of a rollout),
// kMinibatchRows, kEpochs, kEpochMinibatches (of an epoch); kPopulation: there is more than one member.
#pragma once
#include "train/distribution.h"
#include "train/fused/args.h"
#include "train/fused/net_pass.h"

namespace hotloop {

extern __shared__ uint4 fused_memory[];

__device__ __forceinline__ void barrier_arrive(std::uint32_t* counter) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}
__device__ __forceinline__ void barrier_wait(const std::uint32_t* counter, std::uint32_t target) {
  std::uint32_t seen;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
  } while (static_cast<std::int32_t>(seen - target) < 0);
}

// Lanes add up; every lane gets the same sum.
template <class T>
__device__ __forceinline__ T warp_sum(T v) {
#pragma unroll
  for (int half = 16; half > 0; half /= 2) v += __shfl_xor_sync(0xffffffffu, v, half);
  return v;
}

inline constexpr int kLossTerms = 6, kLossStride = 8;  // floats of a row of partial sums

template <class S>
struct Fused {
  using Actor = typename S::Actor;
  using Critic = typename S::Critic;
  using Env = typename S::Env;
  using T = typename Actor::Number;
  using Order = PermutationOf<S::kRows>;
  static constexpr bool kSame = std::is_same_v<Actor, Critic>;
  static constexpr int kNets = S::kShared ? 1 : 2;
  static constexpr int kWarpRows = 16 * S::kRowTiles, kGroupRows = 4 * kWarpRows;
  static constexpr int kParts = S::kGroups / kNets;  // groups that share a network's rows
  static constexpr int kTileRows = kParts * kGroupRows;
  static constexpr int kThreads = S::kGroups * kGroupThreads, kWarps = kThreads / 32;
  static constexpr int kGroupWorlds = S::kBlockEnvs > 16 * S::kGroups ? 32 : 16;  // that a group steps at a time
  static constexpr int kPartials = kParts * S::kTileBlocks;                       // partial gradients of a parameter
  static constexpr int kObsDim = Env::kObsDim, kActionDim = Env::kActionDim;
  static constexpr int kRecord = round_up(kObsDim + kActionDim + 3, 4);
  static constexpr int kLogProbAt = kObsDim + kActionDim, kValueAt = kLogProbAt + 1, kAdvantageAt = kLogProbAt + 2;
  // sums that lanes gather: the head's biases, log standard deviations, loss terms
  static constexpr int kMostOutputs = Actor::kOutputs > Critic::kOutputs ? Actor::kOutputs : Critic::kOutputs;
  static constexpr int kLogStds = S::kLogStd >= 0 ? kActionDim : 0;
  static constexpr int kLaneSums = kMostOutputs + kLogStds + kLossTerms;
  static constexpr int kMinibatches = S::kEpochs * S::kEpochMinibatches;  // of an iteration
  // One block, and of each network one group: whoever gathers a gradient steps the parameter.
  static constexpr bool kAlone = S::kBlocks == 1 && kParts == 1;
  static constexpr int kMostSums = Actor::kSums > Critic::kSums ? Actor::kSums : Critic::kSums;

  struct Shared {
    Control control;
    UpdateSpec update;
    double warp_sums[kWarps][8];
    LossTerms loss;        // sums of this minibatch
    double correction[2];  // 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t): Adam's
    float4 team_sums[kThreads];
    float group_sums[S::kGroups][4][kLaneSums];
    PhiloxBlock draws[S::kGroups][kGroupWorlds];  // of the next step's actions
    unsigned long long phases[static_cast<int>(FusedPhase::count)];
    float log_std[kActionDim];
    float observation_mean[kObsDim], observation_scale[kObsDim];
    double return_state[3];
    float reward_scale;
    float step_size, gradient_scale, inverse_sqrt_correction2;
    int apply;
    Order orders[S::kEpochs];        // of the iteration
    Order order;                     // of this epoch
    float2 advantage[kMinibatches];  // mean, 1 / (deviation + 1e-8) of each minibatch
  };

  static constexpr int bytes(int numbers) { return round_up(numbers * static_cast<int>(sizeof(T)), 16); }
  static constexpr int kActorBytes = bytes(Actor::kWeights) + round_up(4 * Actor::kBiases, 16);
  static constexpr int kCriticBytes = S::kShared ? 0 : bytes(Critic::kWeights) + round_up(4 * Critic::kBiases, 16);
  static constexpr int group_bytes() {
    const int actor = bytes(Actor::activations(kGroupRows)) + round_up(4 * kGroupRows * Actor::kHeadColumns, 16);
    const int critic = bytes(Critic::activations(kGroupRows)) + round_up(4 * kGroupRows * Critic::kHeadColumns, 16);
    return actor > critic ? actor : critic;
  }
  static constexpr int kGroupBytes = group_bytes();
  static constexpr int kOwnAt =
      kActorBytes + kCriticBytes + S::kGroups * kGroupBytes + round_up(static_cast<int>(sizeof(Shared)), 16);
  static constexpr int kSharedBytes = kOwnAt + 4 * S::kFastArrays * kMostSums * kThreads;

  template <class Net>
  using Pass = NetPass<Net, S::kActivation, kGroupRows, S::kWideBarriers>;

  const FusedArgs& args;
  Shared& shared;
  char* memory;
  int member, block, warp, lane, group, group_warp;
  std::int64_t shift;              // from the first member's memory to this one's [bytes]
  std::uint64_t seed;              // of the member
  std::uint32_t barriers;          // passed so far by the member's blocks
  std::uint32_t updates;           // minibatches that they have exchanged norms for
  Moments returns;                 // of this thread's worlds in this rollout
  MetricsSlot* written = nullptr;  // not announced yet
  long long last_mark = 0;

  __device__ __forceinline__ Fused(const FusedArgs& a)
      : args(a),
        shared(*reinterpret_cast<Shared*>(reinterpret_cast<char*>(fused_memory) + kActorBytes + kCriticBytes +
                                          S::kGroups * kGroupBytes)),
        memory(reinterpret_cast<char*>(fused_memory)),
        member(args.first_member + static_cast<int>(blockIdx.x) / S::kBlocks),
        block(static_cast<int>(blockIdx.x) % S::kBlocks),
        warp(__shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x / 32), 0)),
        lane(threadIdx.x % 32),
        group(warp / 4),
        group_warp(warp % 4),
        shift(member * args.member_bytes),
        seed(at(args.member)->seed),
        barriers(at(args.tally)->barriers),
        updates(at(args.tally)->updates) {}

  // The member's own of what args points to.
  template <class P>
  __device__ __forceinline__ P* at(P* first) const {
    if constexpr (S::kPopulation)
      return (P*)((const char*)first + shift);
    else
      return const_cast<P*>(first);
  }

  // The phase that ends here; the launch's first block books its clocks.
  __device__ __forceinline__ void mark(FusedPhase phase) {
    if (args.phases == nullptr || blockIdx.x != 0 || threadIdx.x != 0) return;
    const long long now = clock64();
    shared.phases[static_cast<int>(phase)] += static_cast<unsigned long long>(now - last_mark);
    last_mark = now;
  }

  // The member's blocks wait for each other; what they wrote before to global memory the others read after (not through
  // L1).
  __device__ __forceinline__ void grid_barrier() {
    block_barrier();
    if constexpr (S::kBlocks > 1) {
      ++barriers;
      if (threadIdx.x == 0) {
        barrier_arrive(&at(args.tally)->barrier);
        barrier_wait(&at(args.tally)->barrier, barriers * S::kBlocks);
      }
      block_barrier();
    }
  }

  // The network `net` (0: actor or shared, 1: critic) over the activations of this thread's group.
  template <class Net>
  __device__ __forceinline__ Pass<Net> pass(int net) const {
    constexpr int kWeightBytes = bytes(Net::kWeights), kActivationBytes = bytes(Net::activations(kGroupRows));
    char* image = memory + (net == 0 ? 0 : kActorBytes);
    char* activations = memory + kActorBytes + kCriticBytes + group * kGroupBytes;
    return {reinterpret_cast<const T*>(image), reinterpret_cast<const float*>(image + kWeightBytes),
            reinterpret_cast<T*>(activations), reinterpret_cast<float*>(activations + kActivationBytes)};
  }
  // f(pass) for the network that reads values.
  template <class F>
  __device__ __forceinline__ void with_critic(F f) const {
    if constexpr (S::kShared)
      f(pass<Actor>(0));
    else
      f(pass<Critic>(1));
  }
  static constexpr int kValueColumn = S::kShared ? S::kHeadDim : 0;

  __device__ __forceinline__ static HeadView head_view() {
    return {S::kHead, S::kActionDim, S::kHeadDim, S::kStateStd, S::nvec(), S::low(), S::high()};
  }

  // An observation as a row of the network's input.
  template <class Net>
  __device__ __forceinline__ void put_input(T* row, const float (&x)[kObsDim]) const {
    constexpr int kUsed = round_up(Net::kSplit ? 2 * kObsDim : kObsDim, 2);
    float v[kUsed] = {};
#pragma unroll
    for (int k = 0; k < kObsDim; ++k) {
      v[k] = x[k];
      if constexpr (S::kNormalizeObservation)
        v[k] = clamp((x[k] - shared.observation_mean[k]) * shared.observation_scale[k], -args.clip_observation,
                     args.clip_observation);
      if constexpr (Net::kSplit)
        v[kObsDim + k] = v[k] - T::unpack(static_cast<std::uint16_t>(T::pack(v[k], 0.0f)));  // what the first part lost
    }
#pragma unroll
    for (int k = 0; k < kUsed; k += 2) put(row + k, v[k], v[k + 1]);
  }

  // ---- parts of an iteration
  __device__ void load_parameters();
  __device__ void clear_activations();
  __device__ void order_rows();
  __device__ void rollout();
  __device__ void values();
  __device__ void publish_returns();
  __device__ void scale_rewards();
  __device__ void advantages();
  __device__ void advantage_sums();
  __device__ void advantage_scales();
  __device__ void collect_episodes();
  __device__ void observation_sums();
  __device__ void load_normalizer();
  __device__ void merge_observations();
  __device__ __forceinline__ void minibatch(int index);
  __device__ __forceinline__ void iteration();
  __device__ __forceinline__ void finish(bool last);
  __device__ void announce(std::int64_t sequence);
  __device__ void run();

  // Writes one or two neighbouring partial gradients.
  __device__ __forceinline__ void put_partial(int flat, float v) const;
  __device__ __forceinline__ void put_partial(int flat, float v0, float v1) const;

  // What Adam knows of N parameters beside their gradients.
  template <int N>
  struct AdamState {
    float m[N], v[N], w[N];
  };
  struct AdamScale {
    float beta1, beta2, eps, gradient, step_size, correction;
    __device__ __forceinline__ void step(float g, float& m, float& v, float& w) const;
  };
  __device__ __forceinline__ AdamScale adam_scale() const;

 private:
  template <class World>
  __device__ __forceinline__ void act(World& world, const float* out, Rng rng, int t);
  __device__ __forceinline__ Rng action_rng(std::int64_t w, int t) const;
  __device__ void rollout_together();
  __device__ void rollout_alone();
  template <class Net, int L, class Rest>
  __device__ __forceinline__ void load_layer(int net, Rest rest);
  template <class Net>
  __device__ __forceinline__ void gather(int net, int index, float (&sums)[Net::kSums], float (&lane_sums)[kLaneSums]);
  template <class Net>
  __device__ void tiles(int net, int index);
  template <class Net>
  __device__ __forceinline__ void update_alone(int net, int index);
  template <class Net, int L, class Sink>
  __device__ __forceinline__ void each_unit(int net, const float (&sums)[Net::kSums], Sink& sink) const;
  template <bool kLoad>
  __device__ __forceinline__ void transfer_states();
  // A gradient that one thread of a group has of what lanes gathered; flat: -1 for none.
  struct LaneGradient {
    int flat, index;
    float value;
  };
  __device__ LaneGradient sum_lanes(int net, const float (&lane_sums)[kLaneSums], float mean);
  template <class Net>
  __device__ __forceinline__ void loss(const LossWeights<float>& weights, const Pass<Net>& pass, int net, int row,
                                       const float (&record)[kRecord], float2 scale,
                                       float (&lane_sums)[kLaneSums]) const;
  __device__ double reduce_gradients();
  __device__ void sum_losses();
  __device__ double exchange(double squares);
  __device__ void plan(double squares);
  // Of the four parameters that this thread steps, read before it is needed; of larger slices the first.
  struct AdamQuad {
    float4 m, v, w;
  };
  __device__ __forceinline__ AdamQuad fetch_moments() const;
  __device__ void step_parameters(const AdamQuad& first);
};

}  // namespace hotloop
