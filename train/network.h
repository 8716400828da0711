// The seam between the training machinery and what runs its networks. train/fused does so without LibTorch; the
// implementation on LibTorch lives in train/generic and is loaded at first use (load_generic), so that everything else
// starts without it.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sim/core/device.h"
#include "train/policy_spec.h"

namespace hotloop {

struct PolicyGraph;  // train/export/graph.h
struct PpoPass;      // train/update_ops.h
struct PpoStep;
struct RolloutWork;  // train/rollout_ops.h
struct LossTerms;    // train/control.h

enum class Precision : std::uint8_t { fp32, tf32, bf16 };

// Part `index` of a minibatch: rows [begin, end), the networks' outputs and their gradients for them, on the device.
template <class Real>
struct Part {
  std::int64_t index = 0, begin = 0, end = 0;
  const Real *head = nullptr, *value = nullptr;  // [end - begin, head_dim], [end - begin]
  Real *d_head = nullptr, *d_value = nullptr;    // to be filled by the loss
  Real* d_log_std = nullptr;  // [action dim], to be filled too: sums over the rows; null unless it is a parameter
};

// An actor-critic over a flat parameter buffer that the caller owns. Work is ordered on exec; no allocation and no
// synchronisation after the first calls, so that calls can be captured.
template <class Real>
class Network {
 public:
  virtual ~Network() = default;

  // Actor and critic on `rows` (<= max_rows) observations: head [rows, head_dim], value [rows].
  virtual void act(const Exec& exec, std::int64_t rows, const Real* observation, Real* head, Real* value) = 0;
  // The critic alone.
  virtual void evaluate(const Exec& exec, std::int64_t rows, const Real* observation, Real* value) = 0;

  // Forward, loss, backward over a minibatch of exactly `minibatch_rows` rows. `loss` is called once for each of the
  // minibatch's parts (on the CPU from several threads) between the passes. Every parameter's gradient is overwritten
  // in gradients [num_shards, num_parameters].
  using Loss = std::function<void(const Exec&, const Part<Real>&)>;
  virtual void forward_backward(const Exec& exec, const Real* observation, Real* gradients, const Loss& loss) = 0;
  // Networks that step such worlds themselves: the whole rollout and its values.
  virtual bool has_rollout(const RolloutWork&) const { return false; }
  virtual void rollout(const Exec&, const RolloutWork&) {}
  // Networks that pass a minibatch with PPO's loss in their own kernels, and then make Adam's step: ppo_pass leaves the
  // gradients, ppo_step changes the parameters and all copies of them.
  virtual bool has_ppo_pass() const { return false; }
  virtual void ppo_pass(const Exec&, const PpoPass&) {}
  virtual void ppo_step(const Exec&, const PpoStep&) {}
  virtual void ppo_loss(const Exec&, LossTerms*) {}  // the sums of the last ppo_pass
  virtual std::int64_t parts() const = 0;
  virtual std::int64_t part_rows() const = 0;  // of the largest

  // Brings copies of the parameters in other precisions up to date after they changed.
  virtual void parameters_changed(const Exec& exec) = 0;
};

struct NetworkConfig {
  PolicySpec policy;
  Device device;
  Precision precision = Precision::fp32;
  std::int64_t max_rows = 0;        // of act and evaluate
  std::int64_t minibatch_rows = 0;  // of forward_backward; a multiple of num_shards
  std::int64_t num_shards = 1;
};

// A captured piece of work on one stream.
class Captured {
 public:
  virtual ~Captured() = default;
  virtual void replay() = 0;
};

// The functions that the LibTorch library exports as one table.
struct GenericLibrary {
  std::unique_ptr<Network<float>> (*make_network)(const NetworkConfig&, const float* parameters);
  std::unique_ptr<Network<double>> (*make_network_double)(const NetworkConfig&, const double* parameters);
  // Records `work` (already run at least once on exec) into a CUDA graph on exec's stream, allocations of LibTorch
  // included.
  std::unique_ptr<Captured> (*capture)(const Exec& exec, const std::function<void()>& work);
  // LibTorch's own settings, once a process: threads, TF32, determinism.
  void (*configure)(Device device, Precision precision);
  const char* (*version)();
  // A TorchScript file's content: forward(observation[, action_mask]) -> action, and methods logits and value where the
  // graph has them. `metadata` becomes the extra file metadata.json.
  std::string (*torchscript)(const PolicyGraph& graph, const std::string& metadata);
};

// Loads libhotloop_generic.so from beside the program (or its ../lib) at the first call. Error where it is missing.
const GenericLibrary& load_generic();

}  // namespace hotloop
