// Behaviour cloning (Pomerleau 1991): the actor learns a dataset's actions by supervised learning. An iteration takes
// num_envs * num_steps steps of the dataset in num_minibatches updates; total_timesteps counts them.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "train/replay_source.h"
#include "train/trainer.h"

namespace hotloop {

class BcTrainer : public Trainer {
 public:
  // Error where config.dataset is no dataset of the task.
  BcTrainer(const TrainConfig& config, const EnvEntry& env, Device device);
  ~BcTrainer() override;
  std::string source() const override;

 protected:
  void prepare() override;
  void iteration() override;
  void loss(const Exec& exec, const LossIo<float>& io) override;

 private:
  std::unique_ptr<ReplaySource> replay_;
  Buffer<std::int32_t> rows_;  // 0, 1, 2 ...: the block is shuffled already
  Buffer<float> samples_of_box_, zeros_;
  Buffer<EpisodeStats> episodes_;
  Buffer<RewardTermSums> reward_terms_;
  Buffer<VarianceTerms> variance_;
  Samples<float> samples_;
};

}  // namespace hotloop
