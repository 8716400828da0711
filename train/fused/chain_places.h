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

// Of a chain whose hidden layers pass for kN wide, with kTiles tiles at once.
template <int kN, int kTiles>
struct ChainPlaces {
  static constexpr int kPanels = kN / 64, kStagePanels = 2, kStageBytes = kStagePanels * kPanelBytes;
  static constexpr int kShared = 227 * 1024, kTermBytes = sizeof(LossTerms);

  // The first input's panels lie where the second layer's results will.
  SIM_HD static int tile_panels(int layers, int input_panels) {
    const int hidden = kPanels * layers, inputs = kPanels + input_panels;
    return hidden > inputs ? hidden : inputs;
  }
  // [bytes] of a tile's threads beside its panels: terms and scores of the loss, sums of gradients
  SIM_HD static int loss_bytes(const ChainPass& pass) { return kTileRows * (pass.score_stride * 4 + kTermBytes); }
  SIM_HD static int head_sum_bytes(const ChainPass& pass) { return pass.own_head ? kN * outputs_of(pass) * 4 : 0; }
  SIM_HD static int first_sum_bytes(const ChainPass& pass) { return pass.own_first ? kN * (pass.inputs + 1) * 4 : 0; }
  SIM_HD static int slot_bytes(const ChainPass& pass) {
    return loss_bytes(pass) + head_sum_bytes(pass) + first_sum_bytes(pass);
  }
  // [bytes] beside the ring: alignment, tiles, gradients of heads, biases, barriers
  SIM_HD static int fixed_bytes(const ChainPass& pass) {
    const int layers = hidden_layers(pass);
    return 1024 + kTiles * ((tile_panels(layers, panels_of(pass.inputs)) + 1) * kPanelBytes + slot_bytes(pass)) +
           (layers * kN + 32) * 4 + 256;
  }
  SIM_HD static int stages_of(const ChainPass& pass) {
    const int left = (kShared - fixed_bytes(pass)) / kStageBytes;
    return left < 8 ? left : 8;
  }
};

}  // namespace hotloop
