// Generalised advantage estimation of a block's worlds, and what normalises the advantages of every minibatch to come:
// as the shuffled order can be asked where a row will be, each block sums its own rows by minibatch at once.
#pragma once
#include "train/fused/kernel_base.h"

namespace hotloop {

template <class S>
__device__ void Fused<S>::advantages() {
  const std::int64_t n = args.book.num_envs;
  const auto gamma = static_cast<float>(shared.update.gamma), lambda = static_cast<float>(shared.update.gae_lambda);
  [[maybe_unused]] const auto clip_reward = static_cast<float>(shared.update.clip_reward);
  double sums[4] = {};
  for (int e = threadIdx.x; e < S::kBlockEnvs; e += kThreads) {
    const std::int64_t w = static_cast<std::int64_t>(block) * S::kBlockEnvs + e;
    if (w >= n) break;
    int slot = at(args.truncations)[w];
    float advantage = 0.0f, next_value = at(args.value)[args.num_steps * n + w];
    // some steps are read before any is worked on: what is written could, for all the compiler knows, change them
    constexpr int kAhead = 16;
    for (int last = args.num_steps - 1; last >= 0; last -= kAhead) {
      float values[kAhead], rewards[kAhead];
      int ends[kAhead];
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        const std::int64_t i = (last - k >= 0 ? last - k : 0) * n + w;
        values[k] = at(args.value)[i], rewards[k] = at(args.reward)[i], ends[k] = at(args.ended)[i];
        if constexpr (S::kNormalizeReward)
          rewards[k] = clamp(rewards[k] * shared.reward_scale, -clip_reward, clip_reward);
      }
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        if (last < k) break;
        if (ends[k] != 0) {  // one branch, as most steps end nothing
          if ((ends[k] & kTruncated) != 0) --slot;
          next_value = (ends[k] & kTerminated) != 0 ? 0.0f : at(args.value)[(args.num_steps + 1 + slot) * n + w];
          advantage = 0.0f;
        }
        const float value = values[k];
        advantage = rewards[k] + gamma * next_value - value + gamma * lambda * advantage;
        float* record = at(args.record) + ((last - k) * n + w) * kRecord;
        record[kValueAt] = value, record[kAdvantageAt] = advantage;
        at(args.value)[(last - k) * n + w] = advantage;  // for advantage_sums, which so reads neighbouring numbers
        next_value = value;
        const double target = static_cast<double>(advantage + value), error = target - static_cast<double>(value);
        sums[0] += target, sums[1] += target * target, sums[2] += error, sums[3] += error * error;
      }
    }
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const double sum = warp_sum(sums[k]);
    if (lane == 0) shared.warp_sums[warp][k] = sum;
  }
  block_barrier();
  if (threadIdx.x == 0) {
    VarianceTerms total;
    for (int i = 0; i < kWarps; ++i)
      total = total + VarianceTerms{shared.warp_sums[i][0], shared.warp_sums[i][1], shared.warp_sums[i][2],
                                    shared.warp_sums[i][3]};
    at(args.variance)[block] = total;
  }
}

// The orders in which the iteration's epochs shuffle rows; by one warp, as each takes some microseconds.
template <class S>
__device__ void Fused<S>::order_rows() {
  for (int epoch = lane; epoch < S::kEpochs; epoch += 32)
    shared.orders[epoch] =
        Order(seed, static_cast<std::uint64_t>(shared.control.iteration * S::kEpochs + epoch), S::kRows);
}

template <class S>
__device__ void Fused<S>::advantage_sums() {
  constexpr int kBins = 4;  // minibatches at a time
  const std::int64_t n = args.book.num_envs;
  const int rows = S::kBlockEnvs * args.num_steps;
#pragma unroll 1
  for (int epoch = 0; epoch < S::kEpochs; ++epoch) {
    const Order order = shared.orders[epoch];
    for (int bin = 0; bin < S::kEpochMinibatches; bin += kBins) {
      AdvantageTerms sums[kBins];
      constexpr int kAhead = 4;  // rows that a thread reads at once
      for (int first = threadIdx.x; first < rows; first += kAhead * kThreads) {
        float advantage[kAhead];
        std::int64_t row[kAhead];
#pragma unroll
        for (int j = 0; j < kAhead; ++j) {
          const int q = first + j * kThreads, t = q / S::kBlockEnvs;
          const std::int64_t w = static_cast<std::int64_t>(block) * S::kBlockEnvs + q % S::kBlockEnvs;
          row[j] = q < rows && w < n ? t * n + w : -1;
          advantage[j] = row[j] < 0 ? 0.0f : at(args.value)[row[j]];
        }
#pragma unroll
        for (int j = 0; j < kAhead; ++j) {
          if (row[j] < 0) continue;
          const auto a = static_cast<double>(advantage[j]);
          const int own =
              static_cast<int>(order.position(static_cast<std::uint32_t>(row[j])) / std::uint32_t{S::kMinibatchRows}) -
              bin;
#pragma unroll
          for (int k = 0; k < kBins; ++k)
            if (own == k) sums[k] = sums[k] + AdvantageTerms{a, a * a};
        }
      }
      block_barrier();  // the sums before are read
#pragma unroll
      for (int k = 0; k < kBins; ++k) {
        const double sum = warp_sum(sums[k].sum), squares = warp_sum(sums[k].squares);
        if (lane == 0) shared.warp_sums[warp][2 * k] = sum, shared.warp_sums[warp][2 * k + 1] = squares;
      }
      block_barrier();
      if (threadIdx.x < kBins && bin + threadIdx.x < S::kEpochMinibatches) {
        AdvantageTerms total;
        for (int i = 0; i < kWarps; ++i)
          total =
              total + AdvantageTerms{shared.warp_sums[i][2 * threadIdx.x], shared.warp_sums[i][2 * threadIdx.x + 1]};
        at(args.advantages)[(epoch * S::kEpochMinibatches + bin + threadIdx.x) * S::kBlocks + block] = total;
      }
    }
  }
}

// After the blocks have met: every block adds up the sums of all, in order.
template <class S>
__device__ void Fused<S>::advantage_scales() {
  for (int index = warp; index < kMinibatches; index += kWarps) {
    double sum = 0, squares = 0;
    for (int b = lane; b < S::kBlocks; b += 32) {
      const double2 terms = __ldcg(reinterpret_cast<const double2*>(at(args.advantages) + index * S::kBlocks + b));
      sum += terms.x, squares += terms.y;
    }
    sum = warp_sum(sum), squares = warp_sum(squares);
    if (lane != 0) continue;
    const AdvantageScale scale = advantage_scale({sum, squares}, S::kMinibatchRows);
    const bool used = shared.update.norm_adv && S::kMinibatchRows >= 2;
    shared.advantage[index] =
        used ? make_float2(static_cast<float>(scale.mean), 1.0f / (static_cast<float>(scale.deviation) + 1e-8f))
             : make_float2(0.0f, 1.0f);
  }
  block_barrier();
}

}  // namespace hotloop
