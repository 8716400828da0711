// Many worlds of one environment on one device. A Batch owns the worlds' state and everything an environment does not:
// time limit, automatic reset (Gymnasium's SAME_STEP), the true terminal observation, episode statistics, and worlds
// that turn non-finite. The implementation for an environment is in batch_impl.h (.cu files only).
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/book.h"
#include "sim/core/contact_record.h"
#include "sim/core/device.h"
#include "sim/core/env.h"
#include "sim/core/episode_stats.h"
#include "sim/core/frame.h"

namespace hotloop {

class LoadedModel;  // sim/mujoco/load.h

struct BatchConfig {
  std::int64_t num_envs = 1;
  std::uint64_t seed = 0;
  Device device;
  int max_episode_steps = 0;          // 0: the task's own
  bool random_episode_start = false;  // first episodes start at a random time (their statistics are left out)
  bool evaluation = false;            // draws from the evaluation streams
  EnvOptions options = {};            // of the environment; those left out keep their defaults
  // Of tasks on models; each takes time and memory.
  bool external_forces = false;  // worlds take xfrc_applied()
  bool contact_tap = false;      // contacts() has something to say
};

// Positions and velocities of the worlds of a task on a model, on the batch's device: those of world w begin at
// qpos + w * stride and qvel + w * stride.
struct ModelState {
  float *qpos = nullptr, *qvel = nullptr;
  std::int64_t stride = 0;
  int nq = 0, nv = 0;  // 0: no model
};

// What steps read and write where no rollout's arena keeps it.
struct StepBuffers {
  StepBuffers(const EnvSpec& spec, std::int64_t num_envs, Device device);
  StepIo io() const;

  Memory action;  // of either type: 8 bytes a component
  Buffer<float> observation, reward, final_observation, reward_terms;
  Buffer<std::uint8_t> terminated, truncated, action_mask;
};

class Batch {
 public:
  virtual ~Batch() = default;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  const EnvSpec& spec() const { return spec_; }
  std::int64_t num_envs() const { return config_.num_envs; }
  Device device() const { return config_.device; }
  int max_episode_steps() const { return max_episode_steps_; }

  // Starts every world anew and writes the first observations (and action masks, where the task has them).
  virtual void reset(const Exec& exec, float* observation, std::uint8_t* action_mask) = 0;
  // One step of every world, ordered on exec; no allocation, no synchronisation, capturable.
  virtual void step(const Exec& exec, const StepIo& io) = 0;

  // Frames of a world's picture (the environment's VisualModel has as many); 0: it has no picture.
  virtual int num_frames() const { return 0; }
  // Where the frames of worlds [first, first + count) are now: out [count][frames] on the batch's device, ordered on
  // exec. Only reads the worlds.
  virtual void write_frames(const Exec& /*exec*/, std::int64_t /*first*/, std::int64_t /*count*/,
                            Frame* /*out*/) const {}

  // ---- tasks on models
  // The model; null where there is none.
  virtual const LoadedModel* model() const { return nullptr; }
  // Free to write between steps.
  virtual ModelState model_state() const { return {}; }
  // Forces and torques on the bodies, [num_envs][bodies][6] on the batch's device: MuJoCo's xfrc_applied, in the
  // world's axes at the body's centre of mass. They act in every step until they are changed. Null without
  // external_forces.
  virtual float* xfrc_applied() const { return nullptr; }
  // The contacts of a world in its latest step, with the forces that this step used; waits for exec. Empty without
  // contact_tap, and for a world that has just started anew.
  virtual std::vector<ContactRecord> contacts(const Exec& /*exec*/, std::int64_t /*world*/) const { return {}; }

  // Sums the episodes that ended since the last call into *out, and the terms of their rewards into *terms (null: not
  // wanted), both on the batch's device, and clears them.
  void collect(const Exec& exec, EpisodeStats* out, RewardTermSums* terms = nullptr);

  // Return and length of each world's first whole episode (device arrays [num_envs]; length 0: not ended yet). Taking
  // one episode a world keeps short episodes from counting more than long ones.
  const float* first_return() const { return book_.first_return; }
  const std::int32_t* first_length() const { return book_.first_length; }
  // Of that episode, the sums of the reward's terms: [num_envs][terms], null where the task names none.
  const float* first_terms() const { return terms_.first; }
  // The same sums of the episode under way.
  const float* episode_terms() const { return terms_.episode; }

  // For kernels that step the worlds themselves: the books, and the environments' states as the batch stores them.
  BookView book_view() const;
  std::uint32_t* state_words() const { return words_; }

  // The whole state of all worlds as raw bytes on the device: copy it out and in for exact resumption.
  std::byte* raw_state() const { return memory_.data(); }
  std::size_t raw_state_bytes() const { return memory_.bytes(); }

 protected:
  // state_bytes: size of one world's State, a multiple of 4.
  Batch(EnvSpec spec, const BatchConfig& config, std::size_t state_bytes);
  // For a reset of all worlds of a task with terms.
  void clear_terms(const Exec& exec);
  std::uint32_t stream(RngStream s) const {
    return static_cast<std::uint32_t>(s) + (config_.evaluation ? kEvaluationStreams : 0);
  }

  EnvSpec spec_;
  BatchConfig config_;
  int max_episode_steps_;
  Memory memory_;
  std::uint32_t* words_ = nullptr;  // environment state
  WorldBook book_ = {};
  TermBook terms_ = {};

 private:
  std::int64_t num_terms() const { return static_cast<std::int64_t>(spec_.reward_terms.size()); }
  std::size_t term_bytes() const { return sizeof(float) * static_cast<std::size_t>(num_envs() * num_terms()); }
  Buffer<EpisodeStats> scratch_;
  Buffer<RewardTermSums> term_scratch_;
};

// Random legal actions for a space (uniform; infinite bounds are drawn in [-1, 1]), keyed by (seed, action stream,
// world, step): what random-policy benchmarks and tests feed. action as in StepIo. low/high and nvec of `space` are
// copied to the device once.
class RandomActions {
 public:
  RandomActions(const ActionSpace& space, std::int64_t num_envs, Device device, std::uint64_t seed);
  void fill(const Exec& exec, std::uint64_t step, void* action);
  // The same for a captured graph: takes the step from *step, on exec's device, and adds 1 to it.
  void fill(const Exec& exec, std::uint64_t* step, void* action);

 private:
  template <class Action, class Step>
  void fill_as(const Exec& exec, Step step, void* out);
  bool box_;
  std::int64_t num_envs_, dim_;
  std::uint64_t seed_;
  Buffer<float> low_, span_;
};

// The view of a batch's books that kernels take.
inline BookView make_book_view(const BatchConfig& config, const WorldBook& book, int max_episode_steps,
                               std::uint32_t base_stream) {
  const auto stream = [&](RngStream s) { return base_stream + static_cast<std::uint32_t>(s); };
  return {book,
          config.num_envs,
          config.seed,
          stream(RngStream::reset),
          stream(RngStream::dynamics),
          stream(RngStream::episode_length),
          max_episode_steps,
          config.random_episode_start};
}
inline BookView Batch::book_view() const {
  return make_book_view(config_, book_, max_episode_steps_, stream(RngStream{}));
}

}  // namespace hotloop
