#include "data/arena.h"

#include <gtest/gtest.h>

#include "sim/core/error.h"

namespace hotloop {
namespace {

TEST(Arena, PlacesLeavesAlignedAndZeroed) {
  const Arena arena({}, {{"observation", DType::f32, {3, 5, 4}}, {"next/terminated", DType::boolean, {2, 5, 1}}});
  const auto* observation = arena.data<float>("observation");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(observation) % 256, 0u);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(observation[i], 0.0f);
  EXPECT_EQ(arena.leaf("next/terminated").offset, 256u);
  EXPECT_EQ(arena.size(), 512u);
  EXPECT_NO_THROW(arena.data<std::uint8_t>("next/terminated"));
}

TEST(Arena, NamesTheKeyTheTypeAndTheNearest) {
  const Arena arena({}, {{"observation", DType::f32, {1}}});
  EXPECT_THROW(arena.data<double>("observation"), Error);
  try {
    arena.data<float>("observaton");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "arena: no key 'observaton' (did you mean 'observation'?)");
  }
}

TEST(Arena, RefusesRepeatedAndOverflowingLeaves) {
  EXPECT_THROW(Arena({}, {{"a", DType::f32, {1}}, {"a", DType::f32, {1}}}), Error);
  EXPECT_THROW(Arena({}, {{"a", DType::f32, {1LL << 40, 1LL << 40}}}), Error);
  EXPECT_THROW(Arena({}, {{"a", DType::f32, {-1}}}), Error);
  std::vector<LeafSpec> quarters;  // each fits, their sum is 2^64 bytes
  for (const char* name : {"a", "b", "c", "d"}) quarters.push_back({name, DType::u8, {1LL << 62}});
  EXPECT_THROW(Arena({}, quarters), Error);
}

}  // namespace
}  // namespace hotloop
