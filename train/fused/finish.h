// What an iteration leaves beside its parameters: the episodes that ended, the observations' statistics, and the
// metrics in the host's memory. Nothing waits for the host.
#pragma once
#include "train/fused/kernel_base.h"

namespace hotloop {

// Sums the episodes that ended in the block's worlds and clears their books; by one warp.
template <class S>
__device__ void Fused<S>::collect_episodes() {
  const WorldBook& book = args.book.book;
  double returns_sum = 0, lengths = 0, episodes = 0, nonfinite = 0, overflows = 0;
  for (int e = lane; e < S::kBlockEnvs; e += 32) {
    const std::int64_t w = static_cast<std::int64_t>(block) * S::kBlockEnvs + e;
    if (w >= args.book.num_envs) break;
    returns_sum += static_cast<double>(at(book.stat_return)[w]), lengths += at(book.stat_length)[w];
    episodes += at(book.stat_episodes)[w];
    nonfinite += at(book.stat_nonfinite)[w], overflows += at(book.stat_overflow)[w];
    at(book.stat_return)[w] = 0.0f;
    at(book.stat_length)[w] = at(book.stat_episodes)[w] = 0;
    at(book.stat_nonfinite)[w] = at(book.stat_overflow)[w] = 0;
  }
  __syncwarp();
  returns_sum = warp_sum(returns_sum), lengths = warp_sum(lengths), episodes = warp_sum(episodes);
  nonfinite = warp_sum(nonfinite), overflows = warp_sum(overflows);
  if (lane == 0)
    at(args.episodes)[block] = {returns_sum, lengths, static_cast<std::int64_t>(episodes),
                                static_cast<std::int64_t>(nonfinite), static_cast<std::int64_t>(overflows)};
}

// The block's part of what normalises observations. All blocks have met since the rollout.
template <class S>
__device__ void Fused<S>::observation_sums() {
  const std::int64_t n = args.book.num_envs;
  const int rows = S::kBlockEnvs * args.num_steps;
  const double count = at(args.observation_state)[2 * kObsDim];
  for (int k = 0; k < kObsDim; ++k) {
    const double about = origin(at(args.observation_state)[k], count, __ldcg(at(args.record) + k));
    double sum = 0, squares = 0;
    for (int q = threadIdx.x; q < rows; q += kThreads) {
      const std::int64_t w = static_cast<std::int64_t>(block) * S::kBlockEnvs + q % S::kBlockEnvs;
      if (w >= n) continue;
      const double off = static_cast<double>(at(args.record)[(q / S::kBlockEnvs * n + w) * kRecord + k]) - about;
      sum += off, squares += off * off;
    }
    sum = warp_sum(sum), squares = warp_sum(squares);
    block_barrier();  // the sums before are read
    if (lane == 0) shared.warp_sums[warp][0] = sum, shared.warp_sums[warp][1] = squares;
    block_barrier();
    if (threadIdx.x != 0) continue;
    Moments total;
    for (int i = 0; i < kWarps; ++i) total = total + Moments{shared.warp_sums[i][0], shared.warp_sums[i][1]};
    at(args.observations)[block * kObsDim + k] = total;
  }
}

// The mean and scale that rollouts see, of the state in memory.
template <class S>
__device__ void Fused<S>::load_normalizer() {
  const double count = __ldcg(at(args.observation_state) + 2 * kObsDim);
  for (int k = threadIdx.x; k < kObsDim; k += kThreads) {
    shared.observation_mean[k] = count > 0 ? static_cast<float>(__ldcg(at(args.observation_state) + k)) : 0.0f;
    shared.observation_scale[k] = inverse_deviation(__ldcg(at(args.observation_state) + kObsDim + k), count);
  }
}

// Merges the parts of all blocks into the state in memory; by one block.
template <class S>
__device__ void Fused<S>::merge_observations() {
  double* state = at(args.observation_state);
  const double count = state[2 * kObsDim], n = static_cast<double>(args.book.num_envs) * args.num_steps;
  block_barrier();
  for (int k = threadIdx.x; k < kObsDim; k += kThreads) {
    Moments total;
    for (int b = 0; b < S::kBlocks; ++b) {
      const double2 terms = __ldcg(reinterpret_cast<const double2*>(at(args.observations) + b * kObsDim + k));
      total = total + Moments{terms.x, terms.y};
    }
    merge(state[k], state[kObsDim + k], count, n, total, __ldcg(at(args.record) + k));
    if (k == 0) state[2 * kObsDim] = count + n;
  }
}

// The metrics that lie in the host's memory become valid; by the thread that wrote them. sequence: iterations done.
template <class S>
__device__ void Fused<S>::announce(std::int64_t sequence) {
  if (written == nullptr) return;
  __threadfence_system();
  written->sequence = sequence;
  written = nullptr;
}

// The iteration's end, and the next one's beginning. The metrics are announced an iteration later: until then they have
// reached the host, and nobody waits for their way.
template <class S>
__device__ __forceinline__ void Fused<S>::finish(bool last) {
  const bool publishes = block == 0 && warp == kWarps - 1;
  EpisodeStats episodes;
  VarianceTerms variance;
  Control done;
  if (publishes) {
    double sums[9] = {};
    for (int b = lane; b < S::kBlocks; b += 32) {
      const double2* from = reinterpret_cast<const double2*>(at(args.variance) + b);
      const double2 target = __ldcg(from), error = __ldcg(from + 1);
      const EpisodeStats* of = at(args.episodes) + b;
      sums[0] += target.x, sums[1] += target.y, sums[2] += error.x, sums[3] += error.y;
      sums[4] += __ldcg(&of->return_sum), sums[5] += __ldcg(&of->length_sum);
      sums[6] += static_cast<double>(__ldcg(reinterpret_cast<const long long*>(&of->episodes)));
      sums[7] += static_cast<double>(__ldcg(reinterpret_cast<const long long*>(&of->nonfinite)));
      sums[8] += static_cast<double>(__ldcg(reinterpret_cast<const long long*>(&of->overflows)));
    }
#pragma unroll
    for (int k = 0; k < 9; ++k) sums[k] = warp_sum(sums[k]);
    variance = {sums[0], sums[1], sums[2], sums[3]};
    episodes = {sums[4], sums[5], static_cast<std::int64_t>(sums[6]), static_cast<std::int64_t>(sums[7]),
                static_cast<std::int64_t>(sums[8])};
    done = shared.control;
  }
  if constexpr (S::kNormalizeObservation)
    if (block == 0) merge_observations();
  grid_barrier();
  if constexpr (S::kNormalizeObservation) load_normalizer();
  if (threadIdx.x == 0) {
    shared.control.iteration += 1;
    if (!last) begin_iteration(shared.update, shared.control);
  }
  if (publishes && lane == 0) {
    announce(done.iteration);
    double std = nan("");
    if constexpr (S::kLogStd >= 0) {
      std = 0;
      for (int k = 0; k < kActionDim; ++k) std += exp(static_cast<double>(shared.log_std[k]));
      std /= kActionDim;
    }
    written = args.metrics + done.iteration % args.ring_depth * args.num_members + member;
    written->metrics =
        iteration_metrics(done, episodes, {}, variance, static_cast<double>(args.book.num_envs) * args.num_steps, std);
  }
  __syncwarp();
  block_barrier();
  mark(FusedPhase::finish);
}

}  // namespace hotloop
