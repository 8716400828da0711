// The steps of a PPO update that are not matrix products: minibatch gather, loss with its gradient, gradient norm,
// Adam. Real is float in training and double in the tests that compare with PyTorch. All pointers on exec's device.
#pragma once
#include <cstdint>

#include "sim/core/device.h"
#include "train/control.h"
#include "train/distribution.h"
#include "train/index_permutation.h"
#include "train/normalizer.h"
#include "train/ppo_loss.h"

namespace hotloop {

// The rows of a rollout in the order that IndexPermutation gives, keyed by (seed, iteration, epoch). The iteration is
// read on the device.
class Permutation {
 public:
  Permutation(Device device, std::int64_t n, std::uint64_t seed);
  void fill(const Exec& exec, const Control* control, std::int64_t epochs, std::int64_t epoch);
  const std::int32_t* indices() const { return indices_.data(); }

 private:
  std::int64_t n_;
  std::uint64_t seed_;
  Buffer<std::int32_t> indices_;
};

// The rollout as rows: row i is (t, w) = (i / num_envs, i % num_envs).
template <class Real>
struct Samples {
  const Real* observation = nullptr;     // [rows, obs_dim]
  const std::int64_t* action = nullptr;  // [rows, dim], categorical head
  const Real* sample = nullptr;          // [rows, dim], Gaussian heads
  const std::uint8_t* mask = nullptr;    // [rows, num_choices] or null
  const Real *log_prob = nullptr, *value = nullptr, *advantage = nullptr, *value_target = nullptr;  // [rows]
};

// Storage of one gathered minibatch.
template <class Real>
class Minibatch {
 public:
  Minibatch(Device device, std::int64_t rows, std::int64_t obs_dim, const HeadView& head, bool has_mask);

  // Copies rows index[0 .. rows) of `from`, observations through the normaliser (null mean: as they are).
  void gather(const Exec& exec, const Samples<Real>& from, const std::int32_t* index,
              const ObservationNormalizer::View& normalizer);
  Samples<Real> view() const;
  const AdvantageTerms* advantage_terms() const { return advantage_terms_.data(); }
  std::int64_t rows() const { return rows_; }

 private:
  std::int64_t rows_, obs_dim_, dim_, choices_;
  Buffer<Real> observation_, sample_, log_prob_, value_, advantage_, value_target_;
  Buffer<std::int64_t> action_;
  Buffer<std::uint8_t> mask_;
  Buffer<AdvantageTerms> advantage_scratch_, advantage_terms_;
};

// The loss of rows [begin, end) of a minibatch of `total` rows, and its gradient with respect to the networks' outputs.
template <class Real>
struct LossIo {
  Samples<Real> batch;
  std::int64_t begin = 0, end = 0, total = 0;
  const AdvantageTerms* advantage_terms = nullptr;  // of all rows
  const Real *head = nullptr, *value = nullptr;     // network outputs of the rows, [end - begin, ...]
  const Real* log_std = nullptr;
  Real *d_head = nullptr, *d_value = nullptr;  // gradients, same shapes
  Real* d_log_std = nullptr;                   // [dim] summed over the rows; null unless log_std is a parameter
  Real* d_log_std_rows = nullptr;              // scratch [end - begin, dim]
  Real* column_scratch = nullptr;              // scratch for the sum over rows
  LossTerms* scratch = nullptr;                // loss_scratch(end - begin) elements
  LossTerms* out = nullptr;                    // sums over the rows
};
std::int64_t loss_scratch(std::int64_t rows);
template <class Real>
void ppo_loss(const Exec& exec, const UpdateSpec& update, const HeadView& head, const LossIo<Real>& io);

// Sums over the advantages of each of an epoch's minibatches.
class AdvantageSums {
 public:
  AdvantageSums(Device device, std::int64_t rows, std::int64_t minibatches);
  // index [minibatches, rows]
  void fill(const Exec& exec, const float* advantage, const std::int32_t* index);
  const AdvantageTerms* of(std::int64_t minibatch) const { return sums_.data() + minibatch; }

 private:
  std::int64_t rows_, minibatches_, parts_;
  Buffer<AdvantageTerms> sums_, scratch_;
};

// A minibatch's whole pass for a network that works out PPO's loss itself, from rows index[0 .. rows) of the samples
// (null: the first ones), observations through the normaliser.
struct PpoPass {
  UpdateSpec update;
  HeadView head;
  Samples<float> samples;
  const std::int32_t* index = nullptr;
  ObservationNormalizer::View normalizer;
  const AdvantageTerms* advantage_terms = nullptr;
  const float* log_std = nullptr;
  float* gradients = nullptr;  // [num_parameters]
};
// Adam's step from the gradients and loss terms of the last PpoPass.
struct PpoStep {
  UpdateSpec update;
  Control* control = nullptr;
  const float* gradients = nullptr;
  float *parameters = nullptr, *moment1 = nullptr, *moment2 = nullptr;
};
// *out = sum of terms [n]. For scratch see loss_scratch.
void sum_loss_terms(const Exec& exec, std::int64_t n, const LossTerms* terms, LossTerms* scratch, LossTerms* out);

// Adam (Kingma & Ba 2015, bias-corrected as in PyTorch) over flat buffers, with gradient clipping by norm.
template <class Real>
class Adam {
 public:
  Adam(Device device, std::int64_t num_parameters);

  // Sums `shards` gradients [shards, num_parameters] in order into the first, clips, and steps, unless `control` says
  // to skip. `terms` [parts] are the loss sums of a minibatch of `rows` rows; control's metrics are brought up to
  // date.
  void step(const Exec& exec, const UpdateSpec& update, Control* control, std::int64_t shards, std::int64_t parts,
            const LossTerms* terms, std::int64_t rows, Real* gradients, Real* parameters);

  Real* moment1() const { return moment1_.data(); }
  Real* moment2() const { return moment2_.data(); }
  std::int64_t size() const { return n_; }

 private:
  std::int64_t n_;
  Buffer<Real> moment1_, moment2_;
  Buffer<double> norm_scratch_, plan_;
};

}  // namespace hotloop
