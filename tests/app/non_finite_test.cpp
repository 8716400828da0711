// Worlds that turn non-finite, from the dynamics to what a user reads.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/program.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

// Pusher pays less than nothing at every step: an episode counted as 0 would be the best there is.
TEST(NonFinite, EpisodesAreNoEpisodesOfReturnZero) {
  const TempFolder folder;
  const std::string run = (folder / "run").string();
  const ProgramResult trained = run_program({"train",      "Pusher-v5",
                                             "--device",   "cpu",
                                             "--quiet",    "--run-dir",
                                             run,          "--total-timesteps",
                                             "512",        "--num-envs",
                                             "8",          "--num-steps",
                                             "32",         "--num-minibatches",
                                             "4",          "--eval-interval",
                                             "1",          "--eval-episodes",
                                             "10",         "--env.frame_skip",
                                             "20",         "--randomize.actuator_gainprm",
                                             "500,1000",   "--randomize.body_mass",
                                             "0.001,0.1",  "--randomize.body_inertia",
                                             "0.001,0.1",  "--randomize.dof_armature",
                                             "0.001,0.01", "--randomize.dof_damping",
                                             "0,0.01"},
                                            ".", 120);
  ASSERT_EQ(trained.status, 0) << trained.err;
  for (const char* line :
       {"worlds turned non-finite and were reset (reported once", "none of 10 evaluation episodes stayed finite"})
    EXPECT_NE((trained.out + trained.err).find(line), std::string::npos) << trained.out << trained.err;
  EXPECT_EQ((trained.out + trained.err).find("nan"), std::string::npos) << trained.out << trained.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "run/best.safetensors"));
  const ProgramResult played = run_program({"play", run, "--device", "cpu", "--episodes", "10", "--json"}, ".", 120);
  ASSERT_EQ(played.status, 0) << played.err;
  const ProgramResult shown = run_program({"play", run, "--device", "cpu", "--episodes", "10"}, ".", 120);
  EXPECT_NE(shown.out.find("none of 10 episodes of Pusher-v5 stayed finite"), std::string::npos) << shown.out;
  const nlohmann::json result = nlohmann::json::parse(played.out);
  EXPECT_EQ(result.at("non_finite_episodes"), 10);
  EXPECT_TRUE(result.at("return_mean").is_null());
  const ProgramResult recorded = run_program(
      {"record", run, "--device", "cpu", "--format", "d4rl", "--episodes", "10", "-o", (folder / "set.hdf5").string()},
      ".", 120);
  EXPECT_EQ(recorded.status, 2);
  EXPECT_EQ(recorded.err, "hotloop: record: 1010 episodes of Pusher-v5 in a row turned non-finite\n");
  EXPECT_FALSE(std::filesystem::exists(folder / ".set.hdf5.recording"));
}

}  // namespace
}  // namespace hotloop
