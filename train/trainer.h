// What every algorithm over an actor-critic has, and all that the run loop knows of one: parameters, optimiser,
// observation normaliser, and whole iterations that are queued on one device. Nothing in an iteration waits for the
// device; on a GPU it is captured once and replayed. Torch-free: the networks come through Network (train/network.h).
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/arena.h"
#include "data/safetensors.h"
#include "sim/core/registry.h"
#include "sim/core/thread_pool.h"
#include "train/config.h"
#include "train/iteration_ops.h"
#include "train/network.h"
#include "train/policy_net.h"
#include "train/road.h"
#include "train/update_ops.h"

namespace hotloop {

// Iterations that a configuration asks for: total_timesteps rounded up to whole rollouts.
std::int64_t num_iterations(const TrainConfig& config);
UpdateSpec make_update_spec(const TrainConfig& config);
Precision parse_precision(const std::string& name);

// Tensors copied to the host, and the views that write_safetensors wants.
struct Snapshot {
  std::vector<std::vector<std::byte>> storage;
  std::vector<NamedTensor> tensors;
};

// A phase of an iteration: its part of the time, what it has to do, and the share of the card's limit that doing it
// in a second would take, whichever of both is nearer; 0 where that is not known.
struct PhaseShare {
  std::string name;
  double share;
  double flops = 0, bytes = 0;
  double limit_per_second = 0;
};

class Trainer {
 public:
  virtual ~Trainer() = default;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Queues the next iterations, at most most_at_once(). At most depth() may be under way.
  void enqueue(std::int64_t iterations = 1);
  virtual std::int64_t most_at_once() const { return 1; }
  std::int64_t depth() const { return ring_.depth(); }
  // Metrics of the oldest iteration not yet handed out, if it has finished (poll) or once it has (wait).
  std::optional<IterationMetrics> poll();
  IterationMetrics wait();
  // The same of every member of a population; nothing until all have finished it.
  std::vector<IterationMetrics> poll_members();
  std::vector<IterationMetrics> wait_members();
  std::int64_t enqueued() const { return enqueued_; }
  std::int64_t in_flight() const { return enqueued_ - delivered_; }

  // Trainings that go on side by side, each with a state of its own.
  virtual std::int64_t members() const { return 1; }

  // Whole state of the training, for checkpoints. Nothing may be in flight.
  Snapshot save(std::int64_t member = 0);
  // Error naming the tensor that is missing or of another shape; nothing is changed then. All members must be of one
  // iteration.
  void load(const Safetensors& file, std::int64_t member = 0);
  // Takes over the named tensors of state(), which have the file's shapes; all else stays as it is.
  void adopt(const Safetensors& file, const std::vector<std::string>& names);

  const PolicySpec& policy() const { return policy_; }
  const Exec& exec() const { return exec_; }
  const float* parameters(std::int64_t member = 0) const { return of_member(parameters_.data(), member); }
  // Null unless the policy normalises observations.
  const double* normalizer_state(std::int64_t member = 0) const {
    return normalizer_ ? of_member(normalizer_->state(), member) : nullptr;
  }
  Road road() const { return road_; }
  // Whether iterations cost the host no more than one call.
  virtual bool captured() const { return graph_ != nullptr; }
  // The worlds and the rollout's buffers; null where the algorithm simulates nothing. A road with a layout of its own
  // has no rollout() until show_rollout() was called, between iterations; then update_rollout() queues the way there
  // of the latest one that began after that.
  virtual void show_rollout() {}
  virtual void update_rollout() {}
  virtual const Arena* rollout() const { return nullptr; }
  virtual const Batch* batch() const { return nullptr; }
  // Where the time of iterations went since the last call; empty where the road does not tell.
  virtual std::vector<PhaseShare> phases() { return {}; }
  // What it trains from, for the line at the start: "8 worlds x 128 steps".
  virtual std::string source() const = 0;

 protected:
  struct StateTensor {
    std::string name;
    DType dtype;
    std::vector<std::int64_t> shape;
    void* data;  // on the device
  };
  Trainer(const TrainConfig& config, const EnvEntry& env, Device device, std::int64_t depth = MetricsRing::kDepth,
          std::int64_t members = 1);

  // Bytes from one member's state to the next one's.
  virtual std::int64_t member_bytes() const { return 0; }
  template <class T>
  T* of_member(T* first, std::int64_t member) const {
    return reinterpret_cast<T*>(reinterpret_cast<std::intptr_t>(first) + member * member_bytes());
  }
  // Parameters at their start values, with their gradients (`shards` sets) and moments.
  void allocate_parameters(std::int64_t shards);
  // The parameters, and what a minibatch needs. max_rows: of the network's act and evaluate.
  void allocate_network(std::int64_t max_rows, bool has_action_mask);
  // One update from rows index[0 .. rows of a minibatch) of `from`.
  void minibatch(const Samples<float>& from, const std::int32_t* index);
  // The same for a network that has_ppo_pass(); advantages: sums over those rows.
  void ppo_minibatch(const Samples<float>& from, const std::int32_t* index, const AdvantageTerms* advantages);
  // The worlds that the configuration asks for, and the words of source() for them.
  std::unique_ptr<Batch> make_worlds(std::int64_t seed) const;
  std::string worlds_text() const;
  // A destructor's first step: buffers must outlive what is queued on them.
  void drain() noexcept;
  std::int64_t minibatch_rows() const { return config_.num_envs * config_.num_steps / config_.num_minibatches; }

  // Work of the host before an iteration is queued or replayed.
  virtual void prepare() {}
  virtual void iteration() = 0;
  // Queues so many iterations.
  virtual void queue(std::int64_t iterations);
  virtual void loss(const Exec& exec, const LossIo<float>& io) = 0;
  // iteration() as one piece of work; it has run before.
  virtual std::unique_ptr<Captured> capture_iteration();
  virtual std::vector<StateTensor> state();
  virtual void loaded() {}  // after the tensors of state() were written

  TrainConfig config_;
  const EnvEntry& env_;
  PolicySpec policy_;
  UpdateSpec update_;
  Road road_;
  ThreadPool pool_;
  StreamHandle stream_;
  Exec exec_;
  std::unique_ptr<HeadArrays> head_;
  std::unique_ptr<Network<float>> network_;
  std::unique_ptr<ObservationNormalizer> normalizer_;
  std::unique_ptr<Minibatch<float>> minibatch_;
  std::unique_ptr<Adam<float>> adam_;
  Buffer<float> parameters_, gradients_;
  Buffer<Control> control_;
  MetricsRing ring_;

 private:
  // On the road of this run.
  std::unique_ptr<Network<float>> make_network(std::int64_t max_rows) const;
  void state_written();
  void relax(std::chrono::steady_clock::time_point since);

  std::unique_ptr<Captured> graph_;
  Buffer<LossTerms> loss_terms_, loss_scratch_;
  Buffer<float> log_std_rows_, log_std_scratch_;
  std::int64_t enqueued_ = 0, delivered_ = 0, eager_iterations_ = 0;
};

// A population of trainings with these configurations, which differ in nothing but the seed and what UpdateSpec takes
// of them, on the fused road of a GPU. Error where the device has too little memory, or the fused road does not take
// them.
std::unique_ptr<Trainer> make_population_trainer(const std::vector<TrainConfig>& members, const EnvEntry& env,
                                                 Device device);

// The trainer that config.algo names. Error where the device has too little memory, with what would fit.
std::unique_ptr<Trainer> make_trainer(const TrainConfig& config, const EnvEntry& env, Device device);

}  // namespace hotloop
