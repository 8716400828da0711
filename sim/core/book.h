// What the batch of any kind of environment does about a world after its step: draws, time limit, episode statistics.
#pragma once
#include "sim/core/rng.h"
#include "sim/core/step_io.h"

namespace hotloop {

// Bits of what ended an episode.
inline constexpr std::int32_t kTerminated = 1, kTruncated = 2;

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
  SIM_HD void close(std::int64_t w, bool finite) const {
    const std::int32_t length = book.length[w];
    const bool whole = length == book.elapsed[w];
    book.stat_nonfinite[w] += finite ? 0u : 1u;
    if (whole && finite) {
      book.stat_return[w] += book.episode_return[w];
      book.stat_length[w] += length;
      book.stat_episodes[w] += 1;
      if (book.first_length[w] == 0) {
        book.first_return[w] = book.episode_return[w];
        book.first_length[w] = length;
      }
    }
    book.elapsed[w] = 0;
    book.length[w] = 0;
    book.episode_return[w] = 0.0f;
  }
};

}  // namespace hotloop
