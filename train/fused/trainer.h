// PPO on the fused road: an iteration is one launch of a kernel that is specialised to the task, the network and the
// card (train/fused/kernel.h), and what publishes its metrics. CUDA devices only; the same state as PpoTrainer's, so
// that a run can be resumed on either road.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sim/core/special_kernel.h"
#include "train/fused/args.h"
#include "train/fused/specialize.h"
#include "train/trainer.h"

namespace hotloop {

class FusedPpoTrainer : public Trainer {
 public:
  // Error where the device has too little memory, or the run-time compiler is missing.
  FusedPpoTrainer(const TrainConfig& config, const EnvEntry& env, Device device);
  ~FusedPpoTrainer() override;

  const Batch* batch() const override { return batch_.get(); }
  void show_rollout() override;
  void update_rollout() override;
  const Arena* rollout() const override { return arena_.get(); }
  std::string source() const override;
  // Of the last minibatch [num_parameters], before clipping; for tests.
  const float* gradients() const { return gradients_.data(); }
  // Share of each phase in the clocks since the last call (or the start); waits for the device.
  std::vector<PhaseShare> phases() override;

 protected:
  void iteration() override;
  void loss(const Exec&, const LossIo<float>&) override {}
  std::unique_ptr<Captured> capture_iteration() override;
  std::vector<StateTensor> state() override;
  void loaded() override;

 private:
  void allocate();
  FusedArgs arguments() const;

  FusedShape shape_;
  std::shared_ptr<const SpecialKernel> kernel_;
  std::unique_ptr<Batch> batch_;
  std::unique_ptr<Arena> arena_;  // after show_rollout()
  Buffer<EpisodeStats> episodes_;
  Buffer<RewardTermSums> reward_terms_;
  Buffer<float> observation_, record_, reward_, value_, final_observation_, partials_, loss_partials_;
  Buffer<std::uint8_t> ended_;
  Buffer<std::int32_t> truncations_;
  Buffer<AdvantageTerms> advantages_;
  Buffer<Moments> returns_;
  Buffer<VarianceTerms> variance_;
  std::unique_ptr<RewardNormalizer> reward_normalizer_;
  Buffer<unsigned long long> exchange_;  // of norms, then the barrier
  Buffer<unsigned long long> phases_;
};

}  // namespace hotloop
