// Which trainings the fused kernel takes on which card, how it divides them, and its specialisation as source text.
#pragma once
#include <string>

#include "sim/core/registry.h"
#include "sim/core/special_kernel.h"
#include "train/config.h"
#include "train/policy_spec.h"

namespace hotloop {

// What a card offers; of another card's place, to compile for it.
struct FusedLimits {
  int multiprocessors = 0;
  std::size_t shared_bytes = 0;  // of one block
};
FusedLimits fused_limits(Device device);

// How the kernel divides the work. tile_blocks of the blocks pass the rows of minibatches, all step parameters. A block
// has two groups of four warps; each warp passes 16 * row_tiles rows at a time.
struct FusedShape {
  int blocks = 0, tile_blocks = 0, block_envs = 0, threads = 0, row_tiles = 0;
  int slice = 0;        // parameters that one block steps
  int partials = 0;     // partial sums of a gradient
  int loss_rows = 0;    // partial sums of the losses
  int own = 0;          // floats of Adam's state as the threads of one block alone step it
  int fast_arrays = 0;  // of the three that make it, those in shared memory
  int record = 0;       // floats of one step's record
  std::size_t shared_bytes = 0;
};

// Empty where the fused kernel takes the training; else why it does not, as in "<reason>".
std::string why_not_fused(const TrainConfig& config, const EnvEntry& env, const PolicySpec& policy,
                          const FusedLimits& limits);

// Of a training that it takes; population: with more than one member.
FusedShape fused_shape(const TrainConfig& config, const PolicySpec& policy, const FusedLimits& limits);
SpecialKernelSource fused_source(const TrainConfig& config, const EnvEntry& env, const PolicySpec& policy,
                                 const FusedShape& shape, bool population);

}  // namespace hotloop
