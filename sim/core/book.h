// What the batch of any kind of environment does about a world after its step: draws, time limit, episode statistics.
#pragma once
#include "sim/core/rng.h"
#include "sim/core/step_io.h"

namespace hotloop {

// Bits of what ended an episode.
inline constexpr std::int32_t kTerminated = 1, kTruncated = 2;
// Bits of what an episode that was closed counts as.
inline constexpr std::int32_t kCounted = 1, kFirst = 2;

// Passed by value into kernels.
struct BookView {
  WorldBook book;
  std::int64_t num_envs;
  std::uint64_t seed;
  std::uint32_t reset_stream, dynamics_stream, episode_length_stream;
  int max_episode_steps;
  bool random_episode_start;

  SIM_HD Rng dynamics_rng(std::int64_t w) const {
    return Rng(seed, dynamics_stream, static_cast<std::uint32_t>(w), book.step[w]);
  }
  SIM_HD Rng reset_rng(std::int64_t w) const {
    return Rng(seed, reset_stream, static_cast<std::uint32_t>(w), book.step[w]);
  }

  // Clears the book of world w for the batch's first episode.
  SIM_HD void open(std::int64_t w) const {
    Rng rng(seed, episode_length_stream, static_cast<std::uint32_t>(w), 0);
    const float part = random_episode_start ? rng.uniform() : 0.0f;
    book.step[w] = 0;
    book.elapsed[w] = static_cast<std::int32_t>(part * static_cast<float>(max_episode_steps));
    book.length[w] = 0;
    book.episode_return[w] = 0.0f;
    book.stat_return[w] = 0.0f;
    book.stat_length[w] = book.stat_episodes[w] = 0;
    book.stat_nonfinite[w] = book.stat_overflow[w] = 0;
    book.first_return[w] = 0.0f;
    book.first_length[w] = 0;
  }

  // Advances the book of world w by a step; what ended in it, as kTerminated and kTruncated bits. Truth values are 0 or
  // 1 in whole words and no branch depends on them: the CPU loop over worlds vectorises.
  SIM_HD std::int32_t record(std::int64_t w, float reward, std::int32_t terminated, std::int32_t finite) const {
    const std::int32_t elapsed = book.elapsed[w] + 1;
    const std::int32_t late = elapsed >= max_episode_steps ? kTruncated : 0;
    book.step[w] += 1;
    book.elapsed[w] = elapsed;
    book.length[w] += 1;
    book.episode_return[w] += reward;
    return finite != 0 ? terminated | late : kTerminated;
  }
  SIM_HD static void write_flags(std::int64_t w, const StepIo& io, std::int32_t ended) {
    io.terminated[w] = static_cast<std::uint8_t>(ended & kTerminated);
    io.truncated[w] = static_cast<std::uint8_t>((ended & kTruncated) / kTruncated);
  }

  // Books the episode that ended in world w and starts the next. Episodes that began at a random time are no whole
  // episodes, and those that turned non-finite have no meaningful return: neither is counted.
  SIM_HD std::int32_t close(std::int64_t w, bool finite) const {
    const std::int32_t length = book.length[w];
    const bool whole = length == book.elapsed[w];
    std::int32_t counts = 0;
    book.stat_nonfinite[w] += finite ? 0u : 1u;
    if (whole && finite) {
      book.stat_return[w] += book.episode_return[w];
      book.stat_length[w] += length;
      book.stat_episodes[w] += 1;
      counts = kCounted;
      if (book.first_length[w] == 0) {
        counts |= kFirst;
        book.first_return[w] = book.episode_return[w];
        book.first_length[w] = length;
      }
    }
    book.elapsed[w] = 0;
    book.length[w] = 0;
    book.episode_return[w] = 0.0f;
    return counts;
  }
};

// ---- the terms of a reward, N of them ------------------------------------------------------------------------------

// Hands a step's terms of world w to who wants them.
template <int N>
SIM_HD void write_terms(const StepIo& io, std::int64_t w, const float* terms) {
  if (io.reward_terms == nullptr) return;
  unrolled<N>([&](int k) { io.reward_terms[w * N + k] = terms[k]; });
}

// Adds a step's terms to the episode of world w.
template <int N>
SIM_HD void add_terms(const TermBook& book, std::int64_t w, const float* terms) {
  unrolled<N>([&](int k) { book.episode[w * N + k] += terms[k]; });
}

// Books the terms of the episode that counts as close() said.
template <int N>
SIM_HD void close_terms(const TermBook& book, std::int64_t w, std::int32_t counts) {
#pragma unroll 1
  for (std::int64_t i = w * N; i < (w + 1) * N; ++i) {
    if ((counts & kCounted) != 0) book.stat[i] += book.episode[i];
    if ((counts & kFirst) != 0) book.first[i] = book.episode[i];
    book.episode[i] = 0.0f;
  }
}

}  // namespace hotloop
