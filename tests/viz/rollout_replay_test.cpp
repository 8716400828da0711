#include "viz/source/rollout_replay.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/temp_folder.h"
#include "tests/viz/small_training.h"
#include "train/ppo.h"

namespace hotloop {
namespace {

// Rolls out as the fused road of a card does, but trains nothing: many iterations at once while nobody looks, then one
// (or `visible`) at once, each in a buffer of its own until update_rollout(). Remembers where its carts were.
class FastTrainer final : public Trainer {
 public:
  FastTrainer(const TrainConfig& config, const EnvEntry& env)
      : Trainer(config, env, {}, kDepth),
        batch_(make_worlds(config.seed)),
        buffers_(batch_->spec(), config.num_envs, {}),
        random_(batch_->spec().action, config.num_envs, {}, 7),
        actions_(static_cast<std::size_t>(config.num_steps * config.num_envs)) {
    batch_->reset(exec_, buffers_.observation.data(), nullptr);
  }

  std::int64_t most_at_once() const override { return arena_ ? visible : 16; }
  void show_rollout() override {
    arena_ = std::make_unique<Arena>(Device{}, rollout_leaves(policy_, env_.spec, config_.num_steps, config_.num_envs));
  }
  void update_rollout() override {
    ++updates;
    std::memcpy(arena_->bytes(arena_->leaf("action")), actions_.data(), actions_.size() * sizeof(std::int64_t));
  }
  const Arena* rollout() const override { return arena_.get(); }
  const Batch* batch() const override { return batch_.get(); }
  std::string source() const override { return worlds_text(); }

  std::int64_t visible = 1;  // iterations at once when the rollout is shown
  int updates = 0;
  std::map<std::int64_t, std::vector<float>> carts;  // by steps

 protected:
  void queue(std::int64_t iterations) override {
    for (std::int64_t i = 0; i < iterations; ++i) iteration();
  }
  void iteration() override {
    for (std::int64_t t = 0; t < config_.num_steps; ++t) {
      random_.fill(exec_, static_cast<std::uint64_t>(++step_), buffers_.action.data());
      std::memcpy(actions_.data() + t * config_.num_envs, buffers_.action.data(),
                  static_cast<std::size_t>(config_.num_envs) * sizeof(std::int64_t));
      batch_->step(exec_, buffers_.io());
      carts[step_] = positions(*batch_, exec_);
    }
  }
  void loss(const Exec&, const LossIo<float>&) override {}

 public:
  static std::vector<float> positions(const Batch& batch, const Exec& exec) {
    std::vector<Frame> frames(static_cast<std::size_t>(batch.num_envs() * batch.num_frames()));
    batch.write_frames(exec, 0, batch.num_envs(), frames.data());
    std::vector<float> all;
    for (const Frame& f : frames) all.insert(all.end(), {f.pos[0], f.pos[1], f.pos[2], f.quat[0], f.quat[2]});
    return all;
  }

 private:
  static constexpr std::int64_t kDepth = 4096;  // nobody takes its metrics
  std::unique_ptr<Batch> batch_;
  StepBuffers buffers_;
  RandomActions random_;
  std::unique_ptr<Arena> arena_;
  std::vector<std::int64_t> actions_;
  std::int64_t step_ = 0;
};

class RolloutReplays : public testing::Test {
 protected:
  // A training whose iterations are `faster` times as many as the looks at it, and what the looks see.
  void look(int times, int faster) {
    for (int i = 0; i < times; ++i) {
      for (int k = 0; k < faster; ++k) {
        trainer_.enqueue(trainer_.most_at_once());
        replay_.serve(trainer_);
      }
      const std::int64_t before = replay_.position();
      replay_.pass(kPeriod, kPeriod);
      if (!replay_.shows() || replay_.position() == before) continue;
      if (!replay_.stepped()) continue;
      ++steps_;
      if (replay_.position() % kSteps == 0) ++rollouts_;
      ASSERT_EQ(FastTrainer::positions(replay_.batch(), exec_), trainer_.carts.at(replay_.position()))
          << "step " << replay_.position();
    }
  }

  static constexpr double kPeriod = 0.02;
  static constexpr std::int64_t kSteps = 32;
  const TempFolder folder_;
  const TrainConfig config_ = small_training(folder_ / "run");
  const EnvEntry& env_ = find_environment("CartPole-v1");
  const Exec exec_{};
  FastTrainer trainer_{config_, env_};
  RolloutReplay replay_{config_, env_, exec_};
  int steps_ = 0, rollouts_ = 0;
};

TEST_F(RolloutReplays, AFastTrainingIsShownStepByStepAndAskedOncePerReplay) {
  look(400, 5);
  EXPECT_GT(steps_, 300) << replay_stage_text(replay_.stage());
  EXPECT_GT(rollouts_, 8) << replay_stage_text(replay_.stage());
  EXPECT_LE(trainer_.updates, rollouts_ + 2) << "the training was asked for more than is shown";
}

// A training that is slower than its worlds: the replay waits at the end of a rollout for the next.
TEST_F(RolloutReplays, ASlowTrainingIsWaitedFor) {
  for (int i = 0; i < 40; ++i) {
    look(1, 1);
    look(50, 0);
  }
  EXPECT_GT(rollouts_, 15) << replay_stage_text(replay_.stage());
  EXPECT_EQ(replay_.position() % kSteps, 0);
}

// Of several at once the state before the last is not to be had: nothing is shown rather than a wrong rollout.
TEST_F(RolloutReplays, ShowsNoRolloutWhoseStartIsGone) {
  trainer_.visible = 2;
  look(100, 1);
  EXPECT_EQ(steps_, 0);
  EXPECT_EQ(replay_.stage(), ReplayStage::begun);
  trainer_.visible = 1;
  look(100, 1);
  EXPECT_GT(rollouts_, 1) << replay_stage_text(replay_.stage());
}

TEST_F(RolloutReplays, KnowsWhatAStepCostsBeforeTheTrainingBegins) {
  EXPECT_GT(replay_.step_seconds(), 0);
  EXPECT_LT(replay_.step_seconds(), 0.05);
  EXPECT_FALSE(replay_.shows()) << "the measured steps are none of the training's";
  EXPECT_EQ(replay_.stage(), ReplayStage::not_asked);
}

}  // namespace
}  // namespace hotloop
