// train --init-from: what a run begins with, and what does not fit.
#include <gtest/gtest.h>

#include <algorithm>

#include "data/file.h"
#include "data/safetensors.h"
#include "tests/app/bad_input.h"
#include "tests/app/program.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr double kLimit = 120;
const std::string kCleanRl = HOTLOOP_SOURCE_DIR "/tests/golden/policies/cleanrl_cartpole.safetensors";

// A run of two iterations that changes no parameter, so that its checkpoint shows what it began with.
Words still_run(const std::string& run, Words more = {}) {
  more.insert(more.begin(), {"--total-timesteps", "512", "--learning-rate", "0", "--seed", "11"});
  return small_run(run, more);
}

bool same_tensor(const Safetensors& a, const Safetensors& b, const std::string& name, const std::string& other = "") {
  const NamedTensor &x = a.get(name), &y = b.get(other.empty() ? name : other);
  return x.shape == y.shape && std::equal(x.bytes.begin(), x.bytes.end(), y.bytes.begin(), y.bytes.end());
}

class WarmStartRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder;
    train(small_run("first",
                    {"--total-timesteps", "2560", "--normalize-observation", "true", "--normalize-reward", "true"}));
    train(small_run("plain", {"--total-timesteps", "2560"}));
    fs::remove(at("first") / "best.safetensors");  // so that a run means its latest checkpoint
    fs::remove(at("plain") / "best.safetensors");
  }
  static void TearDownTestSuite() { delete folder_; }

  static fs::path at(const std::string& name) { return folder_->path() / name; }
  static ProgramResult train(const Words& words) {
    ProgramResult result = run_program(words, folder_->path(), kLimit);
    EXPECT_EQ(result.status, 0) << result.err;
    return result;
  }
  static Safetensors latest(const std::string& run) { return Safetensors::read(at(run) / "latest.safetensors"); }
  // Of the parameters of `run`, those that are those of `source` bit by bit.
  static std::vector<std::string> shared(const std::string& run, const std::string& source) {
    const Safetensors a = latest(run), b = latest(source);
    std::vector<std::string> names;
    for (const char* name :
         {"actor.0.weight", "actor.1.weight", "actor.2.weight", "critic.0.weight", "critic.2.weight"})
      if (same_tensor(a, b, name)) names.emplace_back(name);
    return names;
  }

  static TempFolder* folder_;
};
TempFolder* WarmStartRun::folder_ = nullptr;

TEST_F(WarmStartRun, TakesAllOnBothRoads) {
  for (const std::string road : {"fused", "generic"}) {
    SCOPED_TRACE(road);
    const std::string run = "all_" + road;
    const ProgramResult result = train(still_run(run, {"--init-from", "plain", "--road", road}));
    EXPECT_NE(result.err.find("starts from plain/latest.safetensors (CartPole-v1): 12 tensors\n"), std::string::npos)
        << result.err;
    const Safetensors ours = latest(run), theirs = latest("plain");
    for (const NamedTensor& t : theirs.tensors())
      if (t.name.starts_with("actor.") || t.name.starts_with("critic.")) {
        EXPECT_TRUE(same_tensor(ours, theirs, t.name)) << t.name;
      }
    // the optimiser is new: it has made only this run's steps
    EXPECT_FALSE(same_tensor(ours, theirs, "optimizer.exp_avg_sq"));
    const std::string config = read_file(at(run) / "config.toml", 1 << 20);
    const std::string recorded = "init_from = \"" + (fs::canonical(at("plain")) / "latest.safetensors").string() + "\"";
    EXPECT_NE(config.find(recorded), std::string::npos) << config;
  }
}

TEST_F(WarmStartRun, TakesOnePart) {
  train(still_run("actor", {"--init-from", "plain/latest.safetensors", "--init-parts", "actor"}));
  EXPECT_EQ(shared("actor", "plain"), (Words{"actor.0.weight", "actor.1.weight", "actor.2.weight"}));
  train(still_run("critic", {"--init-from", "plain", "--init-parts", "critic"}));
  EXPECT_EQ(shared("critic", "plain"), (Words{"critic.0.weight", "critic.2.weight"}));
}

TEST_F(WarmStartRun, TakesStatisticsOfNormalisers) {
  // one iteration: statistics change after it, so that the second saves their sum
  const Words normalised = {"--init-from", "first", "--normalize-observation", "true", "--normalize-reward", "true"};
  train(still_run("normalised", normalised));
  const auto count = [](const Safetensors& file) { return file.values<double>("observation_normalizer.count")[0]; };
  EXPECT_EQ(count(latest("normalised")), count(latest("first")) + 512);
  const auto rewards = [](const Safetensors& file) { return file.values<double>("reward_normalizer.state")[2]; };
  EXPECT_EQ(rewards(latest("normalised")), rewards(latest("first")) + 512);
  Words actor = normalised;
  actor.insert(actor.end(), {"--init-parts", "actor"});
  train(still_run("normalised_actor", actor));
  EXPECT_EQ(count(latest("normalised_actor")), count(latest("first")) + 512);
  EXPECT_EQ(rewards(latest("normalised_actor")), 512);
}

TEST_F(WarmStartRun, GoesOnAsAnyRun) {
  const Words words = small_run("twice", {"--total-timesteps", "3072", "--init-from", "plain"});
  train(words);
  Words again = words;
  *std::find(again.begin(), again.end(), "twice") = "again";
  again[std::size_t(std::find(again.begin(), again.end(), "--total-timesteps") - again.begin()) + 1] = "1536";
  train(again);
  // resuming does not begin anew: the same bits as the run that was never stopped, up to the schedule's length
  ProgramResult resumed =
      run_program({"train", "--resume", "again", "--total-timesteps", "3072"}, folder_->path(), kLimit);
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(resumed.err.find("starts from"), std::string::npos) << resumed.err;
  EXPECT_FALSE(shared("again", "plain").size() == 5u);
}

TEST_F(WarmStartRun, TakesAPolicyOfCleanRl) {
  train(still_run("foreign", {"--init-from", kCleanRl, "--hidden-sizes", "64,64"}));
  const Safetensors ours = latest("foreign"), theirs = Safetensors::read(kCleanRl, {.require_checksum = false});
  EXPECT_TRUE(same_tensor(ours, theirs, "actor.1.weight", "actor.2.weight"));
  EXPECT_TRUE(same_tensor(ours, theirs, "critic.2.bias", "critic.4.bias"));
}

TEST_F(WarmStartRun, WhatDoesNotFitIsNamed) {
  const auto refused = [&](const Words& more, const std::string& mentions) {
    Words words = {"--init-from", "plain"};
    words.insert(words.end(), more.begin(), more.end());
    check_bad_input({still_run("new", words), mentions}, folder_->path());
  };
  refused({"--hidden-sizes", "16,24"},
          "does not fit: actor.1.weight is [16, 16] there and [24, 16] here; actor.1.bias is [16] there and [24] here; "
          "actor.2.weight is [2, 16] there and [2, 24] here; critic.1.weight");
  refused({"--critic-hidden-sizes", "16", "--init-parts", "critic"},
          "critic.1.weight is [16, 16] there and [1, 16] here; critic.1.bias is [16] there and [1] here; "
          "critic.2.weight is not here; critic.2.bias is not here (--init-partial takes what fits)");
  refused({"--hidden-sizes", "16,16,16"}, "actor.3.weight is not there");
  refused({"--shared-network", "true"}, "trunk.0.weight is not there");
  refused({"--activation", "relu"}, "activation is tanh there and relu here");
  refused({"--normalize-observation", "true"}, "observations are normalised here and not there");
  refused({"--hidden-sizes", "8,8", "--init-parts", "actor", "--init-from", "first"},
          "observations are normalised there and not here");
  refused({"--resume", "plain"}, "");
  refused({"--init-from", "none"}, "no run or checkpoint 'none'");
  refused({"--init-from", "plain/metrics.csv"}, "plain/metrics.csv: not a safetensors file");
  refused({"--init-parts", "half"}, "init-parts half: must be one of all, actor, critic");
  check_bad_input({{"train", "CartPole-v1", "--init-parts", "actor"}, "init_parts actor: needs init_from"},
                  folder_->path());
  check_bad_input({{"train", "CartPole-v1", "--init-partial"}, "init_partial true: needs init_from"}, folder_->path());
  check_bad_input({{"train", "--resume", "plain", "--init-from", "first"}, "a resumed run keeps its init_from"},
                  folder_->path());
}

TEST_F(WarmStartRun, PartlyOnRequest) {
  const ProgramResult result =
      train(still_run("partial", {"--init-from", "plain", "--init-partial", "true", "--critic-hidden-sizes", "16,8"}));
  EXPECT_NE(result.err.find("9 tensors; does not fit: critic.1.weight is [16, 16] there and [8, 16] here; "),
            std::string::npos)
      << result.err;
  EXPECT_TRUE(same_tensor(latest("partial"), latest("plain"), "actor.2.weight"));
  EXPECT_TRUE(same_tensor(latest("partial"), latest("plain"), "critic.0.weight"));
  EXPECT_FALSE(same_tensor(latest("partial"), latest("plain"), "critic.2.weight"));
  check_bad_input({still_run("new", {"--init-from", "plain", "--init-partial", "true", "--hidden-sizes", "3,3",
                                     "--init-parts", "critic", "--critic-hidden-sizes", "5"}),
                   "nothing fits"},
                  folder_->path());
}

}  // namespace
}  // namespace hotloop
