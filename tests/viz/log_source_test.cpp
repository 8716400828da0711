#include "viz/source/log_source.h"

#include <gtest/gtest.h>

#include <cstring>

#include "data/file.h"
#include "sim/core/error.h"
#include "tests/error_text.h"
#include "tests/temp_folder.h"
#include "tests/viz/small_training.h"
#include "viz/source/open_parts.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

// A log of 8 CartPoles over 20 iterations of 32 steps.
fs::path make_log(const TempFolder& folder, const std::string& keys = "", const std::string& envs = "") {
  LogOptions log = log_to(folder / "a.h5");
  log.keys = keys;
  log.envs = envs;
  EXPECT_EQ(train_quietly(small_training(folder / "run", {{"total_timesteps", "5120", ""}}), log), 0);
  return folder / "a.h5";
}

std::vector<Frame> frames_of(WorldSource& source) {
  std::vector<Frame> frames(static_cast<std::size_t>(source.info().num_worlds * source.visual().num_frames()));
  source.write_frames(0, source.info().num_worlds, frames.data());
  synchronize(source.exec());
  return frames;
}

// The cart's frame stands where the observation says.
void expect_carts(WorldSource& source) {
  const std::vector<Frame> frames = frames_of(source);
  std::vector<float> observations;
  source.read_observations(observations);
  const auto n = static_cast<std::size_t>(source.visual().num_frames());
  ASSERT_EQ(observations.size(), frames.size() / n * 4);
  for (std::size_t w = 0; w < frames.size() / n; ++w) EXPECT_NEAR(frames[w * n + 1].pos[0], observations[4 * w], 1e-6);
}

TEST(LogSource, EveryRowIsWhereItWas) {
  const TempFolder folder;
  LogSource source(make_log(folder).string(), "cpu", {});
  EXPECT_EQ(source.last_position(), 20 * 32 - 1);
  for (const std::int64_t row : {0, 1, 31, 32, 33, 500, 40, 639, 39, 0}) {
    SCOPED_TRACE(row);
    source.seek(row);
    EXPECT_EQ(source.position(), row);
    expect_carts(source);
  }
  // stepping and jumping show the same
  source.seek(90);
  for (int i = 0; i < 20; ++i) source.step();
  const std::vector<Frame> stepped = frames_of(source);
  source.seek(500);
  source.seek(110);
  const std::vector<Frame> jumped = frames_of(source);
  EXPECT_EQ(std::memcmp(stepped.data(), jumped.data(), stepped.size() * sizeof(Frame)), 0);
  source.seek(1 << 20);
  EXPECT_EQ(source.position(), source.last_position());
}

TEST(LogSource, EpisodesAndReturns) {
  const TempFolder folder;
  LogSource source(make_log(folder).string(), "cpu", {});
  for (int i = 0; i < 1000; ++i) source.episodes();
  const auto marks = source.episodes();
  ASSERT_GT(marks.size(), 50u);
  for (const WorldSource::EpisodeMark& m : marks) {
    EXPECT_EQ(m.episode_return, static_cast<double>(m.last_row - m.first_row + 1));  // 1 a step
    EXPECT_TRUE(m.terminated);
  }
  const WorldSource::EpisodeMark& m = marks[marks.size() / 2];
  source.seek(m.last_row);
  EXPECT_EQ(source.report(m.world).episode_return, m.episode_return);
  EXPECT_TRUE(source.report(m.world).terminated);
  source.step();
  EXPECT_EQ(source.report(m.world).episode_return, 1);
  EXPECT_EQ(source.report(m.world).episode_length, 1);
  source.seek(m.first_row + 2);
  EXPECT_EQ(source.report(m.world).episode_return, 3);
  source.step();
  EXPECT_EQ(source.report(m.world).episode_return, 4);
}

TEST(LogSource, SomeWorldsOfARun) {
  const TempFolder folder;
  LogSource source(make_log(folder, "", "1,2,6").string(), "cpu", {});
  EXPECT_EQ(source.info().num_worlds, 3);
  for (const std::int64_t row : {0, 70, 333}) {
    source.seek(row);
    expect_carts(source);
  }
  bool found = false;
  for (const WorldSource::TensorInfo& t : source.tensors()) {
    if (t.key != "observation") continue;
    found = true;
    EXPECT_EQ(t.shape, (std::vector<std::int64_t>{640, 3, 4}));
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(source.read_tensor("observation", 10).size(), 10u * 3 * 4);
}

TEST(LogSource, WhatCannotBeShown) {
  const TempFolder folder;
  const fs::path log = make_log(folder, "observation,action");
  EXPECT_NE(error_text([&] { LogSource(log.string(), "cpu", {}); }).find("log it with --log-keys all,state"),
            std::string::npos);
  EXPECT_NE(error_text([&] { open_source({.what = (folder / "none.h5").string()}); }).find("no such file"),
            std::string::npos);
  write_file(folder / "text.h5", "no log");
  EXPECT_NE(error_text([&] { open_source({.what = (folder / "text.h5").string()}); }).find("text.h5"),
            std::string::npos);
}

}  // namespace
}  // namespace hotloop
