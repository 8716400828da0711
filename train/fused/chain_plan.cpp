#include <algorithm>

#include "train/fused/chain_places.h"

namespace hotloop {
namespace {

bool fits(const ChainPass& pass) {
  if (pass.ring) return ChainPlaces<kChainWidth, true>::fits(pass);
  return pass.width == 128 ? ChainPlaces<128, false>::fits(pass) : ChainPlaces<kChainWidth, false>::fits(pass);
}

}  // namespace

int chain_blocks(const ChainPass& pass) {
  const std::int64_t most = std::max(1, pass.multiprocessors / pass.nets);
  return static_cast<int>(std::min(chain_tiles(pass.rows), most)) * pass.nets;
}
int chain_parts(const ChainPass& pass) { return chain_blocks(pass) / pass.nets; }

void plan_chain(ChainPass& pass) {
  int widest = 0;
  for (int n = 0; n < pass.nets; ++n)
    for (int l = 0; l + 1 < pass.net[n].layers; ++l) widest = std::max(widest, pass.net[n].layer[l].size.out);
  pass.head_rows = outputs_of(pass) <= 16 ? 16 : kChainOutputs;
  pass.columns = pass.inputs <= 16 ? 16 : panels_of(pass.inputs) * kPanelColumns;
  pass.width = widest <= 128 ? 128 : kChainWidth;
  pass.ring = false;
  if (fits(pass)) return;
  pass.columns = panels_of(pass.inputs) * kPanelColumns;
  pass.width = kChainWidth;
  pass.ring = true;
}

void plan_own_gradients(ChainPass& pass) {
  const bool head = outputs_of(pass) <= kOwnOutputs, first = pass.inputs <= kOwnInputs && !pass.ring;
  const bool choices[][2] = {{head, first}, {head, false}, {false, first}, {false, false}};
  for (const auto& [own_head, own_first] : choices) {
    pass.own_head = own_head, pass.own_first = own_first;
    if (fits(pass)) return;
  }
}

}  // namespace hotloop
