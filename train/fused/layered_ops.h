// The layers of wide networks, one kernel each over all rows, for up to two networks at once. Numbers of weights and
// activations have 16 bits; buffers of them are row-major with rows of layer_stride(width) numbers, zeros beyond the
// width. CUDA only. All pointers on exec's device.
#pragma once
#include <cstdint>
#include <string>

#include "sim/core/device.h"
#include "sim/core/hd.h"
#include "train/adam_step.h"
#include "train/policy_kinds.h"
#include "train/update_ops.h"

namespace hotloop {

enum class Number16 : std::uint8_t { fp16, bf16 };

constexpr int layer_stride(std::int64_t width) { return static_cast<int>((width + 31) / 32 * 32); }

inline constexpr int kMostNets = 2;
inline constexpr int kMostSplits = 32;  // partial sums of a gradient

// One layer of one network: `in` inputs, `out` outputs, and where its parameters lie in the flat buffer: of output o
// the weights at weight + o * in, the bias at bias + o. Two heads pass as one layer: of outputs from `second` on the
// weights lie at second_weight + (o - second) * in, the bias at second_bias + o - second.
struct LayerSizes {
  int in, out;
  std::int64_t weight, bias;
  int second;
  std::int64_t second_weight, second_bias;

  SIM_HD std::int64_t weight_at(int o) const {
    return o < second ? weight + static_cast<std::int64_t>(o) * in
                      : second_weight + static_cast<std::int64_t>(o - second) * in;
  }
  SIM_HD std::int64_t bias_at(int o) const { return o < second ? bias + o : second_bias + o - second; }
};

// y = activation(x w^T + b).
struct LayerForward {
  struct Net {
    LayerSizes size;
    const void* x;  // [rows, stride(in)]
    const void* w;  // [stride(out), stride(in)]
    void* y;        // [rows, stride(out)]
    void* input;    // [rows, stride(out)] silu: what it was applied to
  };
  std::int64_t rows;
  int nets;
  Activation activation;
  const float* parameters;  // flat; biases are read there
  Net net[kMostNets];
};
void layer_forward(const Exec& exec, Number16 number, const LayerForward& layer);

// The same of heads, in full precision: the first `actor` outputs to head [rows, actor], the next one, if there is one
// more, to value [rows]; null: not wanted.
struct HeadForward {
  struct Net {
    LayerSizes size;
    const void* x;
    const void* w;
    float *head, *value;
    int actor;
  };
  std::int64_t rows;
  int nets;
  const float* parameters;
  Net net[kMostNets];
};
void head_forward(const Exec& exec, Number16 number, const HeadForward& layer);

// d_x = (d_y w) * slope(known): known is the layer's input x, or, for silu, what that was made from.
struct LayerBackward {
  struct Net {
    LayerSizes size;
    const void* d_y;    // [rows, stride(out)]
    const void* w;      // [stride(out), stride(in)]
    const void* known;  // [rows, stride(in)]
    void* d_x;          // [rows, stride(in)]
  };
  std::int64_t rows;
  int nets;
  Activation activation;  // that made x
  Net net[kMostNets];
};
void layer_backward(const Exec& exec, Number16 number, const LayerBackward& layer);

// Partial sums over rows of d_y^T x and of d_y, where the layer's parameters lie in the flat buffer: split s of
// layer_splits(rows) adds up its part of the rows into partials[s * partial_stride + ...].
struct LayerGradient {
  struct Net {
    LayerSizes size;
    const void* d_y;  // [rows, stride(out)]
    const void* x;    // [rows, stride(in)]
  };
  std::int64_t rows;
  int nets;
  float* partials;
  std::int64_t partial_stride;
  Net net[kMostNets];
};
int layer_splits(std::int64_t rows);
void layer_gradient(const Exec& exec, Number16 number, const LayerGradient& layer);

// Ranges of parameters whose gradients have another number of parts.
struct PartialRanges {
  static constexpr int kMost = 12;
  int count = 0, splits = 0;
  std::int64_t begin[kMost] = {}, end[kMost] = {};
};
// gradients[i] = scale * sum over splits of partials, i in [0, n) without [skip, skip + skipped). squares, unless it is
// null, [gradient_squares(n)]: parts of the sum of their squares.
std::int64_t gradient_squares(std::int64_t n);
void sum_partials(const Exec& exec, std::int64_t n, int splits, const PartialRanges& ranges, const float* partials,
                  float scale, std::int64_t skip, std::int64_t skipped, float* gradients, double* squares = nullptr);

// Adam's step of a minibatch from parts of its loss's sums and of its squared gradient norm, and, for each parameter
// that has one, its place in an image of 16-bit numbers, -1: none (and a second one, unless null).
struct ImageStep {
  std::int64_t n, rows, term_parts, square_parts;
  const LossTerms* terms;
  const double* squares;
  AdamPlan* plan;  // scratch
  const std::int32_t *place, *second_place;
  void* image;
};
void image_step(const Exec& exec, Number16 number, const ImageStep& step, const PpoStep& adam);

// Numbers of 16 bits from flat parameters: to[i] = parameters[from[i]], 0 where from[i] is negative.
void layer_image(const Exec& exec, Number16 number, std::int64_t n, const std::int32_t* from, const float* parameters,
                 void* to);
// Rows of width numbers from floats, times scale; `columns` of the row come from `from`, then, if `last` is not null,
// one from there.
void layer_rows(const Exec& exec, Number16 number, std::int64_t rows, int columns, const float* from, const float* last,
                float scale, void* to, int stride);

}  // namespace hotloop
