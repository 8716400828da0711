#include "data/dataset/spool.h"

#include <gtest/gtest.h>

#include "tests/error_text.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

EnvSpec spec() {
  return {.name = "Test-v0",
          .observation = {{0, 0}, {1, 1}},
          .action = ActionSpace::box({-1}, {1}),
          .reward_terms = {"near", "far", "wide"}};
}

Episode episode(std::int64_t id, std::int64_t length) {
  Episode e;
  e.id = id;
  e.seed = 100 + id;
  e.world = id;
  e.length = length;
  const auto steps = static_cast<std::size_t>(length);
  for (std::size_t i = 0; i < 2 * (steps + 1); ++i) e.observations.push_back(static_cast<float>(id) + 0.01f * i);
  e.actions.resize(4 * steps, static_cast<std::byte>(id + 1));
  e.rewards.resize(steps, static_cast<float>(-id));
  e.terminated.resize(steps, 0);
  e.truncated.resize(steps, 0);
  e.terminated.back() = 1;
  for (std::size_t i = 0; i < 3 * steps; ++i) e.reward_terms.push_back(static_cast<float>(id) - 0.01f * i);
  return e;
}

void expect_holds(EpisodeSpool& spool, const std::vector<std::int64_t>& lengths) {
  std::size_t next = 0;
  spool.for_each([&](const Episode& e) {
    ASSERT_LT(next, lengths.size());
    const Episode want = episode(static_cast<std::int64_t>(next), lengths[next]);
    EXPECT_EQ(e.id, want.id);
    EXPECT_EQ(e.seed, want.seed);
    EXPECT_EQ(e.world, want.world);
    EXPECT_EQ(e.observations, want.observations);
    EXPECT_EQ(e.actions, want.actions);
    EXPECT_EQ(e.rewards, want.rewards);
    EXPECT_EQ(e.terminated, want.terminated);
    EXPECT_EQ(e.truncated, want.truncated);
    EXPECT_EQ(e.reward_terms, want.reward_terms);
    ++next;
  });
  EXPECT_EQ(next, lengths.size());
}

void add_bytes(const fs::path& file, std::size_t count) { AppendFile(file).append(std::string(count, 'x')); }

TEST(Spool, GoesOnAfterTheLastWholeRecord) {
  const TempFolder folder;
  const fs::path path = folder / ".spool.recording";
  {
    EpisodeSpool spool = EpisodeSpool::create(path, "{}", spec());
    spool.append(episode(0, 3));
    spool.append(episode(1, 5));
    spool.flush();
  }
  // what a kill leaves: data without their record, and a torn record
  add_bytes(path / "observation.bin", 1000);
  add_bytes(path / "reward.bin", 3);
  add_bytes(path / "reward_terms.bin", 5);
  add_bytes(path / "episodes.bin", 17);
  EpisodeSpool spool = EpisodeSpool::resume(path, spec());
  EXPECT_EQ(spool.episodes(), 2);
  EXPECT_EQ(spool.steps(), 8);
  EXPECT_EQ(spool.last_seed(), 101);
  EXPECT_EQ(spool.last_world(), 1);
  spool.append(episode(2, 1));
  expect_holds(spool, {3, 5, 1});
}

TEST(Spool, ARecordWithAWrongChecksumEndsIt) {
  const TempFolder folder;
  const fs::path path = folder / ".spool.recording";
  {
    EpisodeSpool spool = EpisodeSpool::create(path, "{}", spec());
    spool.append(episode(0, 3));
    spool.flush();
  }
  add_bytes(path / "episodes.bin", 32);
  EpisodeSpool spool = EpisodeSpool::resume(path, spec());
  expect_holds(spool, {3});
}

TEST(Spool, MissingDataAndASecondWriterAreErrors) {
  const TempFolder folder;
  const fs::path path = folder / ".spool.recording";
  EXPECT_EQ(EpisodeSpool::recording_of(path), "");
  {
    EpisodeSpool spool = EpisodeSpool::create(path, "{\"a\": 1}", spec());
    EXPECT_EQ(EpisodeSpool::recording_of(path), "{\"a\": 1}");
    spool.append(episode(0, 3));
    spool.flush();
    EXPECT_NE(error_text([&] { EpisodeSpool::resume(path, spec()); }).find("spool': another process"),
              std::string::npos);
    EXPECT_NE(error_text([&] { EpisodeSpool::create(path, "{}", spec()); }).find("another process"), std::string::npos);
    spool.flush();  // its files are still there
  }
  EXPECT_NE(error_text([&] { EpisodeSpool::create(path, "{}", spec()); }).find("exists"), std::string::npos);
  fs::resize_file(path / "action.bin", 4);
  EXPECT_NE(error_text([&] { EpisodeSpool::resume(path, spec()); }).find("damaged"), std::string::npos);
}

// Each file lost, empty or cut, and the same of the count beside it.
TEST(Spool, WhatWasFlushedIsMissedWhicheverFileIsDamaged) {
  const TempFolder folder;
  const fs::path whole = folder / ".whole.recording", path = folder / ".spool.recording";
  {
    EpisodeSpool spool = EpisodeSpool::create(whole, "{}", spec());
    for (const std::int64_t id : {0, 1}) spool.append(episode(id, 3 + 2 * id));
    spool.flush();
  }
  for (const char* name :
       {"episodes.bin", "observation.bin", "action.bin", "reward.bin", "terminated.bin", "truncated.bin"})
    for (const int left : {-1, 0, 1})  // [bytes] less; -1: the file is missing
      for (const bool counted : {true, false}) {
        SCOPED_TRACE(std::string(name) + " " + std::to_string(left) + (counted ? "" : " without its count"));
        fs::remove_all(path);
        fs::copy(whole, path);
        if (!counted) fs::remove(path / "progress.bin");
        left < 0 ? void(fs::remove(path / name))
                 : fs::resize_file(path / name, left == 0 ? 0 : fs::file_size(path / name) - 1);
        const bool known = counted || left <= 0 || std::string(name) != "episodes.bin";
        const std::string error = error_text([&] { EpisodeSpool::resume(path, spec()); });
        EXPECT_EQ(error.find("spool' is damaged; to record anew, remove the folder") != std::string::npos, known)
            << error;
      }
}

TEST(Spool, ALostRecordingIsRestoredWhereItIsTheSame) {
  const TempFolder folder;
  const fs::path path = folder / ".spool.recording";
  {
    EpisodeSpool spool = EpisodeSpool::create(path, "{\"a\": 1}", spec());
    EXPECT_FALSE(EpisodeSpool::holds_data(path));
    spool.append(episode(0, 3));
    spool.flush();
  }
  EXPECT_TRUE(EpisodeSpool::holds_data(path));
  fs::resize_file(path / "recording.json", 0);
  EXPECT_NE(error_text([&] { EpisodeSpool::create(path, "{}", spec()); }).find("is damaged"), std::string::npos);
  EXPECT_NE(error_text([&] { EpisodeSpool::restore_recording(path, "{\"a\": 2}"); }).find("is damaged"),
            std::string::npos);
  EpisodeSpool::restore_recording(path, "{\"a\": 1}");
  EXPECT_EQ(EpisodeSpool::recording_of(path), "{\"a\": 1}");
  EpisodeSpool spool = EpisodeSpool::resume(path, spec());
  expect_holds(spool, {3});
}

TEST(Spool, AnotherVersionsIsToldAsSuch) {
  const TempFolder folder;
  const fs::path path = folder / ".spool.recording";
  EpisodeSpool::create(path, R"({"version": "0.1.0"})", spec());
  const auto told = [&](const char* version) {
    return error_text([&] { EpisodeSpool::check_version(path, version); });
  };
  EXPECT_EQ(told("0.1.0"), "");
  EXPECT_NE(told("0.2.0").find("spool' was begun by hotloop 0.1.0, this is 0.2.0; finish it with that, or to record "),
            std::string::npos);
  // of the two files that came late only the later one is missing
  fs::rename(path / "progress.bin", folder / "progress.bin");
  EXPECT_EQ(told("0.1.0"), "");
  fs::remove(path / "reward_terms.bin");
  EXPECT_NE(told("0.1.0").find("spool' was begun by an earlier version of hotloop; "), std::string::npos);
  fs::rename(folder / "progress.bin", path / "progress.bin");
  EXPECT_EQ(told("0.1.0"), "") << "damaged, which resume() says";
  write_file(path / "recording.json", "[1");
  EXPECT_EQ(told("0.2.0"), "");
}

TEST(Spool, AnotherRecordingIsNamedByWhatDiffers) {
  const TempFolder folder;
  const fs::path path = folder / ".spool.recording";
  EpisodeSpool::create(path, R"({"worlds": 8, "format": "minari", "dataset": "{\"id\": \"a\", \"x\": 1}"})", spec());
  const auto told = [&](const std::string& now) {
    const std::string text = error_text([&] { EpisodeSpool::check_recording(path, now); }), mark = " was made with ";
    const std::size_t begin = text.find(mark) + mark.size();
    return text.substr(begin, text.find("; give the command as it was") - begin);
  };
  EXPECT_EQ(told(R"({"worlds": 4})"), "worlds 8, now 4");
  EXPECT_EQ(told(R"({"format": "d4rl"})"), "format minari, now d4rl");
  EXPECT_EQ(told(R"({"dataset": "{\"id\": \"b\", \"x\": 1}"})"), "id a, now b");
  EXPECT_EQ(told(R"({"steps": 7})"), "steps none, now 7");
}

}  // namespace
}  // namespace hotloop
