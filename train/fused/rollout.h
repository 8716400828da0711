// The worlds of a block through num_steps steps, and the values of what they saw.
#pragma once
#include "train/fused/kernel_base.h"

namespace hotloop {

// One world in registers while its rollout lasts.
template <class S>
struct RolloutWorld {
  using Env = typename S::Env;
  static constexpr int kWords = sizeof(typename Env::State) / 4;

  const Fused<S>& fused;
  const FusedArgs& args;
  std::int64_t w;
  typename Env::State state;
  typename Env::Params params{};
  std::uint64_t step;
  std::int32_t elapsed, length, stat_length, stat_episodes, first_length, truncations = 0;
  float episode_return, stat_return, first_return;
  std::uint32_t stat_nonfinite, stat_overflow;
  float observation[Env::kObsDim];
  float running = 0.0f;  // discounted return
  double origin = 0.0;   // what its moments are taken about

  __device__ __forceinline__ RolloutWorld(const Fused<S>& f, std::int64_t world) : fused(f), args(f.args), w(world) {
    const WorldBook& b = args.book.book;
    step = at(b.step)[w], elapsed = at(b.elapsed)[w], length = at(b.length)[w],
    episode_return = at(b.episode_return)[w];
    stat_return = at(b.stat_return)[w], stat_length = at(b.stat_length)[w], stat_episodes = at(b.stat_episodes)[w];
    first_return = at(b.first_return)[w], first_length = at(b.first_length)[w];
    stat_nonfinite = at(b.stat_nonfinite)[w], stat_overflow = at(b.stat_overflow)[w];
#pragma unroll
    for (int k = 0; k < kWords; ++k)
      memcpy(reinterpret_cast<char*>(&state) + 4 * k, at(args.words) + k * args.book.num_envs + w, 4);
#pragma unroll
    for (int k = 0; k < Env::kObsDim; ++k) observation[k] = at(args.observation)[w * Env::kObsDim + k];
    if constexpr (S::kNormalizeReward)
      running = at(args.return_running)[w],
      origin = hotloop::origin(fused.shared.return_state[0], fused.shared.return_state[2], 0.0f);
  }

  template <class P>
  __device__ __forceinline__ P* at(P* first) const {
    return fused.at(first);
  }

  __device__ __forceinline__ void save() const {
    const WorldBook& b = args.book.book;
    at(b.step)[w] = step, at(b.elapsed)[w] = elapsed, at(b.length)[w] = length,
    at(b.episode_return)[w] = episode_return;
    at(b.stat_return)[w] = stat_return, at(b.stat_length)[w] = stat_length, at(b.stat_episodes)[w] = stat_episodes;
    at(b.first_return)[w] = first_return, at(b.first_length)[w] = first_length;
    at(b.stat_nonfinite)[w] = stat_nonfinite, at(b.stat_overflow)[w] = stat_overflow;
#pragma unroll
    for (int k = 0; k < kWords; ++k)
      memcpy(at(args.words) + k * args.book.num_envs + w, reinterpret_cast<const char*>(&state) + 4 * k, 4);
#pragma unroll
    for (int k = 0; k < Env::kObsDim; ++k) at(args.observation)[w * Env::kObsDim + k] = observation[k];
    at(args.truncations)[w] = truncations;
    if constexpr (S::kNormalizeReward) at(args.return_running)[w] = running;
  }

  // As the batch's step: environment, containment of non-finite worlds, time limit, books, automatic reset.
  // returns: gathers the discounted return after this step.
  __device__ __forceinline__ void advance(std::int64_t t, const typename Env::Action* action, Moments& returns) {
    BookView view = args.book;
    view.seed = fused.seed;
    view.book = {&step,        &elapsed,       &length,       &episode_return, &stat_return,  &first_return,
                 &stat_length, &stat_episodes, &first_length, &stat_nonfinite, &stat_overflow};
    const auto world = static_cast<std::uint32_t>(w);
    Rng rng(view.seed, view.dynamics_stream, world, step);
    const StepResult<float> result = Env::step(params, state, action, rng);
    Env::observe(params, state, observation);
    float poison = result.reward - result.reward;
#pragma unroll
    for (int k = 0; k < Env::kObsDim; ++k) poison += observation[k] - observation[k];
    const std::int32_t finite = poison == 0.0f ? 1 : 0;
    const float reward = finite != 0 ? result.reward : 0.0f;
    const std::int32_t ended = view.record(0, reward, result.terminated, finite);
    const std::int64_t n = args.book.num_envs;
    at(args.reward)[t * n + w] = reward;
    at(args.ended)[t * n + w] = static_cast<std::uint8_t>(ended);
    if constexpr (S::kNormalizeReward) {
      running = static_cast<float>(fused.shared.update.gamma) * running + reward;
      const double off = static_cast<double>(running) - origin;
      returns = returns + Moments{off, off * off};
      if (ended != 0) running = 0.0f;
    }
    if (ended == 0) return;
    const auto keep = [&](float* to) {
#pragma unroll
      for (int k = 0; k < Env::kObsDim; ++k) to[k] = is_finite(observation[k]) ? observation[k] : 0.0f;
    };
    if ((ended & kTruncated) != 0) {
      keep(at(args.final_observation) + (truncations * n + w) * Env::kObsDim);
      ++truncations;
    }
    if (args.last_observation != nullptr) keep(at(args.last_observation) + (t * n + w) * Env::kObsDim);
    view.close(0, finite != 0);
    Rng reset(view.seed, view.reset_stream, world, step);
    Env::reset(params, state, reset);
    Env::observe(params, state, observation);
  }
};

// This lane's world at step t, given the head's outputs of its row: draws the action, writes the record and steps.
template <class S>
template <class World>
__device__ __forceinline__ void Fused<S>::act(World& world, const float* out, Rng rng, int t) {
  float head[Actor::kHeadColumns];
#pragma unroll
  for (int k = 0; k < Actor::kHeadColumns; ++k) head[k] = out[k];
  typename Env::Action action[kActionDim];
  float record[kRecord] = {};
#pragma unroll
  for (int k = 0; k < kObsDim; ++k) record[k] = world.observation[k];
  if constexpr (S::kHead == HeadKind::categorical) {
    std::int64_t choice[kActionDim];
    record[kLogProbAt] = draw_categorical(head_view(), head, nullptr, false, rng, choice);
#pragma unroll
    for (int k = 0; k < kActionDim; ++k) {
      action[k] = static_cast<typename Env::Action>(choice[k]);
      record[kObsDim + k] = static_cast<float>(choice[k]);
    }
  } else {
    float sample[kActionDim], given[kActionDim];
    record[kLogProbAt] = draw_gaussian(head_view(), head, shared.log_std, false, rng, sample, given);
#pragma unroll
    for (int k = 0; k < kActionDim; ++k) action[k] = given[k], record[kObsDim + k] = sample[k];
  }
  float4* to = reinterpret_cast<float4*>(at(args.record) + (t * args.book.num_envs + world.w) * kRecord);
#pragma unroll
  for (int k = 0; k < kRecord; k += 4) to[k / 4] = make_float4(record[k], record[k + 1], record[k + 2], record[k + 3]);
  world.advance(t, action, returns);
}

template <class S>
__device__ __forceinline__ Rng Fused<S>::action_rng(std::int64_t w, int t) const {
  const auto first_step =
      static_cast<std::uint64_t>(shared.control.iteration) * static_cast<std::uint64_t>(args.num_steps);
  return Rng(seed, RngStream::action, static_cast<std::uint32_t>(w), first_step + t);
}

// Few worlds: a group's warps share the actor's columns, then a lane of the first warp for each world samples, steps,
// resets and writes the record, while another warp works out the next step's random numbers.
template <class S>
__device__ void Fused<S>::rollout_together() {
  using World = RolloutWorld<S>;
  const Pass<Actor> actor = pass<Actor>(0);
  // as many rounds for both groups: their barriers may be wide
  for (int round = 0; round < S::kBlockEnvs; round += kGroupWorlds * S::kGroups) {
    const int first = round + kGroupWorlds * group;
    // a group without worlds would take issue slots from the other
    if (!S::kWideBarriers && first >= S::kBlockEnvs) continue;
    const std::int64_t w = static_cast<std::int64_t>(block) * S::kBlockEnvs + first + lane % kGroupWorlds;
    const bool here = lane < kGroupWorlds && first + lane < S::kBlockEnvs && w < args.book.num_envs;
    const bool steps = group_warp == 0 && here;
    World world(*this, steps ? w : 0);
    T* input = actor.template output<0>(lane % kGroupWorlds);
    if (steps) put_input<Actor>(input, world.observation);
    if (group_warp == 1 && here) shared.draws[group][lane] = action_rng(w, 0).first_block();
    for (int t = 0; t < args.num_steps; ++t) {
      group_barrier<S::kWideBarriers>(group);
      PhiloxBlock drawn;
      if (steps) drawn = shared.draws[group][lane];
      actor.template forward_together<kGroupWorlds / 16>(group, group_warp);
      if (group_warp == 1 && here) shared.draws[group][lane] = action_rng(w, t + 1).first_block();
      if (group_warp == 0) {
        actor.template head<kGroupWorlds / 16>(0);
        if (steps) {
          act(world, actor.out + lane * Actor::kHeadColumns, action_rng(w, t).with_first_block(drawn), t);
          put_input<Actor>(input, world.observation);
        }
      }
      __syncwarp();
    }
    if (steps) world.save();
    group_barrier<S::kWideBarriers>(group);
  }
}

// Many worlds: each warp passes its own through all layers and waits for nobody.
template <class S>
__device__ void Fused<S>::rollout_alone() {
  using World = RolloutWorld<S>;
  constexpr int kTiles = S::kBlockEnvs > 16 * kWarps ? S::kRowTiles : 1, kWorlds = 16 * kTiles;
  const Pass<Actor> actor = pass<Actor>(0);
  const int row = group_warp * kWarpRows;
  for (int first = kWorlds * warp; first < S::kBlockEnvs; first += kWorlds * kWarps) {
    const std::int64_t w = static_cast<std::int64_t>(block) * S::kBlockEnvs + first + lane % kWorlds;
    const bool steps = lane < kWorlds && first + lane < S::kBlockEnvs && w < args.book.num_envs;
    World world(*this, steps ? w : 0);
    T* input = actor.template output<0>(row + lane % kWorlds);
    if (steps) put_input<Actor>(input, world.observation);
    __syncwarp();
    for (int t = 0; t < args.num_steps; ++t) {
      const auto step = [&] {
        if (!steps) return;
        act(world, actor.out + (row + lane) * Actor::kHeadColumns, action_rng(w, t), t);
        put_input<Actor>(input, world.observation);
      };
      if constexpr (Actor::chained()) {
        actor.template chain<kTiles, false>(row, step);
      } else {
        actor.template forward<kTiles>(row);
        step();
      }
      __syncwarp();
    }
    if (steps) world.save();
  }
}

template <class S>
__device__ void Fused<S>::rollout() {
  if constexpr (S::kBlockEnvs > 32 * S::kGroups)
    rollout_alone();
  else
    rollout_together();
}

// The block's part of what normalises rewards.
template <class S>
__device__ void Fused<S>::publish_returns() {
  const double sum = warp_sum(returns.sum), squares = warp_sum(returns.squares);
  if (lane == 0) shared.warp_sums[warp][0] = sum, shared.warp_sums[warp][1] = squares;
  block_barrier();
  if (threadIdx.x != 0) return;
  Moments total;
  for (int i = 0; i < kWarps; ++i) total = total + Moments{shared.warp_sums[i][0], shared.warp_sums[i][1]};
  at(args.returns)[block] = total;
}

// Every block adds up the parts of all and comes to the same scale; block 0 keeps the state at the end.
template <class S>
__device__ void Fused<S>::scale_rewards() {
  grid_barrier();
  if (warp == 0) {
    double sum = 0, squares = 0;
    for (int b = lane; b < S::kBlocks; b += 32) {
      const double2 terms = __ldcg(reinterpret_cast<const double2*>(at(args.returns) + b));
      sum += terms.x, squares += terms.y;
    }
    sum = warp_sum(sum), squares = warp_sum(squares);
    if (lane == 0) {
      const double n = static_cast<double>(args.book.num_envs) * args.num_steps;
      double mean = shared.return_state[0], m2 = shared.return_state[1];
      const double count = shared.return_state[2];
      merge(mean, m2, count, n, {sum, squares}, 0.0f);
      shared.return_state[0] = mean, shared.return_state[1] = m2, shared.return_state[2] = count + n;
      shared.reward_scale = inverse_deviation(m2, count + n);
    }
  }
  block_barrier();
}

// Values of every observation of the block's worlds: of each step, after the last, and where time limits ended
// episodes.
template <class S>
__device__ void Fused<S>::values() {
  with_critic([&]<class Net>(const NetPass<Net, S::kActivation, kGroupRows, S::kWideBarriers>& critic) {
    const std::int64_t n = args.book.num_envs;
    const int rows = S::kBlockEnvs * (args.num_steps + 1 + args.bootstrap_slots);
    const int row = group_warp * kWarpRows;
    for (int first = warp * kWarpRows; first < rows; first += kWarps * kWarpRows) {
      const int q = first + lane, t = q / S::kBlockEnvs;
      const std::int64_t w = static_cast<std::int64_t>(block) * S::kBlockEnvs + q % S::kBlockEnvs;
      const int slot = t - args.num_steps - 1;
      const bool valid = lane < kWarpRows && q < rows && w < n && (slot < 0 || slot < at(args.truncations)[w]);
      if (!__any_sync(0xffffffffu, valid)) continue;
      if (valid) {
        const float* from = t < args.num_steps    ? at(args.record) + (t * n + w) * kRecord
                            : t == args.num_steps ? at(args.observation) + w * kObsDim
                                                  : at(args.final_observation) + (slot * n + w) * kObsDim;
        float x[kObsDim];
#pragma unroll
        for (int k = 0; k < kObsDim; ++k) x[k] = from[k];
        put_input<Net>(critic.template output<0>(row + lane), x);
      }
      __syncwarp();
      const auto keep = [&] {
        if (valid) at(args.value)[t * n + w] = critic.out[(row + lane) * Net::kHeadColumns + kValueColumn];
      };
      if constexpr (Net::chained()) {
        critic.template chain<S::kRowTiles, false>(row, keep);
      } else {
        critic.template forward<S::kRowTiles>(row);
        keep();
      }
      __syncwarp();
    }
  });
}

}  // namespace hotloop
