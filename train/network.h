// The seam between the torch-free training machinery and LibTorch: what a library that runs networks must offer. The
// implementation lives in train/generic and is loaded at first use (load_generic), so that everything else starts
// without LibTorch.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sim/core/device.h"
#include "train/policy_spec.h"

namespace hotloop {

enum class Precision : std::uint8_t { fp32, tf32, bf16 };

// Rows [begin, end) of a batch and the networks' outputs and their gradients for them, on the device.
template <class Real>
struct Shard {
  std::int64_t index = 0, begin = 0, end = 0;
  const Real *head = nullptr, *value = nullptr;  // [end - begin, head_dim], [end - begin]
  Real *d_head = nullptr, *d_value = nullptr;    // to be filled by the loss
  Real* gradients = nullptr;                     // [num_parameters] of this shard
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

  // Forward, loss, backward over a minibatch of exactly `minibatch_rows` rows. `loss` is called once for each shard (on
  // the CPU from several threads) between the passes; it must fill d_head and d_value, and may write the gradients of
  // parameters that belong to no layer. Every layer's gradient is overwritten in gradients [num_shards,
  // num_parameters].
  using Loss = std::function<void(const Exec&, const Shard<Real>&)>;
  virtual void forward_backward(const Exec& exec, const Real* observation, Real* gradients, const Loss& loss) = 0;

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
};

// Loads libhotloop_generic.so from beside the program (or its ../lib) at the first call. Error where it is missing.
const GenericLibrary& load_generic();

}  // namespace hotloop
