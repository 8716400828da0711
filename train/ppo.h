// Proximal policy optimisation (Schulman et al. 2017) on one device: owns the worlds, the rollout's arena and the
// reward normaliser beside what every Trainer has.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "data/arena.h"
#include "train/rollout_ops.h"
#include "train/trainer.h"

namespace hotloop {

// The leaves of a rollout, with TorchRL's names (see data/tensordict/arena_view.h for the TensorDict over them).
std::vector<LeafSpec> rollout_leaves(const PolicySpec& policy, const EnvSpec& env, std::int64_t num_steps,
                                     std::int64_t num_envs);

class PpoTrainer : public Trainer {
 public:
  // Error where the device has too little memory, with the number of environments that would fit.
  PpoTrainer(const TrainConfig& config, const EnvEntry& env, Device device);
  ~PpoTrainer() override;

  const Arena& arena() const { return *arena_; }
  const Arena* rollout() const override { return arena_.get(); }
  const Batch* batch() const override { return batch_.get(); }
  std::string source() const override;

 protected:
  void iteration() override;
  void loss(const Exec& exec, const LossIo<float>& io) override;
  std::vector<StateTensor> state() override;
  void loaded() override;

 private:
  void allocate();
  void bind_rollout();
  void begin_run();
  void collect();
  void rollout_step(std::int64_t t);
  RolloutWork rollout_work() const;
  DrawKey draw_key(std::int64_t t) const;
  SampleIo sample_io(std::int64_t t) const;
  StepIo step_io(std::int64_t t) const;
  void advantages();
  void update();
  void finish_iteration();
  float* observation(std::int64_t t) const;
  std::uint8_t* action_mask(std::int64_t t) const;

  std::unique_ptr<Batch> batch_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<RewardNormalizer> reward_normalizer_;
  std::unique_ptr<Permutation> permutation_;
  std::unique_ptr<AdvantageSums> advantage_sums_;  // for a network that has_ppo_pass()
  Buffer<EpisodeStats> episodes_;
  Buffer<RewardTermSums> reward_terms_;
  Buffer<VarianceTerms> variance_, variance_scratch_;
  Buffer<float> head_out_, normalized_, last_value_, bootstrap_observation_, bootstrap_value_;
  RolloutView rollout_;
  Samples<float> samples_;
};

}  // namespace hotloop
