// PPO on one device: owns the worlds, the rollout's arena, parameters, optimiser and normalisers, and queues whole
// iterations. Nothing in an iteration waits for the device; on a GPU it is captured once and replayed. Torch-free: the
// networks come through Network (train/network.h).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "data/arena.h"
#include "data/safetensors.h"
#include "sim/core/registry.h"
#include "sim/core/thread_pool.h"
#include "train/config.h"
#include "train/iteration_ops.h"
#include "train/network.h"
#include "train/policy_net.h"
#include "train/update_ops.h"

namespace hotloop {

// Iterations that a configuration asks for: total_timesteps rounded up to whole rollouts.
std::int64_t num_iterations(const TrainConfig& config);
UpdateSpec make_update_spec(const TrainConfig& config);
Precision parse_precision(const std::string& name);

// The leaves of a rollout, with TorchRL's names (see data/tensordict/arena_view.h for the TensorDict over them).
std::vector<LeafSpec> rollout_leaves(const PolicySpec& policy, std::int64_t num_steps, std::int64_t num_envs);

// Tensors copied to the host, and the views that write_safetensors wants.
struct Snapshot {
  std::vector<std::vector<std::byte>> storage;
  std::vector<NamedTensor> tensors;
};

class PpoTrainer {
 public:
  // Error where the device has too little memory, with the number of environments that would fit.
  PpoTrainer(const TrainConfig& config, const EnvEntry& env, Device device);
  ~PpoTrainer();
  PpoTrainer(const PpoTrainer&) = delete;
  PpoTrainer& operator=(const PpoTrainer&) = delete;

  // Queues the next iteration. At most MetricsRing::kDepth may be under way.
  void enqueue();
  // Metrics of the oldest iteration not yet handed out, if it has finished (poll) or once it has (wait).
  std::optional<IterationMetrics> poll();
  IterationMetrics wait();
  std::int64_t enqueued() const { return enqueued_; }
  std::int64_t in_flight() const { return enqueued_ - delivered_; }

  // Whole state of the training, for checkpoints. Nothing may be in flight.
  Snapshot save();
  // Error naming the tensor that is missing or of another shape; nothing is changed then.
  void load(const Safetensors& file);

  const PolicySpec& policy() const { return policy_; }
  const Exec& exec() const { return exec_; }
  const Arena& arena() const { return *arena_; }
  const Batch& batch() const { return *batch_; }
  const float* parameters() const { return parameters_.data(); }
  // Null unless the policy normalises observations.
  const double* normalizer_state() const { return normalizer_ ? normalizer_->state() : nullptr; }
  bool captured() const { return graph_ != nullptr; }

 private:
  struct StateTensor {
    std::string name;
    DType dtype;
    std::vector<std::int64_t> shape;
    void* data;  // on the device
  };
  std::vector<StateTensor> state();
  void allocate();
  void bind_rollout();
  void begin_run();
  void iteration();
  void rollout();
  void rollout_step(std::int64_t t);
  void advantages();
  void update();
  void minibatch(const std::int32_t* index);
  void finish_iteration();
  float* observation(std::int64_t t) const;
  std::uint8_t* action_mask(std::int64_t t) const;

  TrainConfig config_;
  const EnvEntry& env_;
  PolicySpec policy_;
  UpdateSpec update_;
  ThreadPool pool_;
  StreamHandle stream_;
  Exec exec_;
  std::unique_ptr<Batch> batch_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<HeadArrays> head_;
  std::unique_ptr<Network<float>> network_;
  std::unique_ptr<ObservationNormalizer> normalizer_;
  std::unique_ptr<RewardNormalizer> reward_normalizer_;
  std::unique_ptr<Permutation> permutation_;
  std::unique_ptr<Minibatch<float>> minibatch_;
  std::unique_ptr<Adam<float>> adam_;
  std::unique_ptr<Captured> graph_;
  Buffer<float> parameters_, gradients_;
  Buffer<Control> control_;
  Buffer<EpisodeStats> episodes_;
  Buffer<RewardTermSums> reward_terms_;
  Buffer<VarianceTerms> variance_, variance_scratch_;
  Buffer<LossTerms> loss_terms_, loss_scratch_;
  Buffer<float> head_out_, normalized_, last_value_, bootstrap_observation_, bootstrap_value_, log_std_rows_,
      log_std_scratch_;
  RolloutView rollout_;
  Samples<float> samples_;
  MetricsRing ring_;
  std::int64_t enqueued_ = 0, delivered_ = 0, eager_iterations_ = 0;
};

}  // namespace hotloop
