// What a chain of layers finds room for in a block's shared memory: planned on the host, so that it needs no card.
#include "train/fused/chain_places.h"

#include <gtest/gtest.h>

#include <set>

#include "train/fused/panel.h"

namespace hotloop {
namespace {

ChainPass chain_of(int hidden, int inputs, int outputs, int log_stds) {
  ChainPass pass{};
  pass.nets = 1, pass.inputs = inputs;
  pass.net[0].layers = hidden + 1;
  pass.net[0].layer[hidden].size.out = outputs;
  pass.score_stride = chain_score_stride(outputs, log_stds);
  return pass;
}

template <int kN>
void expect_room(const ChainPass& pass) {
  using Places = ChainPlaces<kN, 1>;
  // with fewer a stage would be given back only after the next one's use, which waits for it
  EXPECT_GE(Places::stages_of(pass), 3);
  EXPECT_LE(Places::fixed_bytes(pass) + Places::stages_of(pass) * Places::kStageBytes, Places::kShared);
}

TEST(ChainPlaces, EveryChainThatIsTakenHasRoom) {
  for (int hidden = 1; hidden <= kChainLayers; ++hidden)
    for (const int inputs : {1, 4, 15, 16, 64, 65, 105, 348, kChainInputs})
      for (int outputs = 1; outputs <= kChainOutputs; ++outputs) {
        SCOPED_TRACE(std::to_string(hidden) + " layers, " + std::to_string(inputs) + " inputs, " +
                     std::to_string(outputs) + " outputs");
        const ChainPass pass = chain_of(hidden, inputs, outputs, outputs);
        expect_room<128>(pass);
        expect_room<256>(pass);
      }
}

TEST(ChainPlaces, ScoresHoldOutputsAValueAndLogStds) {
  for (int outputs = 1; outputs <= kChainOutputs; ++outputs)
    for (int log_stds = 0; log_stds <= outputs; ++log_stds) {
      EXPECT_GE(chain_score_stride(outputs, log_stds), outputs + 1 + log_stds);
      EXPECT_EQ(chain_score_stride(outputs, log_stds) % 2, 1);
    }
}

TEST(Panel, EveryNumberHasAPlaceAndEightRowsOfAColumnEightGroupsOfBanks) {
  std::set<int> places;
  for (int r = 0; r < 64; ++r)
    for (int c = 0; c < kPanelColumns; ++c) places.insert(panel_at(r, c));
  EXPECT_EQ(places.size(), 64u * kPanelColumns);
  EXPECT_EQ(*places.rbegin(), 64 * kPanelRowBytes - 2);
  for (int c = 0; c < kPanelColumns; c += 8) {
    std::set<int> banks;
    for (int r = 0; r < 8; ++r) banks.insert(panel_at(r, c) % kPanelRowBytes / 16);
    EXPECT_EQ(banks.size(), 8u);
  }
}

}  // namespace
}  // namespace hotloop
