// Trajectory logs of `play`.
#include <gtest/gtest.h>

#include "data/log/log_reader.h"
#include "tests/app/program.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

TEST(PlayLog, HoldsEveryEpisodeAndReplays) {
  for (const char* task : {"CartPole-v1", "Pendulum-v1"}) {  // of discrete actions; of boxes and no whole iterations
    const TempFolder folder;
    const std::string run = (folder / "run").string(), log = (folder / "log.h5").string(),
                      set = (folder / "set.hdf5").string();
    std::vector<std::string> words = small_run(run);
    words.at(1) = task;
    ASSERT_EQ(run_program(words, ".", 120).status, 0);
    words = {"play", run, "--episodes", "5", "--device", "cpu", "--stochastic"};
    const ProgramResult plain = run_program(words, ".", 120);
    words.insert(words.end(), {"--log-trajectories", log, "--log-keys", "all,state"});
    const ProgramResult logged = run_program(words, ".", 120);
    ASSERT_EQ(logged.status, 0) << logged.err;
    EXPECT_EQ(logged.out, plain.out);
    EXPECT_NE(logged.err.find(" rows of 5 worlds, "), std::string::npos) << logged.err;
    EXPECT_EQ(LogReader(log).info().source, kPlaySource);
    const ProgramResult replayed = run_program({"replay", log, "--check", "--device", "cpu"}, ".", 120);
    EXPECT_EQ(replayed.status, 0) << replayed.out << replayed.err;
    EXPECT_NE(replayed.out.find("equal, bit by bit"), std::string::npos) << replayed.out;
    const ProgramResult converted = run_program({"convert", log, "--to", "d4rl", "-o", set}, ".", 120);
    EXPECT_EQ(converted.status, 0) << converted.err;
    EXPECT_NE(converted.err.find("0 episodes begun before the log"), std::string::npos) << converted.err;
    EXPECT_NE(converted.err.find(" begun beyond those of the play\n"), std::string::npos) << converted.err;
  }
}

TEST(PlayLog, BadInput) {
  const TempFolder folder;
  const std::string run = (folder / "run").string(), log = (folder / "log.h5").string();
  ASSERT_EQ(run_program(small_run(run), ".", 120).status, 0);
  const auto play = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"play", run, "--device", "cpu"});
    return run_program(more, ".", 120);
  };
  const ProgramResult many = play({"--episodes", "20000", "--log-trajectories", log});
  EXPECT_EQ(many.status, 2);
  EXPECT_EQ(many.err, "hotloop: --episodes 20000: with --log-trajectories at most 16384, a round\n");
  const ProgramResult value = play({"--episodes", "2", "--log-trajectories", log, "--log-keys", "state_value"});
  EXPECT_EQ(value.status, 2);
  EXPECT_EQ(value.err,
            "hotloop: --log-keys: no key state_value; the keys are all, state, observation, action, next/reward, "
            "next/terminated, next/truncated\n");
  EXPECT_EQ(play({"--log-keys", "all"}).status, 2);
  EXPECT_FALSE(fs::exists(log));
  EXPECT_FALSE(fs::exists(log + ".part"));
}

}  // namespace
}  // namespace hotloop
