// Forward and backward of one chain of layers over preallocated buffers, with LibTorch's matrix products written
// straight into them: no autograd graph, no allocation, no zeroing of gradients. Autograd is the oracle in the tests. S
// is how weights and activations are stored (float, double or Bf16); gradients and biases are Compute<S>.
#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "train/net_ops.h"
#include "train/policy_spec.h"

namespace hotloop {

// The flat parameters as a pass needs them.
template <class S>
struct Weights {
  const S* products = nullptr;        // what matrix products read; `exact` itself unless S is Bf16
  const Compute<S>* exact = nullptr;  // biases are read from here
};

template <class S>
class TorchNetPass {
 public:
  using R = Compute<S>;

  TorchNetPass() = default;
  // Buffers for `rows` rows; `training` adds those of the backward pass.
  TorchNetPass(std::vector<LayerSpec> layers, Device device, std::int64_t rows, bool training);

  bool empty() const { return layers_.empty(); }

  // x [rows, in]. Returns the last layer's output. If the last layer has no activation and `out` is given, the output
  // goes there as R [rows, width] instead.
  at::Tensor forward(const Exec& exec, const Weights<S>& weights, const at::Tensor& x, R* out);

  // Gradients of every layer into `gradients` (flat, whole). The gradient of the output comes either as R (d_out, for a
  // net that ended in `out`) or in d_hidden() (a net that ends in an activation). d_x, if given, receives the input's
  // gradient.
  void backward(const Exec& exec, const Weights<S>& weights, const at::Tensor& x, const R* d_out, R* gradients,
                at::Tensor* d_x);

  // [rows, width] where the caller leaves the gradient of the last hidden output.
  at::Tensor& d_hidden() { return work_.back().d; }

 private:
  struct Work {
    at::Tensor out, pre, d;  // [rows, out]; pre for silu only, d in training only
    at::Tensor weight_grad;  // [out, in] as S, only where S is not R
  };
  std::vector<LayerSpec> layers_;
  std::vector<Work> work_;
  at::Tensor scratch_;  // partial sums of bias gradients
  std::int64_t rows_ = 0;
};

// Tensor over memory that someone else owns.
template <class T>
at::Tensor wrap(const T* data, at::IntArrayRef shape, Device device);

// Uninitialised tensor on the device.
template <class T>
at::Tensor make_tensor(at::IntArrayRef shape, Device device);

}  // namespace hotloop
