// The drawing of one world's action.
#pragma once
#include "train/rollout_ops.h"

namespace hotloop {

struct SampleOp {
  HeadView head;
  DrawKey key;
  bool deterministic;
  SampleIo io;

  SIM_HD void operator()(std::int64_t w) const { draw(w, io.head + w * head.head_dim); }
  // From the outputs `row` of the heads.
  SIM_HD void draw(std::int64_t w, const float* row) const {
    const std::uint64_t iteration = key.control == nullptr ? 0 : static_cast<std::uint64_t>(key.control->iteration);
    const std::uint64_t step =
        iteration * static_cast<std::uint64_t>(key.num_steps) + static_cast<std::uint64_t>(key.t);
    Rng rng(key.seed, key.stream, static_cast<std::uint32_t>(w), step);
    float log_prob = 0;
    if (head.kind == HeadKind::categorical) {
      const std::uint8_t* mask = io.mask == nullptr ? nullptr : io.mask + w * head.head_dim;
      log_prob =
          draw_categorical(head, row, mask, deterministic, rng, static_cast<std::int64_t*>(io.action) + w * head.dim);
    } else {
      float* sample = io.sample == nullptr ? nullptr : io.sample + w * head.dim;
      log_prob = draw_gaussian(head, row, io.log_std, deterministic, rng, sample,
                               static_cast<float*>(io.action) + w * head.dim);
    }
    if (io.log_prob != nullptr) io.log_prob[w] = log_prob;
  }
};

}  // namespace hotloop
