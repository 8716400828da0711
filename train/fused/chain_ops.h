// Whole networks in tiles of rows that stay on their multiprocessor from the first layer to the last and back, by
// products of warpgroups (compute capability 9.0). Up to two networks at once, hidden layers as wide as kChainWidth.
// Numbers of weights and activations have 16 bits; matrices of them lie in global memory as shared memory takes them:
// panels of 64 columns (wgmma.h), 64 rows a panel. All pointers on exec's device.
#pragma once
#include "train/fused/layered_ops.h"
#include "train/update_ops.h"

namespace hotloop {

inline constexpr int kChainLayers = 4;                   // hidden ones
inline constexpr int kChainWidth = 256;                  // of a hidden layer
inline constexpr int kChainInputs = 384;                 // of the first
inline constexpr int kChainOutputs = 32;                 // of the heads
inline constexpr int kOwnInputs = 15, kOwnOutputs = 16;  // most of a layer whose gradient chain_train adds up
inline constexpr int kTileRows = 64;
inline constexpr int kPanelBytes = 8192;
inline constexpr int kHeadPanelBytes = 4096;  // of a head's weights: 32 rows are enough

constexpr int panels_of(std::int64_t columns) { return static_cast<int>((columns + 63) / 64); }

constexpr std::int64_t chain_tiles(std::int64_t rows) { return (rows + kTileRows - 1) / kTileRows; }

// Hidden layers of a chain are all taken for as wide as one of them.
constexpr int chain_width(std::int64_t widest) { return widest <= 128 ? 128 : 256; }

// One layer. Its weights' image is made of panels, [panels of inputs, panels of outputs, 64, 64], a head's of [panels
// of inputs, 32, 64]; weight (o, i) is number `i` of row `o`.
struct ChainLayer {
  LayerSizes size;
  const void* image;
  void* y;  // [tiles, panels of outputs, 64, 64] what the layer makes; heads: null
  void* d;  // the same of the loss's gradient by what the layer's activation was applied to
};
struct ChainNet {
  int layers;  // the last one is the head
  int actor;   // outputs of the head that are the actor's; one more is the value
  ChainLayer layer[kChainLayers + 1];
};
struct ChainPass {
  std::int64_t rows;
  int nets, width, inputs;  // width: chain_width of the widest layer; inputs: obs_dim
  int multiprocessors;      // of the device
  int score_stride;         // chain_score_stride for chain_train, else 0
  // Whose gradients chain_train adds up itself, chain_gradient leaves out: the heads', the first layer's. Their parts
  // lie in chain_slots(pass) of the partials.
  bool own_head, own_first;
  Activation activation;    // none of silu
  const float* parameters;  // flat; biases are read there
  ChainNet net[kMostNets];
};

// From observation [rows, inputs] to head [rows, actor] and value [rows]; null: not wanted. x, [tiles, panels of
// inputs, 64, 64], and the layers' y are written for a way back, unless x is null.
struct ChainForward {
  ChainPass pass;
  const float* observation;
  void* x;
  float *head, *value;
};
void chain_forward(const Exec& exec, Number16 number, const ChainForward& forward);

// From gradients by the heads' outputs, times scale, to the layers' d.
struct ChainBackward {
  ChainPass pass;
  const float *d_head, *d_value;
  float scale;
};
void chain_backward(const Exec& exec, Number16 number, const ChainBackward& backward);

// Both ways of a minibatch with PPO's loss between them (LossIo's terms). log_std, if it is a parameter: [dim].
struct ChainTrain {
  ChainPass pass;
  UpdateSpec update;
  HeadView head;
  Samples<float> batch;  // [rows, ...]
  const AdvantageTerms* advantage_terms;
  const float* log_std;
  void* x;          // as ChainForward's
  float* partials;  // as chain_gradient's
  std::int64_t partial_stride;
  float* d_log_std;  // [tiles, 4, dim] sums over 16 rows, divided by all rows; null unless it is a parameter
  LossTerms* terms;  // [chain_terms] parts of the sums over all rows; zero where a launch leaves them
};
// Floats of a row's place for the heads' outputs, a value and what a loss leaves for `log_std` parameters; odd: rows
// begin in other banks.
constexpr int chain_score_stride(int head_dim, int log_std) { return (head_dim + 1 + log_std) / 2 * 2 + 1; }
constexpr int chain_terms(int multiprocessors) { return 4 * multiprocessors; }
// How many tiles are under way at once.
int chain_slots(const ChainPass& pass);
// Sets own_head and own_first where there is room for it.
void plan_own_gradients(ChainPass& pass);
void chain_train(const Exec& exec, Number16 number, const ChainTrain& train);

// Partial sums of all parameters' gradients over rows, as layer_gradient's.
void chain_gradient(const Exec& exec, Number16 number, const ChainPass& pass, const void* x, float* partials,
                    std::int64_t partial_stride);

}  // namespace hotloop
