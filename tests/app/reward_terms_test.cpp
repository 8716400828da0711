// The terms of the reward, from the worlds to what a user reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "data/file.h"
#include "tests/app/program.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::vector<std::string> kTerms = {"reward_survive", "distance_penalty", "velocity_penalty"};

// Rows of metrics that do not meet with checkpoints: the sums between them are part of the run's state.
ProgramResult train(const fs::path& run) {
  std::vector<std::string> arguments =
      small_run(run, {"--log-interval", "5", "--total-timesteps", "5120", "--checkpoint-interval", "7"});
  arguments.at(1) = "InvertedDoublePendulum-v5";
  return run_program(arguments, ".", 120);
}

TEST(RewardTerms, AreMetricsThatSumToTheReturn) {
  const TempFolder folder;
  const ProgramResult trained = train(folder / "run");
  ASSERT_EQ(trained.status, 0) << trained.err;
  std::istringstream rows(read_file(folder / "run/metrics.jsonl", 1 << 24));
  int compared = 0;
  for (std::string line; std::getline(rows, line);) {
    const Json row = Json::parse(line);
    const bool known = !row.at("charts/episodic_return").is_null();
    double sum = 0;
    for (const std::string& term : kTerms) {
      ASSERT_EQ(row.at("reward/" + term).is_null(), !known) << line;
      if (known) sum += row.at("reward/" + term).get<double>();
    }
    if (!known) continue;
    ++compared;
    EXPECT_NEAR(sum, row.at("charts/episodic_return").get<double>(), 1e-3);
  }
  EXPECT_GE(compared, 3);
  const std::string header = read_file(folder / "run/metrics.csv", 1 << 24);
  EXPECT_NE(header.substr(0, header.find('\n')).find("reward/distance_penalty"), std::string::npos);
}

TEST(RewardTerms, ResumeGoesOnWithTheirSums) {
  const TempFolder folder;
  const fs::path whole = folder / "whole", cut = folder / "cut";
  ASSERT_EQ(train(whole).status, 0);
  fs::copy(whole, cut, fs::copy_options::recursive);
  fs::remove(cut / "latest.safetensors");
  fs::remove(cut / "checkpoints/00000020.safetensors");  // of the last iteration; the one before is the 14th's
  const ProgramResult resumed = run_program({"train", "--resume", cut.string()}, ".", 120);
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  expect_same_run(whole, cut);
}

TEST(RewardTerms, PlayPrintsTheirMeans) {
  const TempFolder folder;
  const std::string run = (folder / "run").string();
  ASSERT_EQ(train(run).status, 0);
  const ProgramResult json = run_program({"play", run, "--episodes", "20", "--device", "cpu", "--json"});
  ASSERT_EQ(json.status, 0) << json.err;
  const Json result = Json::parse(json.out);
  double sum = 0;
  for (const std::string& term : kTerms) sum += result.at("reward_terms").at(term).get<double>();
  EXPECT_NEAR(sum, result.at("return_mean").get<double>(), 1e-3);
  EXPECT_EQ(result.at("reward_terms").size(), kTerms.size());
  const ProgramResult text = run_program({"play", run, "--episodes", "2", "--device", "cpu"});
  EXPECT_NE(text.out.find("  distance_penalty -"), std::string::npos) << text.out;
}

}  // namespace
}  // namespace hotloop
