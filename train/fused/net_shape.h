// The sizes of one network inside the fused kernel and where its parts lie in shared memory.
#pragma once
#include "train/fused/number.h"
#include "train/fused/tile_scalar.h"
#include "train/fused/tile_tensor.h"

namespace hotloop {

template <class T>
struct EngineOf {
  using type = TensorEngine<T>;
};
template <>
struct EngineOf<float> {
  using type = ScalarEngine;
};

constexpr int round_up(int n, int unit) { return (n + unit - 1) / unit * unit; }

// kIn observations, hidden layers of kWidths, kHead outputs; T: of weights and activations. Layer l leads from width l
// to width l + 1; the last one is the head. Rows in shared memory are padded with zeros to multiples of 16.
template <class T, int kIn, int kHead, int... kWidths>
struct NetShape {
  using Number = T;
  using Engine = typename EngineOf<T>::type;
  static constexpr int kHidden = sizeof...(kWidths);
  static constexpr int kOutputs = kHead, kHeadColumns = round_up(kHead, 8);
  // Numbers of 16 bits: small observations enter as the sum of two, so that only weights lose bits.
  static constexpr bool kSplit = sizeof(T) == 2 && 2 * kIn <= 16;

  static constexpr int width(int l) {
    const int w[] = {kIn, kWidths..., kHead};
    return w[l];
  }
  static constexpr int pad(int l) { return round_up(width(l), 16); }
  static constexpr int stride(int l) { return pad(l) + Engine::kPad; }

  // What a product reads of width l along its sums, and how many columns it makes of it: the rest is padding.
  static constexpr int depth(int l) { return round_up(width(l), Engine::kDepthUnit); }
  static constexpr int breadth(int l) { return round_up(width(l), Engine::kBreadthUnit); }

  // ---- one copy of the parameters: weights [pad(l + 1)][stride(l)] as T, biases [pad(l + 1)] as float
  static constexpr int weight_at(int l) {
    int at = 0;
    for (int k = 0; k < l; ++k) at += pad(k + 1) * stride(k);
    return at;
  }
  static constexpr int bias_at(int l) {
    int at = 0;
    for (int k = 0; k < l; ++k) at += pad(k + 1);
    return at;
  }
  static constexpr int kWeights = weight_at(kHidden + 1), kBiases = bias_at(kHidden + 1);

  // ---- activations of `rows` rows: the input, each hidden layer's output (1 .. kHidden) and gradient, the head's
  // gradient; strides as above
  static constexpr int output_at(int l, int rows) {
    int at = 0;
    for (int k = 0; k < l; ++k) at += rows * stride(k);
    return at;
  }
  static constexpr int gradient_at(int l, int rows) {
    return output_at(kHidden + 1, rows) + output_at(l, rows) - output_at(1, rows);
  }
  static constexpr int activations(int rows) { return gradient_at(kHidden + 2, rows); }

  // ---- gradients of the parameters that one of a group's four warps gathers in registers. Hidden layer l: units of 16
  // outputs by columns(l) inputs, and biases; the head: units of 16 inputs by kHeadColumns outputs. Where the columns
  // divide, two warps take the first half of them and two the other; else the four share the units.
  static constexpr int columns(int l) { return l == kHidden ? kHeadColumns : round_up(width(l), 8); }
  static constexpr bool halved(int l) { return l != kHidden && columns(l) % 32 == 0; }
  static constexpr int share(int l) { return halved(l) ? columns(l) / 2 : columns(l); }
  static constexpr int warps_down(int l) { return halved(l) ? 2 : 4; }
  static constexpr int units(int l) { return (pad(l == kHidden ? l : l + 1) / 16 + warps_down(l) - 1) / warps_down(l); }
  static constexpr int unit_numbers(int l) { return share(l) / 2 + (l == kHidden ? 0 : 4); }
  static constexpr int sum_at(int l) {
    int at = 0;
    for (int k = 0; k < l; ++k) at += units(k) * unit_numbers(k);
    return at;
  }
  static constexpr int kSums = sum_at(kHidden + 1);

  // Whether a warp's rows stay in registers from layer to layer: numbers of 16 bits, no layer wider than 64. Outputs
  // are kept for the way back as well where they are few.
  static constexpr bool chained() {
    for (int l = 0; l <= kHidden; ++l)
      if (pad(l) > 64) return false;
    return sizeof(T) == 2;
  }
  static constexpr bool kept(int row_tiles) { return kHidden * row_tiles <= 4; }
};

}  // namespace hotloop
