// Whole networks in tiles of rows that stay on their multiprocessor from the first layer to the last and back, by
// products of warpgroups (compute capability 9.0). Up to two networks at once, hidden layers as wide as kChainWidth.
// Numbers of weights and activations have 16 bits and lie in global memory as in shared memory (panel.h). All pointers
// on exec's device.
#pragma once
#include "train/fused/layered_ops.h"
#include "train/fused/panel.h"
#include "train/rollout_ops.h"
#include "train/update_ops.h"

namespace hotloop {

inline constexpr int kChainLayers = 4;                   // hidden ones
inline constexpr int kChainWidth = 256;                  // of a hidden layer
inline constexpr int kChainInputs = 384;                 // of the first
inline constexpr int kChainOutputs = 32;                 // of the heads
inline constexpr int kOwnInputs = 15, kOwnOutputs = 16;  // most of a layer whose gradient chain_train adds up

constexpr std::int64_t chain_tiles(std::int64_t rows) { return (rows + kTileRows - 1) / kTileRows; }

// One layer. Its weights' image is a matrix of input_columns columns and `width` rows, a head's of `width` columns and
// head_rows rows: weight (o, i) is number `i` of row `o`.
struct ChainLayer {
  LayerSizes size;
  const void* image;
  const void* turned;  // hidden layers of a ring: the image with rows and columns exchanged
  void* y;             // [tiles, panels of outputs, 8, 64, 8] what the layer makes; heads: null
  void* d;             // the same of the loss's gradient by what the layer's activation was applied to
};
struct ChainNet {
  int layers;  // the last one is the head
  int actor;   // outputs of the head that are the actor's; one more is the value
  ChainLayer layer[kChainLayers + 1];
};
// Where a block finds what in its shared memory [bytes]; the second line: from the start of a tile's own place.
struct ChainMemory {
  int slots, slot_bytes, biases, barriers, stages;
  int staged, head_sums, first_sums, terms;
};
struct ChainPass {
  std::int64_t rows;
  int nets, width, inputs;  // width: 128 or kChainWidth, which all hidden layers pass for; inputs: obs_dim
  int columns, head_rows;   // of images: of the first layer's, of heads'
  bool ring;                // weights are brought again for each tile: they do not fit
  int multiprocessors;      // of the device
  int score_stride;         // chain_score_stride for chain_train, else 0
  // Whose gradients chain_train adds up itself, chain_gradient leaves out: the heads', the first layer's. Their parts
  // lie in chain_parts(pass) of the partials.
  bool own_head, own_first;
  ChainMemory memory;       // set by who launches
  Activation activation;    // none of silu
  const float* parameters;  // flat; biases are read there
  ChainNet net[kMostNets];
};
// Sets what follows from the layers' sizes, inputs and score_stride: width, columns, head_rows, ring.
void plan_chain(ChainPass& pass);

// A pass's inputs: rows of observations [.., inputs], or, if index is not null, rows index[0 .. rows) of them, through
// the normaliser.
struct ChainRows {
  const float* observation;
  const std::int32_t* index = nullptr;
  ObservationNormalizer::View normalizer = {};

  SIM_HD std::int64_t at(std::int64_t row) const { return index == nullptr ? row : index[row]; }
  SIM_HD const float* row(std::int64_t row, const ChainPass& pass) const {
    return row < pass.rows ? observation + at(row) * pass.inputs : nullptr;
  }
  SIM_HD float value(const float* row, int column, int inputs) const {
    if (row == nullptr || column >= inputs) return 0.0f;
    if (normalizer.mean == nullptr) return row[column];
    return clamp((row[column] - normalizer.mean[column]) * normalizer.scale[column], -normalizer.clip, normalizer.clip);
  }
};

// A block a multiprocessor, as many for each network.
int chain_blocks(const ChainPass& pass);

// From inputs to head [rows, actor] and value [rows]; null: not wanted. x, [tiles, panels of
// inputs, 8, 64, 8], and the layers' y are written for a way back, unless x is null.
struct ChainForward {
  ChainPass pass;
  ChainRows inputs;
  void* x;
  float *head, *value;
};
void chain_forward(const Exec& exec, Number16 number, const ChainForward& forward);

// A rollout by the first network, whose further output, if there is one, is the value. Not through a ring.
struct ChainRollout {
  ChainPass pass;  // of num_envs rows
  RolloutWork work;
};
bool chain_rolls_out(const ChainPass& pass, const RolloutWork& work);
void chain_rollout(const Exec& exec, Number16 number, const ChainRollout& rollout);

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
  ChainRows inputs;
  Samples<float> batch;  // of which rows are taken as inputs are
  const AdvantageTerms* advantage_terms;
  const float* log_std;
  void* x;          // as ChainForward's
  float* partials;  // as chain_gradient's
  std::int64_t partial_stride;
  std::int64_t log_std_at;  // where its gradient's parts lie; negative unless it is a parameter
  LossTerms* terms;         // [multiprocessors] parts of the sums over all rows; zero where a launch leaves them
};
// Floats of a row's place for the heads' outputs, a value and what a loss leaves for `log_std` parameters; odd: rows
// begin in other banks.
constexpr int chain_score_stride(int head_dim, int log_std) { return (head_dim + 1 + log_std) / 2 * 2 + 1; }
// In how many parts sums over all rows come that chain_train makes itself.
int chain_parts(const ChainPass& pass);
// Sets own_head and own_first where there is room for it.
void plan_own_gradients(ChainPass& pass);
void chain_train(const Exec& exec, Number16 number, const ChainTrain& train);

// Partial sums of all parameters' gradients over rows, as layer_gradient's.
void chain_gradient(const Exec& exec, Number16 number, const ChainPass& pass, const void* x, float* partials,
                    std::int64_t partial_stride);

}  // namespace hotloop
