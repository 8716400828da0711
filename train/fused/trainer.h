// PPO on the fused road: some iterations are one launch of a kernel that is specialised to the task, the network and
// the card (train/fused/kernel.h). CUDA devices only; the same state as PpoTrainer's, so that a run can be resumed on
// either road. A population's members are trained by the same launches, each as it would be alone, to the bit.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/graph.h"
#include "sim/core/memory_slots.h"
#include "sim/core/special_kernel.h"
#include "train/fused/args.h"
#include "train/fused/specialize.h"
#include "train/trainer.h"

namespace hotloop {

class FusedPpoTrainer : public Trainer {
 public:
  // members: each one's configuration, which may differ in its seed and in what UpdateSpec takes of it; none: config
  // alone. Error where the device has too little memory, or the run-time compiler is missing.
  FusedPpoTrainer(const TrainConfig& config, const EnvEntry& env, Device device,
                  const std::vector<TrainConfig>& members = {});
  ~FusedPpoTrainer() override;

  const Batch* batch() const override { return batch_.get(); }
  void show_rollout() override;
  void update_rollout() override;
  const Arena* rollout() const override { return arena_.get(); }
  std::string source() const override;
  std::int64_t members() const override { return members_; }
  std::int64_t most_at_once() const override;
  bool captured() const override { return config_.capture != "off"; }
  // Share of each phase in the clocks since the last call (or the start); waits for the device.
  std::vector<PhaseShare> phases() override;

 protected:
  void iteration() override {}
  void queue(std::int64_t iterations) override;
  std::int64_t member_bytes() const override { return slots_ ? static_cast<std::int64_t>(slots_->stride()) : 0; }
  void loss(const Exec&, const LossIo<float>&) override {}
  std::vector<StateTensor> state() override;
  void loaded() override;

 private:
  void allocate();
  void begin(std::int64_t member, const TrainConfig& config, const std::vector<float>& parameters);
  FusedArgs arguments() const;
  void launch(std::int64_t iterations);

  std::int64_t members_;
  FusedShape shape_;
  std::optional<MemorySlots> slots_;  // of several members
  Buffer<FusedMember> member_;
  std::shared_ptr<const SpecialKernel> kernel_;
  std::unique_ptr<Batch> batch_;
  std::unique_ptr<Arena> arena_;          // after show_rollout()
  std::map<std::int64_t, Graph> graphs_;  // launches by their iterations
  Buffer<EpisodeStats> episodes_;
  Buffer<float> observation_, record_, reward_, value_, final_observation_, partials_, loss_partials_, own_;
  Buffer<std::uint8_t> ended_;
  Buffer<std::int32_t> truncations_;
  Buffer<AdvantageTerms> advantages_;
  Buffer<Moments> returns_, observations_;
  Buffer<VarianceTerms> variance_;
  std::unique_ptr<RewardNormalizer> reward_normalizer_;
  Buffer<unsigned long long> norms_;
  Buffer<FusedTally> tally_;
  Buffer<unsigned long long> phases_;
};

}  // namespace hotloop
