// What a chain of layers finds room for in a block's shared memory: planned on the host, so that it needs no card.
#include "train/fused/chain_places.h"

#include <gtest/gtest.h>

#include <set>

#include "train/fused/panel.h"

namespace hotloop {
namespace {

ChainPass chain_of(int hidden, int width, int inputs, int outputs, int log_stds) {
  ChainPass pass{};
  pass.nets = 1, pass.inputs = inputs;
  pass.net[0].layers = hidden + 1;
  for (int l = 0; l < hidden; ++l) pass.net[0].layer[l].size.out = width;
  pass.net[0].layer[hidden].size.out = outputs;
  pass.score_stride = chain_score_stride(outputs, log_stds);
  plan_chain(pass);
  return pass;
}

template <int kN, bool kRing>
void expect_room(const ChainPass& pass) {
  using Places = ChainPlaces<kN, kRing>;
  const int weights = kRing ? Places::stages_of(pass) * Places::kStageBytes : Places::weight_bytes(pass);
  EXPECT_LE(weights + Places::fixed_bytes(pass), Places::kShared);
  // with fewer a stage would be given back only after the next one's use, which waits for it
  if (kRing) {
    EXPECT_GE(Places::stages_of(pass), 3);
  }
}
void expect_room(const ChainPass& pass) {
  if (pass.ring) return expect_room<256, true>(pass);
  pass.width == 128 ? expect_room<128, false>(pass) : expect_room<256, false>(pass);
}

TEST(ChainPlaces, EveryChainThatIsTakenHasRoom) {
  for (int hidden = 1; hidden <= kChainLayers; ++hidden)
    for (const int width : {8, 128, 129, kChainWidth})
      for (const int inputs : {1, 4, 15, 16, 64, 65, 105, 348, kChainInputs})
        for (int outputs = 1; outputs <= kChainOutputs; ++outputs) {
          SCOPED_TRACE(std::to_string(hidden) + " layers of " + std::to_string(width) + ", " + std::to_string(inputs) +
                       " inputs, " + std::to_string(outputs) + " outputs");
          ChainPass pass = chain_of(hidden, width, inputs, outputs, outputs);
          expect_room(pass);
          plan_own_gradients(pass);
          expect_room(pass);
        }
}

TEST(ChainPlaces, WeightsStayWhereTheyFit) {
  EXPECT_FALSE(chain_of(2, 256, 4, 2, 0).ring);
  EXPECT_FALSE(chain_of(4, 128, 4, 2, 0).ring);
  EXPECT_FALSE(chain_of(2, 256, 105, 8, 8).ring);
  EXPECT_TRUE(chain_of(3, 256, 4, 2, 0).ring);
  EXPECT_TRUE(chain_of(2, 256, 348, 17, 17).ring);
  ChainPass small = chain_of(2, 256, 4, 2, 0);
  plan_own_gradients(small);
  EXPECT_TRUE(small.own_head);
  EXPECT_TRUE(small.own_first);
}

TEST(ChainPlaces, ScoresHoldOutputsAValueAndLogStds) {
  for (int outputs = 1; outputs <= kChainOutputs; ++outputs)
    for (int log_stds = 0; log_stds <= outputs; ++log_stds) {
      EXPECT_GE(chain_score_stride(outputs, log_stds), outputs + 1 + log_stds);
      EXPECT_EQ(chain_score_stride(outputs, log_stds) % 2, 1);
    }
}

TEST(Panel, EveryNumberHasAPlaceAndEightRowsOfEightColumnsAreALine) {
  std::set<int> places;
  for (int r = 0; r < kTileRows; ++r)
    for (int c = 0; c < kPanelColumns; ++c) places.insert(number_at(kTileRows, r, c));
  EXPECT_EQ(places.size(), static_cast<std::size_t>(kTileRows * kPanelColumns));
  EXPECT_EQ(*places.rbegin(), kPanelBytes - 2);
  for (int r = 0; r < kTileRows; ++r)
    for (int c = 0; c < kPanelColumns; ++c)
      EXPECT_EQ(number_at(kTileRows, r, c) / 128, number_at(kTileRows, r / 8 * 8, c / 8 * 8) / 128);
}

}  // namespace
}  // namespace hotloop
