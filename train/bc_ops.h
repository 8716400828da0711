// What behaviour cloning runs on the device beside the network: drawing steps of a dataset, and the loss. All pointers
// on exec's device.
#pragma once
#include <cstdint>

#include "sim/core/device.h"
#include "train/update_ops.h"

namespace hotloop {

// A whole dataset in the device's memory.
struct ResidentSteps {
  const float* observation = nullptr;  // [rows, obs_dim]
  const void* action = nullptr;        // [rows, dim] float or int64
  std::int64_t rows = 0;
};

// Block row j receives the step that draw control->iteration * count + j takes (train/shuffle.h).
void draw_steps(const Exec& exec, const ResidentSteps& from, std::uint64_t seed, const Control* control,
                std::int64_t count, std::int64_t obs_dim, const HeadView& head, float* observation, void* action);

// The Gaussian's draw that would have given each action: the action itself, or for a squashed head atanh of it, [count,
// dim].
void samples_of_actions(const Exec& exec, std::int64_t count, const HeadView& head, const float* action, float* sample);

// Behaviour cloning's loss of a minibatch's rows and its gradient. Choices: the negative log-likelihood. Gaussian
// heads: means by squared error, standard deviations by the likelihood of those errors (Seitzer et al. 2022, beta = 1),
// so that a deviation that shrinks does not scale the means' gradients; a mean beyond the bound at which an action was
// clipped is no error. The critic gets no gradient. The loss reported as policy_loss is the negative log-likelihood for
// every head.
template <class Real>
void bc_loss(const Exec& exec, const HeadView& head, const LossIo<Real>& io);

}  // namespace hotloop
