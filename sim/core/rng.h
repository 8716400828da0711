// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2,
// 3", SC 2011). A draw is a pure function of (seed, stream, world, step, draw index), so it does not depend on the
// number of threads, on the order of worlds, on CPU or GPU, or on whether a step was captured in a graph.
#pragma once
#include <cstdint>

#include "sim/core/hd.h"
#include "sim/core/math.h"

namespace hotloop {

// One stream per purpose, so that a new draw in one place moves none in another.
enum class RngStream : std::uint32_t {
  reset = 0,
  dynamics = 1,
  action = 2,
  permutation = 3,
  init = 4,
  episode_length = 5,
  model = 6,    // fields of a model that differ from world to world
  resample = 7  // bootstrap of statistics: world is the data set, step the resample
};

// Evaluation worlds draw from streams of their own: stream id + kEvaluationStreams.
inline constexpr std::uint32_t kEvaluationStreams = 64;

struct PhiloxBlock {
  std::uint32_t word[4];
};

// The ten rounds on counter c with key (k0, k1).
SIM_HD PhiloxBlock philox(PhiloxBlock c, std::uint32_t k0, std::uint32_t k1) {
  unrolled<10>([&](int) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c.word[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c.word[2];
    const PhiloxBlock next = {{static_cast<std::uint32_t>(p1 >> 32) ^ c.word[1] ^ k0, static_cast<std::uint32_t>(p1),
                               static_cast<std::uint32_t>(p0 >> 32) ^ c.word[3] ^ k1, static_cast<std::uint32_t>(p0)}};
    c = next;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  });
  return c;
}

// The draws of one (seed, stream, world, step). Copyable, no shared state. step < 2^56, stream < 256.
class Rng {
 public:
  SIM_HD Rng(std::uint64_t seed, std::uint32_t stream, std::uint32_t world, std::uint64_t step)
      : seed_(seed), step_(step), stream_(stream), world_(world) {}
  SIM_HD Rng(std::uint64_t seed, RngStream stream, std::uint32_t world, std::uint64_t step)
      : Rng(seed, static_cast<std::uint32_t>(stream), world, step) {}

  // The same draws from draw 4 * block on.
  SIM_HD Rng at_block(std::uint32_t block) const {
    Rng other(seed_, stream_, world_, step_);
    other.draw_ = 4 * block;
    return other;
  }

  // Draws 0 to 3 as a block, and the same draws with that block worked out before.
  SIM_HD PhiloxBlock first_block() const { return block(0); }
  SIM_HD Rng with_first_block(const PhiloxBlock& first) const {
    Rng other(seed_, stream_, world_, step_);
    other.primed_ = true;
    unrolled<4>([&](int k) { other.block_.word[k] = first.word[k]; });
    return other;
  }

  // 32 uniform bits; the k-th call gives draw k.
  SIM_HD std::uint32_t bits() {
    if (draw_ % 4 == 0 && !(primed_ && draw_ == 0)) {
      const PhiloxBlock next = block(draw_ / 4);
      unrolled<4>([&](int k) { block_.word[k] = next.word[k]; });  // by words, so that they stay in registers
    }
    return block_.word[draw_++ % 4];
  }
  // Uniform in [0, 1), a multiple of 2^-24.
  SIM_HD float uniform() { return static_cast<float>(bits() >> 8) * 5.9604644775390625e-8f; }
  // Uniform in [low, high).
  template <class Real>
  SIM_HD Real uniform(Real low, Real high) {
    return low + (high - low) * static_cast<Real>(uniform());
  }
  // Standard normal (Box and Muller 1958; two draws).
  SIM_HD float normal() {
    const float u = (static_cast<float>(bits() >> 8) + 1.0f) * 5.9604644775390625e-8f;  // (0, 1]: log is finite
    float s, c;
    sin_cos(6.2831853071795865f * uniform(), s, c);
    return sqrtf(-2.0f * logf(u)) * c;
  }

 private:
  SIM_HD PhiloxBlock block(std::uint32_t index) const {
    const PhiloxBlock counter = {
        {index, world_, static_cast<std::uint32_t>(step_), static_cast<std::uint32_t>(step_ >> 32) << 8 | stream_}};
    return philox(counter, static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32));
  }

  std::uint64_t seed_, step_;
  std::uint32_t stream_, world_, draw_ = 0;
  bool primed_ = false;
  PhiloxBlock block_ = {};
};

}  // namespace hotloop
