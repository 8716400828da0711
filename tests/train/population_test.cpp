#include "train/population.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/error_text.h"

namespace hotloop {
namespace {

TrainConfig cart_pole() {
  TrainConfig c;
  c.task = "CartPole-v1";
  c.seed = 7;
  return c;
}

TEST(PopulationMembers, GridTakesEveryCombinationWithEverySeed) {
  const Sweep sweep = parse_sweep("[parameters]\nlr = [1e-3, 1e-4]\nent_coef = [0.0, 0.01, 0.1]\n", "s", 1);
  const std::vector<TrainConfig> members = population_members(cart_pole(), sweep, 2);
  ASSERT_EQ(members.size(), 12u);
  EXPECT_EQ(members[1].seed, 8);
  EXPECT_EQ(members[1].learning_rate, 1e-3);
  EXPECT_EQ(members[1].ent_coef, 0.0);
  EXPECT_EQ(members[2].ent_coef, 0.01);  // in the order of the file, the last parameter fastest
  EXPECT_EQ(members[11].learning_rate, 1e-4);
  EXPECT_EQ(members[11].ent_coef, 0.1);
  EXPECT_EQ(members[11].num_envs, cart_pole().num_envs);
}

TEST(PopulationMembers, ZipTakesListsSideBySide) {
  const Sweep sweep = parse_sweep(
      "method = \"zip\"\n[parameters]\nlr_schedule = [\"constant\", \"cosine\"]\nnorm_adv = [true, false]\n", "s", 1);
  const std::vector<TrainConfig> members = population_members(cart_pole(), sweep, 1);
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[1].lr_schedule, "cosine");
  EXPECT_FALSE(members[1].norm_adv);
  EXPECT_EQ(members[1].seed, 7);
}

TEST(PopulationMembers, RandomDrawsFromRangesAndLists) {
  const char* text =
      "method = \"random\"\ncount = 400\n[parameters]\nlr = {min = 1e-5, max = 1e-1, log = true}\n"
      "gamma = {min = 0.9, max = 1}\nclip_coef = [0.1, 0.2]\n";
  const Sweep sweep = parse_sweep(text, "s", 1);
  ASSERT_EQ(sweep.combinations.size(), 400u);
  int below = 0, middle = 0, first = 0;
  for (const TrainConfig& c : population_members(cart_pole(), sweep, 1)) {
    EXPECT_GE(c.learning_rate, 1e-5);
    EXPECT_LE(c.learning_rate, 1e-1);
    EXPECT_GE(c.gamma, 0.9);
    below += c.learning_rate < 1e-3 ? 1 : 0;
    middle += c.gamma < 0.95 ? 1 : 0;
    first += c.clip_coef == 0.1 ? 1 : 0;
  }
  for (const int half : {below, middle, first}) EXPECT_NEAR(half, 200, 50);  // 5 deviations
  const auto learning_rate = [&](std::uint64_t seed) { return parse_sweep(text, "s", seed).combinations[3][0].text; };
  EXPECT_EQ(learning_rate(1), learning_rate(1));
  EXPECT_NE(learning_rate(1), learning_rate(2));
}

TEST(PopulationMembers, ChecksEveryMember) {
  const Sweep sweep = parse_sweep("[parameters]\nmin_learning_rate = [1e-5, 0.1]\n", "s.toml", 1);
  EXPECT_EQ(error_text([&] { population_members(cart_pole(), sweep, 1); }),
            "s.toml:2: min_learning_rate 0.1: must be at most max_learning_rate 0.01");
}

}  // namespace
}  // namespace hotloop
