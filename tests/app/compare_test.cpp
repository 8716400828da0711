// hotloop compare, on run folders written here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/file.h"
#include "tests/app/bad_input.h"
#include "tests/app/program.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"
#include "tests/test_python.h"
#include "train/config.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Words = std::vector<std::string>;

struct FakeRun {
  std::string name, task = "CartPole-v1";
  double learning_rate = 1e-3;
  std::vector<double> evaluations;  // every 1000 steps, which take 2 s
  std::string exp_name = "ppo";
};

class Compare : public testing::Test {
 protected:
  void write(const FakeRun& run) {
    TrainConfig config;
    config.task = run.task;
    config.learning_rate = run.learning_rate;
    config.exp_name = run.exp_name;
    config.seed = ++seed_;
    make_folder(folder_ / "runs");
    const fs::path at = folder_.path() / "runs" / run.name;
    make_folder(at);
    write_file(at / "config.toml", to_toml(config));
    std::string metrics = "global_step,iteration,charts/episodic_return,eval/episodic_return\n";
    std::string performance = "global_step,iteration,charts/SPS,time/time_elapsed\n";
    for (std::size_t i = 0; i < run.evaluations.size(); ++i) {
      const std::size_t step = 1000 * (i + 1);
      metrics += fmt::format("{},{},7.5,\n{},{},,{}\n", step, i + 1, step, i + 1, run.evaluations[i]);
      performance += fmt::format("{},{},500,{}\n", step, i + 1, 2.0 * static_cast<double>(i + 1));
    }
    write_file(at / "metrics.csv", metrics);
    write_file(at / "performance.csv", performance);
  }
  // Three runs of either learning rate that end with 1, 2, 3 and with 2, 4, 6.
  void write_two_groups() {
    for (int k = 1; k <= 3; ++k) {
      write({fmt::format("slow_{}", k), "CartPole-v1", 1e-4, {0.5 * k, 9.0, 1.0 * k}});
      write({fmt::format("fast_{}", k), "CartPole-v1", 1e-3, {1.0 * k, 8.0, 2.0 * k}});
    }
  }
  ProgramResult run(Words words) {
    words.insert(words.begin(), "compare");
    return run_program(words, folder_.path(), 60);
  }
  json compared(Words words) {
    words.emplace_back("--json");
    const ProgramResult result = run(words);
    EXPECT_EQ(result.status, 0) << result.err;
    return result.status == 0 ? json::parse(result.out) : json();
  }
  void bad(Words words, const std::string& mentions) {
    words.insert(words.begin(), "compare");
    check_bad_input({words, mentions}, folder_.path());
  }

  const TempFolder folder_;
  std::int64_t seed_ = 0;
};

TEST_F(Compare, GroupsBySettingsThatDiffer) {
  write_two_groups();
  const json result = compared({"runs/*"});
  ASSERT_EQ(result.at("groups").size(), 2u);
  const json &fast = result["groups"][0], &slow = result["groups"][1];
  EXPECT_EQ(fast.at("name"), "learning_rate 0.001");
  EXPECT_EQ(slow.at("name"), "learning_rate 0.0001");
  EXPECT_DOUBLE_EQ(fast["iqm"]["value"].get<double>(), 4);  // of 2, 4, 6: a quarter of three runs is none
  EXPECT_DOUBLE_EQ(slow["mean"]["value"].get<double>(), 2);
  EXPECT_EQ(slow["tasks"]["CartPole-v1"]["runs"].size(), 3u);
  EXPECT_EQ(slow["tasks"]["CartPole-v1"]["runs"][1]["score"], 2);
  // the means of three draws of 2, 4, 6: the lowest quantiles are those of 2, 2, 2 (1 of 27 is more than 2.5 %)
  EXPECT_EQ(fast["iqm"]["ci95"], json::array({2, 6}));
  EXPECT_TRUE(result["normalization"].is_null());
  const json& pair = result["probability_of_improvement"][0];
  EXPECT_EQ(pair["x"], "learning_rate 0.001");
  EXPECT_NEAR(pair["value"].get<double>(), 7.5 / 9, 1e-12);
  EXPECT_NEAR(result["probability_of_improvement"][1]["value"].get<double>(), 1.5 / 9, 1e-12);
  EXPECT_EQ(fast["profile"]["shares"].size(), result["thresholds"].size());
  EXPECT_EQ(fast["profile"]["shares"][0], 1);  // above 1
  EXPECT_EQ(fast["profile"]["shares"].back(), 0);
}

TEST_F(Compare, GroupsByNamesAndExpNames) {
  write_two_groups();
  const json named = compared({"ours=runs/fast_1,runs/fast_2,runs/slow_1", "theirs=runs/slow_[23]"});
  EXPECT_EQ(named["groups"][0]["name"], "ours");
  EXPECT_EQ(named["groups"][0]["tasks"]["CartPole-v1"]["runs"].size(), 3u);
  EXPECT_EQ(named["groups"][1]["tasks"]["CartPole-v1"]["runs"].size(), 2u);
  write({"other=1", "CartPole-v1", 1e-3, {5, 6}, "mine"});
  const json by_exp_name = compared({"runs/fast_1", "runs/other=1"});
  EXPECT_EQ(by_exp_name["groups"][0]["name"], "ppo");
  EXPECT_EQ(by_exp_name["groups"][1]["name"], "mine");
  EXPECT_TRUE(by_exp_name["groups"][0]["iqm"]["ci95"][0].is_null());  // of one run
}

TEST_F(Compare, ChoosesTheScore) {
  write_two_groups();
  const auto iqm = [&](Words words) {
    words.insert(words.begin(), "all=runs/slow_*");
    return compared(words)["groups"][0]["iqm"]["value"].get<double>();
  };
  EXPECT_DOUBLE_EQ(iqm({}), 2);
  EXPECT_DOUBLE_EQ(iqm({"--score", "best"}), 9);
  EXPECT_DOUBLE_EQ(iqm({"--score", "mean"}), (1 + 9 + 2) / 3.0);
  EXPECT_DOUBLE_EQ(iqm({"--until", "2500"}), 9);
  EXPECT_DOUBLE_EQ(iqm({"--metric", "charts/episodic_return"}), 7.5);
}

TEST_F(Compare, SeveralTasksAreScaled) {
  for (const auto& [name, a, b] : {std::tuple("x", 100.0, -1000.0), std::tuple("y", 300.0, -200.0)})
    for (int k = 0; k < 2; ++k) {
      write({fmt::format("{}_cart_{}", name, k), "CartPole-v1", 1e-3, {a + 100 * k}, name});
      write({fmt::format("{}_pend_{}", name, k), "Pendulum-v1", 1e-3, {b + 100 * k}, name});
    }
  const json scaled = compared({"runs/*"});
  EXPECT_EQ(scaled["normalization"]["CartPole-v1"], json::array({100, 400}));
  EXPECT_EQ(scaled["normalization"]["Pendulum-v1"], json::array({-1000, -100}));
  const json& x = scaled["groups"][0];
  EXPECT_EQ(x["name"], "x");
  EXPECT_NEAR(x["mean"]["value"].get<double>(), ((0 + 1 / 3.0) / 2 + (0 + 1 / 9.0) / 2) / 2, 1e-12);
  EXPECT_DOUBLE_EQ(x["tasks"]["Pendulum-v1"]["iqm"]["value"].get<double>(), -950);
  const json given = compared({"runs/*", "--reference", "CartPole-v1=0,500", "--reference", "Pendulum-v1=-1600,0"});
  EXPECT_EQ(given["normalization"]["CartPole-v1"], json::array({0, 500}));
  EXPECT_NEAR(given["groups"][0]["median"]["value"].get<double>(), (0.3 + 0.40625) / 2, 1e-12);
  const ProgramResult text = run({"runs/*"});
  EXPECT_NE(text.out.find("CartPole-v1: scores from 100 to 400 become 0 to 1\n"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("\nx       2+2  1.00 k  0.056 ["), std::string::npos) << text.out;
}

TEST_F(Compare, FollowsFromTheSeed) {
  write_two_groups();
  const auto out = [&](const Words& words) { return run(words).out; };
  EXPECT_EQ(out({"runs/*", "--resamples", "100"}), out({"runs/*", "--resamples", "100"}));
  EXPECT_NE(out({"runs/*", "--resamples", "100"}), out({"runs/*", "--resamples", "100", "--seed", "2"}));
}

// A well-formed picture with a curve and a band of each group, along steps and along time.
TEST_F(Compare, DrawsLearningCurves) {
  write_two_groups();
  write({"single", "CartPole-v1", 3e-2, {1, 2, 3}, "<one> & \"only\""});
  for (const std::string x : {"steps", "time"}) {
    const ProgramResult result = run({"runs/*", "--plot", x + ".svg", "--x", x});
    ASSERT_EQ(result.status, 0) << result.err;
  }
  EXPECT_TRUE(run_python(folder_.path(), R"py(
import xml.etree.ElementTree as tree
for x, label, last in ("steps", "environment steps", "3000"), ("time", "time of training [s]", "6"):
    root = tree.parse(x + ".svg").getroot()
    paths = [e for e in root.iter() if e.tag.endswith("path")]
    assert len([p for p in paths if p.get("fill-opacity")]) == 2, "bands"
    assert len([p for p in paths if p.get("stroke-width") == "2" and "L" in p.get("d")]) == 3, "curves"
    texts = [e.text for e in root.iter() if e.tag.endswith("text")]
    for text in "CartPole-v1", "eval/episodic_return", label, last, "ppo, learning_rate 0.001 (3)":
        assert text in texts, (text, texts)
    assert any(t.startswith('<one> & "only", learning_rate 0.03') for t in texts), texts
)py"));
}

TEST_F(Compare, TimeGoesOnAfterAResume) {
  write({"a", "CartPole-v1", 1e-3, {1, 2, 3, 4}});
  write_file(folder_.path() / "runs/a/performance.csv",
             "global_step,iteration,time/time_elapsed\n1000,1,10\n2000,2,20\n3000,3,5\n4000,4,100\n");
  ASSERT_EQ(run({"runs/a", "--plot", "a.svg", "--x", "time"}).status, 0);
  const std::string svg = read_file(folder_ / "a.svg", 1 << 20);
  EXPECT_NE(svg.find(">120</text>"), std::string::npos) << svg;
}

TEST_F(Compare, RealRuns) {
  for (const char* seed : {"1", "2"})
    ASSERT_EQ(run_program(small_run(std::string("run_") + seed, {"--total-timesteps", "5120", "--seed", seed}),
                          folder_.path(), 120)
                  .status,
              0);
  // along steps: on a busy machine two short runs may have no time in common
  const json result = compared({"run_1", "run_2", "--plot", "runs.svg"});
  EXPECT_EQ(result["groups"][0]["name"], "ppo");
  EXPECT_GT(result["groups"][0]["iqm"]["value"].get<double>(), 8);
  EXPECT_EQ(result["groups"][0]["tasks"]["CartPole-v1"]["runs"][0]["steps"], 5120);
}

TEST_F(Compare, RunsWithoutAValueAreLeftOutByALineEach) {
  write_two_groups();
  const json wanted = compared({"runs/*"});
  write({"begun", "CartPole-v1", 1e-3, {}});
  write({"fast_0", "CartPole-v1", 1e-3, {}});
  fs::remove(folder_.path() / "runs/fast_0/metrics.csv");
  const ProgramResult result = run({"runs/*", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(json::parse(result.out), wanted);
  EXPECT_EQ(result.err,
            "left out: runs/begun/metrics.csv: no value of eval/episodic_return yet\n"
            "left out: runs/fast_0: the run holds no metrics.csv\n");
  bad({"runs/begun", "runs/fast_0"}, "runs/begun/metrics.csv: no value of eval/episodic_return yet");
}

TEST_F(Compare, BadInputIsOneLine) {
  write_two_groups();
  write({"pendulum", "Pendulum-v1", 1e-3, {-300}});
  write({"none", "CartPole-v1", 1e-3, {}});
  for (const char* name : {"empty", "rowless", "headless", "torn", "word", "broken"}) {
    write({name, "CartPole-v1", 1e-3, {1}});
    if (name != std::string("broken")) fs::remove(folder_.path() / "runs" / name / "metrics.csv");
  }
  const auto metrics = [&](const std::string& name, const std::string& text) {
    write_file(folder_.path() / "runs" / name / "metrics.csv", text);
  };
  metrics("rowless", "");
  metrics("torn", "global_step,eval/episodic_return\n1000,1\n2000\n");
  metrics("word", "global_step,eval/episodic_return\n1000,many\n");
  metrics("headless", "1000,1\n");
  write_file(folder_.path() / "runs/broken/config.toml", "task = \n");
  write_file(folder_ / "file", "text\n");
  make_folder(folder_ / "bare");
  bad({}, "compare: name runs");
  bad({"nowhere"}, "no run nowhere");
  bad({"nowhere/*"}, "no run nowhere/*");
  bad({"file"}, "file: is not a run folder");
  bad({"bare"}, "bare: is not a run folder, it holds no config.toml");
  bad({"=runs/fast_1"}, "=runs/fast_1: must be RUN or NAME=RUN,RUN,...");
  bad({"a="}, "no run ''");
  bad({"a=runs/fast_1,"}, "no run ''");
  bad({"runs/empty"}, "runs/empty: the run holds no metrics.csv");
  bad({"runs/rowless"}, "runs/rowless/metrics.csv: holds no rows yet");
  bad({"runs/none"}, "runs/none/metrics.csv: no value of eval/episodic_return yet");
  bad({"runs/headless"}, "has no column global_step");
  bad({"runs/torn"}, "runs/torn/metrics.csv:3: 1 cells, the first line has 2");
  bad({"runs/word"}, "runs/word/metrics.csv:2: many is no number");
  bad({"runs/broken"}, "runs/broken/config.toml");
  bad({"runs/fast_1", "runs/../runs/fast_1"}, "given twice");
  bad({"a=runs/fast_*", "b=runs/slow_*,runs/pendulum"}, "group a has no run of Pendulum-v1");
  bad({"runs/fast_1", "--metric", "eval/episodic_retrun"}, "did you mean 'eval/episodic_return'");
  bad({"runs/fast_1", "--until", "10"}, "no value of eval/episodic_return up to step 10");
  bad({"runs/fast_1", "--score", "first"}, "--score first: must be one of last, best, mean");
  bad({"runs/fast_1", "--resamples", "1"}, "--resamples 1");
  bad({"runs/fast_1", "--reference", "Acrobot-v1=0,1"}, "must be TASK=LOW,HIGH with a task of the runs");
  bad({"runs/fast_1", "--reference", "CartPole-v1=5,5"}, "LOW must be below HIGH");
  bad({"runs/fast_1", "--reference", "CartPole-v1=5"}, "--reference");
  bad({"runs/fast_1", "runs/pendulum"}, "all runs of CartPole-v1 score 2: give --reference");
  bad({"runs/fast_1", "--plot", "a.png"}, "--plot a.png: must end in .svg");
  bad({"runs/fast_1", "--plot", "nowhere/a.svg"}, "nowhere/a.svg");
  bad({"runs/fast_1", "--x", "time"}, "--x time: is of --plot");
  bad({"runs/fast_1", "--x", "hours", "--plot", "a.svg"}, "--x hours: must be one of steps, time");
}

}  // namespace
}  // namespace hotloop
