// What of a chain lies where in a block's shared memory, and so which chains a block has room for: asked by the host
// that plans and by the kernel.
#pragma once
#include "train/fused/chain_ops.h"

namespace hotloop {

SIM_HD int hidden_layers(const ChainPass& pass) {
  int most = pass.net[0].layers;
  for (int n = 1; n < pass.nets; ++n) most = pass.net[n].layers > most ? pass.net[n].layers : most;
  return most - 1;
}
SIM_HD int outputs_of(const ChainNet& net) { return net.layer[net.layers - 1].size.out; }
SIM_HD int outputs_of(const ChainPass& pass) {
  int most = outputs_of(pass.net[0]);
  for (int n = 1; n < pass.nets; ++n) most = outputs_of(pass.net[n]) > most ? outputs_of(pass.net[n]) : most;
  return most;
}
// Columns that a hidden layer's image has, and rows of a head's.
SIM_HD int input_columns(const ChainPass& pass, int layer) { return layer == 0 ? pass.columns : pass.width; }
SIM_HD int image_bytes(const ChainPass& pass, const ChainNet& net, int layer) {
  return 2 * (layer + 1 == net.layers ? pass.width * pass.head_rows : input_columns(pass, layer) * pass.width);
}

// Of a chain whose hidden layers pass for kN wide. kRing: weights come through a ring of stages, else all of them stay.
template <int kN, bool kRing>
struct ChainPlaces {
  static constexpr int kTiles = kN == 256 ? 2 : 3;  // at once, as many as registers are there for
  static constexpr int kStageColumns = 32, kStageBytes = 2 * kStageColumns * kN;
  static constexpr int kShared = 227 * 1024, kTermBytes = sizeof(LossTerms);
  static constexpr int kStagedPanels = 2, kStagedBytes = kStagedPanels * kPanelBytes;
  static constexpr int kRightBytes = 2 * kTileRows * 16;  // sixteen columns of a tile

  SIM_HD static int weight_bytes(const ChainPass& pass) {
    int most = 0;
    for (int n = 0; n < pass.nets; ++n) {
      int bytes = 0;
      for (int l = 0; l < pass.net[n].layers; ++l) bytes += image_bytes(pass, pass.net[n], l);
      most = bytes > most ? bytes : most;
    }
    return most;
  }
  // [bytes] of a tile's threads: what they multiply (gradients by the heads' outputs, inputs, and panels of layers
  // whose gradients are added up here), sums of gradients, terms and scores of the loss
  SIM_HD static int right_bytes(const ChainPass& pass) {
    return pass.score_stride == 0 ? 0 : kRightBytes * (pass.head_rows / 16 + (pass.own_first ? 1 : 0));
  }
  SIM_HD static int operand_bytes(const ChainPass& pass) {
    return right_bytes(pass) + (pass.own_head || pass.own_first ? kStagedBytes : 0);
  }
  SIM_HD static int head_sum_bytes(const ChainPass& pass) { return pass.own_head ? kN * outputs_of(pass) * 4 : 0; }
  SIM_HD static int first_sum_bytes(const ChainPass& pass) { return pass.own_first ? kN * (pass.inputs + 1) * 4 : 0; }
  SIM_HD static int loss_bytes(const ChainPass& pass) {
    return pass.score_stride == 0 ? 0 : kTileRows * (pass.score_stride * 4 + kTermBytes);
  }
  SIM_HD static int slot_bytes(const ChainPass& pass) {
    return operand_bytes(pass) + head_sum_bytes(pass) + first_sum_bytes(pass) + loss_bytes(pass);
  }
  // [bytes] beside the weights: tiles, biases, barriers
  SIM_HD static int bias_bytes(const ChainPass& pass) { return (hidden_layers(pass) * kN + kChainOutputs) * 4; }
  SIM_HD static int fixed_bytes(const ChainPass& pass) { return kTiles * slot_bytes(pass) + bias_bytes(pass) + 256; }
  SIM_HD static int stages_of(const ChainPass& pass) {
    const int left = (kShared - fixed_bytes(pass)) / kStageBytes;
    return left < 12 ? left : 12;
  }
  static ChainMemory memory(const ChainPass& pass) {
    ChainMemory m{};
    m.stages = kRing ? stages_of(pass) : 0;
    m.slots = kRing ? m.stages * kStageBytes : weight_bytes(pass);
    m.slot_bytes = slot_bytes(pass);
    m.biases = m.slots + kTiles * m.slot_bytes;
    m.barriers = m.biases + bias_bytes(pass);
    m.staged = right_bytes(pass);
    m.head_sums = operand_bytes(pass);
    m.first_sums = m.head_sums + head_sum_bytes(pass);
    m.terms = m.first_sums + first_sum_bytes(pass);
    return m;
  }
  // Whether a block has room, a ring's weights for enough stages to come in time.
  SIM_HD static bool fits(const ChainPass& pass) {
    return kRing ? stages_of(pass) >= 4 : weight_bytes(pass) + fixed_bytes(pass) <= kShared;
  }
};

}  // namespace hotloop
