#include "train/config.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>

#include "sim/core/assets.h"
#include "sim/core/env.h"
#include "sim/core/value.h"
#include "tests/error_text.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

TrainConfig with(const std::string& key, const std::string& text) { return resolve_settings({{key, text, ""}}); }
std::string refusal(const std::string& key, const std::string& text) {
  return error_text([&] { with(key, text); });
}
std::string contradiction(const std::vector<Setting>& settings) {
  return error_text([&] { validate(resolve_settings(settings)); });
}

class ConfigFile : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) {
    std::ofstream(folder_ / "c.toml", std::ios::binary) << text;
    return folder_ / "c.toml";
  }
  // the refusal without the folder in front
  std::string refusal(const std::string& text) {
    const std::string line = error_text([&] { load_config_file(write(text)); });
    const std::string prefix = folder_.path().string() + "/";
    return line.starts_with(prefix) ? line.substr(prefix.size()) : line;
  }
  TempFolder folder_;
};

TEST(Config, ReadsNumbers) {
  EXPECT_EQ(with("num_envs", "4096").num_envs, 4096);
  EXPECT_EQ(with("total_timesteps", "1e6").total_timesteps, 1000000);
  EXPECT_EQ(with("total_timesteps", "1_000_000").total_timesteps, 1000000);
  EXPECT_EQ(with("total_timesteps", "2.5e3").total_timesteps, 2500);
  EXPECT_EQ(with("total_timesteps", "3.0").total_timesteps, 3);
  EXPECT_EQ(with("total_timesteps", "1200e-2").total_timesteps, 12);
  EXPECT_EQ(with("seed", "9007199254740993").seed, 9007199254740993);  // not a double
  EXPECT_EQ(with("max_episode_steps", "0e99").max_episode_steps, 0);
  EXPECT_EQ(with("learning_rate", "3e-4").learning_rate, 3e-4);
  EXPECT_EQ(with("learning_rate", ".5").learning_rate, 0.5);
  EXPECT_EQ(with("log_std_init", "-1.5").log_std_init, -1.5);
  EXPECT_EQ(with("log_std_init", "+1").log_std_init, 1.0);
}

TEST(Config, RefusesNumbersNamingKeyValueAndRange) {
  EXPECT_EQ(refusal("gamma", "1.5"), "--gamma 1.5: must be a number in [0, 1]");
  for (const char* text : {"nan", "inf", "-inf", "1e999", "0.9x", "0.9 ", " 0.9", "", "0x1", "1__0", "_1", "1_", "++1",
                           "+-1", "1e", "e1", ".", "-", "1,0"})
    EXPECT_NE(refusal("gamma", text), "") << text;
  for (const char* text :
       {"1.5", "1e-1", "1e30", "99999999999999999999", "0x10", "", "1e+-5", "1e 3", "--1", "1e999999999999"})
    EXPECT_NE(refusal("update_epochs", text), "") << text;
  EXPECT_EQ(refusal("num_envs", "0"), "--num_envs 0: must be an integer in [1, 16777216]");
}

TEST(Config, IntegerLimitsAreExact) {
  EXPECT_EQ(with("seed", "9000000000000000000").seed, 9000000000000000000);
  EXPECT_THROW(with("seed", "9000000000000000001"), Error);  // the same double
  EXPECT_EQ(accepted({.low = 0.5, .high = 7.9}, std::int64_t{}), "an integer in [1, 7]");
  EXPECT_EQ(accepted({.low = 1}, std::int64_t{}), "an integer in [1, 9223372036854775807]");
}

TEST(Config, ReadsBooleansListsAndChoices) {
  EXPECT_FALSE(with("norm-adv", "no").norm_adv);
  EXPECT_FALSE(with("norm_adv", "0").norm_adv);
  EXPECT_TRUE(with("shared_network", "yes").shared_network);
  EXPECT_EQ(refusal("norm_adv", "maybe"), "--norm_adv maybe: must be true or false");
  EXPECT_EQ(with("hidden_sizes", "256,128").hidden_sizes, (std::vector<std::int64_t>{256, 128}));
  EXPECT_EQ(with("hidden_sizes", "[ 256, 128 ]").hidden_sizes, (std::vector<std::int64_t>{256, 128}));
  EXPECT_EQ(with("hidden_sizes", "[]").hidden_sizes, (std::vector<std::int64_t>{}));
  for (const char* text : {"", "64,", ",64", "64,,64", "[64", "64]", "0", "a", "64 64", "1e99", "[[64]]"})
    EXPECT_NE(refusal("hidden_sizes", text), "") << text;
  EXPECT_EQ(refusal("activation", "rellu"),
            "--activation rellu: must be one of tanh, relu, elu, silu (did you mean 'relu'?)");
}

TEST(Config, AcceptsSpellingsOfOthers) {
  EXPECT_EQ(with("n-envs", "7").num_envs, 7);
  EXPECT_EQ(with("horizon_length", "7").num_steps, 7);
  EXPECT_EQ(with("tau", "0.5").gae_lambda, 0.5);
  EXPECT_EQ(with("schedule", "fixed").lr_schedule, "constant");
  EXPECT_EQ(with("anneal_lr", "false").lr_schedule, "constant");
  EXPECT_EQ(with("anneal_lr", "true").lr_schedule, "linear");
}

TEST(Config, NamesNearestKey) {
  EXPECT_EQ(refusal("learning-rat", "1"), "--learning-rat: unknown option (did you mean '--learning-rate'?)");
  EXPECT_EQ(error_text([] {
              resolve_settings({{"gama", "1", "x.toml:3"}});
            }),
            "x.toml:3: unknown key gama (did you mean 'gamma'?)");
}

TEST(Config, NoSpellingMeansTwoKeys) {
  std::vector<std::string> all = config_spellings();
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST(Config, DefaultsKeepTheirOwnRules) {
  TrainConfig config;
  visit_config(config, [](const char* name, auto& value, const KeyRule& rule) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      EXPECT_GE(static_cast<double>(value), rule.low) << name;
      EXPECT_LE(static_cast<double>(value), rule.high) << name;
    }
  });
  EXPECT_NO_THROW(validate(config));
}

TEST(Config, MinibatchSizeBecomesMinibatches) {
  const Setting size{"batch_size", "64", ""}, count{"num_minibatches", "2", ""};
  // the number of environments may come later
  EXPECT_EQ(resolve_settings({size, {"num_envs", "16", ""}}).num_minibatches, 32);
  EXPECT_EQ(resolve_settings({size, count}).num_minibatches, 2);
  EXPECT_EQ(resolve_settings({count, size}).num_minibatches, 8);
  EXPECT_EQ(refusal("minibatch_size", "100"), "--minibatch_size 100: must divide num_envs * num_steps = 4 * 128 = 512");
  EXPECT_EQ(with("max_iterations", "10").total_timesteps, 5120);
  EXPECT_NE(refusal("max_iterations", "1e15"), "");
}

TEST(Config, RefusesContradictions) {
  EXPECT_EQ(contradiction({{"num_minibatches", "3", ""}}),
            "num_minibatches 3: must divide num_envs * num_steps = 4 * 128 = 512");
  EXPECT_NE(contradiction({{"num_shards", "3", ""}}).find("num_shards 3: must divide the minibatch of 128"),
            std::string::npos);
  EXPECT_NE(contradiction({{"num_envs", "16777216", ""}, {"num_steps", "65536", ""}}).find("at most 2147483647"),
            std::string::npos);
  EXPECT_NE(contradiction({{"min_learning_rate", "0.1", ""}}), "");
  EXPECT_NE(contradiction({{"lr_schedule", "adaptive", ""}, {"learning_rate", "1", ""}}), "");
  EXPECT_EQ(contradiction({{"lr_schedule", "adaptive", ""}}), "");
  EXPECT_NE(contradiction({{"capture", "on", ""}, {"device", "cpu", ""}}), "");
  EXPECT_NE(contradiction({{"shared_network", "1", ""}, {"critic_hidden_sizes", "8", ""}}), "");
  EXPECT_NE(contradiction({{"num_minibatches", "512", ""}, {"num_shards", "1", ""}}).find("norm_adv"),
            std::string::npos);
  for (const char* device : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1000", "CPU"})
    EXPECT_NE(contradiction({{"device", device, ""}}), "") << device;
  for (const char* name : {"", "..", "a/b", "a\nb"}) EXPECT_NE(contradiction({{"exp_name", name, ""}}), "") << name;
}

TEST(Config, SquashedGaussianNeedsContinuousActions) {
  const TrainConfig config = with("action_distribution", "squashed_gaussian");
  EXPECT_NO_THROW(validate(config, ActionSpace::box({-1}, {1})));
  EXPECT_NE(error_text([&] { validate(config, ActionSpace::discrete(2)); }), "");
}

TEST_F(ConfigFile, TomlRoundTripsToTheLastBit) {
  TrainConfig config;
  visit_config(config, [k = 1](const char*, auto& value, const KeyRule& rule) mutable {
    using T = std::decay_t<decltype(value)>;
    ++k;
    if constexpr (std::is_same_v<T, bool>)
      value = !value;
    else if constexpr (std::is_same_v<T, double>)
      value = std::nextafter(std::max(rule.low, 1.0 / k), 1e9);
    else if constexpr (std::is_same_v<T, std::int64_t>)
      value = std::max<std::int64_t>(static_cast<std::int64_t>(rule.low), k);
    else if constexpr (std::is_same_v<T, std::string>)
      value = rule.choices.empty() ? "a \"quoted\\\" # é \x01 = [b]" : rule.choices.back();
    else
      value = {k, 1};
  });
  config.log_std_init = -0.0;
  config.seed = 9007199254740993;
  const TrainConfig back = resolve_settings(read_settings(write(to_toml(config))));
  EXPECT_TRUE(back == config);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(back.log_std_init), std::bit_cast<std::uint64_t>(-0.0));
  EXPECT_EQ(to_toml(back), to_toml(config));
  EXPECT_TRUE(resolve_settings(read_settings(write(to_toml(TrainConfig{})))) == TrainConfig{});
}

TEST_F(ConfigFile, ReadsEveryType) {
  const TrainConfig config = load_config_file(
      write("total-timesteps = 1e6\nnum_envs = 1_6\nlearning_rate = 1\nhidden_sizes = [32, 16]\nnorm_adv = false\n"
            "activation = 'elu'\nanneal_lr = false\nbatch_size = 256\n"));
  EXPECT_EQ(config.total_timesteps, 1000000);
  EXPECT_EQ(config.num_envs, 16);
  EXPECT_EQ(config.learning_rate, 1.0);
  EXPECT_EQ(config.hidden_sizes, (std::vector<std::int64_t>{32, 16}));
  EXPECT_FALSE(config.norm_adv);
  EXPECT_EQ(config.activation, "elu");
  EXPECT_EQ(config.lr_schedule, "constant");
  EXPECT_EQ(config.num_minibatches, 8);
}

TEST_F(ConfigFile, NamesFileAndLine) {
  EXPECT_EQ(refusal("\n\ngamma = 1.5\n"), "c.toml:3: gamma = 1.5: must be a number in [0, 1]");
  EXPECT_EQ(refusal("gamma = 0.9\ngama = 1.5\n"), "c.toml:2: unknown key gama (did you mean 'gamma'?)");
  EXPECT_EQ(refusal("gamma = '0.9'\n"), "c.toml:1: gamma = a string: must be a number");
  EXPECT_EQ(refusal("norm_adv = 1\n"), "c.toml:1: norm_adv = an integer: must be true or false");
  EXPECT_EQ(refusal("anneal_lr = 'linear'\n"), "c.toml:1: anneal_lr = a string: must be true or false");
  EXPECT_EQ(refusal("activation = true\n"), "c.toml:1: activation = a boolean: must be a string");
  EXPECT_EQ(refusal("hidden_sizes = 64\n"), "c.toml:1: hidden_sizes = an integer: must be an array of integers");
  EXPECT_EQ(refusal("hidden_sizes = [[64]]\n"), "c.toml:1: hidden_sizes = an array: must be an array of integers");
  EXPECT_EQ(refusal("seed = 1979-05-27\n"), "c.toml:1: seed = a date or time: must be a number");
  EXPECT_EQ(refusal("seed = inf\n"), "c.toml:1: seed = inf: must be an integer in [0, 9000000000000000000]");
  EXPECT_EQ(
      refusal("seed = 1\n[train]\ngamma = 0.9\n"),
      "c.toml:2: [train] is a table: keys stand at the top level, only options of the task in [env] and [randomize]");
  EXPECT_EQ(refusal("tau = 0.9\ngae_lambda = 0.9\n"), "c.toml:1: tau and gae_lambda both set gae_lambda: keep one");
  EXPECT_TRUE(refusal("gamma = 0.9\ngamma = = 2\n").starts_with("c.toml:2: not valid TOML: "));
  EXPECT_TRUE(refusal(std::string("\0\xff\xfe\x01", 4)).starts_with("c.toml:1: not valid TOML: "));
  EXPECT_TRUE(refusal(std::string(2 << 20, '#')).starts_with("c.toml: 2097152 bytes; at most 1048576"));
}

TEST_F(ConfigFile, RefusesWhatIsNoFile) {
  EXPECT_NE(error_text([&] { read_settings(folder_.path()); }).find("Is a directory"), std::string::npos);
  EXPECT_NE(error_text([&] { read_settings(folder_ / "none"); }).find("No such file"), std::string::npos);
  EXPECT_NE(error_text([&] { read_settings("/dev/zero"); }).find("not a regular file"), std::string::npos);
}

TEST_F(ConfigFile, ResumedRunsKeepWhatReachesTheBits) {
  std::ofstream(folder_ / "config.toml") << to_toml(with("gamma", "0.5"));
  const auto resume = [&](const std::string& key, const std::string& text) {
    return resume_config(folder_.path(), {{key, text, ""}});
  };
  EXPECT_EQ(resume("n_timesteps", "7e5").total_timesteps, 700000);
  EXPECT_EQ(resume("device", "cpu").gamma, 0.5);
  const std::string text = error_text([&] { resume("gamma", "0.9"); });
  EXPECT_TRUE(text.starts_with("--gamma 0.9: a resumed run keeps its gamma; only device, total_timesteps")) << text;
  EXPECT_NE(error_text([&] { resume_config(folder_ / "none", {}); }).find("no such run folder"), std::string::npos);
}

TEST(Config, DefaultConfigurationsAreValid) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HOTLOOP_SOURCE_DIR "/assets/configs")) {
    const TrainConfig config = load_config_file(entry.path());
    EXPECT_EQ(config.task + ".toml", entry.path().filename().string());
    ++count;
  }
  EXPECT_GE(count, 5);
}

}  // namespace
}  // namespace hotloop
