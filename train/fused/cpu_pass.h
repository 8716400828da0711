// Forward and backward of one chain of layers over a few rows at a time, on one thread: all that a chunk of rows needs
// stays in the core's cache. Matrices as in cpu_gemm.h.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/core/device.h"
#include "train/policy_spec.h"

namespace hotloop {

// The layers' parameters as the products read them; shared by the threads.
class CpuLayers {
 public:
  // input_gradient: of the first layer too. training: whatever the backward pass needs.
  CpuLayers(const std::vector<LayerSpec>& layers, bool training, bool input_gradient);

  // Takes over the flat parameters.
  void pack(const float* parameters);

  bool empty() const { return layers_.empty(); }
  std::int64_t size() const { return static_cast<std::int64_t>(layers_.size()); }
  const LayerSpec& layer(std::int64_t i) const { return layers_[static_cast<std::size_t>(i)]; }
  const float* forward_weights(std::int64_t i) const {
    return packed_.data() + at_[static_cast<std::size_t>(i)].forward;
  }
  // Null where the layer's input needs no gradient.
  const float* backward_weights(std::int64_t i) const {
    const std::int64_t at = at_[static_cast<std::size_t>(i)].backward;
    return at < 0 ? nullptr : packed_.data() + at;
  }
  const float* bias(std::int64_t i) const { return packed_.data() + at_[static_cast<std::size_t>(i)].bias; }

 private:
  struct Offsets {
    std::int64_t forward, backward, bias;  // into packed_ [elements]; backward -1: none
  };
  std::vector<LayerSpec> layers_;
  std::vector<Offsets> at_;
  Buffer<float> packed_;
};

// One thread's buffers.
class CpuPass {
 public:
  CpuPass(const CpuLayers& layers, std::int64_t max_rows, bool training);

  // x [rows, in]. Returns the last layer's output.
  const float* forward(std::int64_t rows, const float* x);

  // After forward of the same rows: adds every layer's gradients to those kept here. The gradient of the output is
  // taken from d_out(), which is overwritten. d_x null or [rows, in], added to where `accumulate`.
  void backward(std::int64_t rows, const float* x, float* d_x, bool accumulate);
  // [rows, out] with zero columns beyond the matrix.
  float* d_out() { return work_.back().d.data(); }

  void clear_gradients();
  // Overwrites what belongs to the layers in the flat `gradients`.
  void write_gradients(float* gradients) const;

 private:
  struct Work {
    Buffer<float> out, pre, d;             // [max_rows, out]; pre for silu only, d in training only
    Buffer<float> weight_sums, bias_sums;  // in training only
    Buffer<float> chunk_bias_sums;
  };
  void activate(std::int64_t rows, const LayerSpec& layer, Work& work) const;
  // d becomes the gradient before the activation; its sums over the rows are added to the bias' gradient.
  void activation_backward(std::int64_t rows, const LayerSpec& layer, Work& work) const;

  const CpuLayers& layers_;
  std::vector<Work> work_;
};

}  // namespace hotloop
