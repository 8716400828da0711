// Wrong command lines and files, generated: each ends with exactly one line on stderr and status 2, soon, and leaves
// nothing behind.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "sim/core/device.h"
#include "sim/core/registry.h"
#include "tests/app/bad_input.h"
#include "tests/temp_folder.h"
#include "train/config.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

Words train(Words more) {
  more.insert(more.begin(), {"train", "CartPole-v1"});
  return more;
}

// Spellings near `word` that are not in `known`.
Words misspelt(const std::string& word, const Words& known) {
  Words wrong;
  if (word.size() > 4) wrong.push_back(word.substr(0, 2) + word.substr(3));
  wrong.push_back(word + "x");
  wrong.push_back(word.substr(0, 1) + word);
  std::erase_if(wrong, [&](const std::string& w) { return std::find(known.begin(), known.end(), w) != known.end(); });
  return wrong;
}

// Values that a key must refuse; the second half of the pair is the same mistake in TOML ("": none).
using WrongValues = std::vector<std::pair<std::string, std::string>>;
WrongValues wrong_values(const bool&, const KeyRule&) { return {{"=maybe", "'yes'"}, {"=", "2"}, {"=2", "[true]"}}; }
WrongValues wrong_values(const std::int64_t&, const KeyRule& rule) {
  const std::string below = std::to_string(static_cast<std::int64_t>(rule.low) - 1);
  return {{"=" + below, below}, {"=1.5", "1.5"}, {"=1e30", "1e30"}, {"=many", "'1'"}, {"=", "nan"}};
}
WrongValues wrong_values(const double&, const KeyRule&) {
  return {{"=-1e200", "-1e200"}, {"=nan", "nan"}, {"=1e999", "'0.5'"}, {"=0.5x", "true"}};
}
WrongValues wrong_values(const std::string&, const KeyRule& rule) {
  if (rule.choices.empty()) return {{"=\xff", "7"}};
  return {{"=" + rule.choices[0] + "y", "'none of these'"}, {"=", "1"}};
}
WrongValues wrong_values(const std::vector<std::int64_t>&, const KeyRule&) {
  return {{"=64,,64", "['64']"}, {"=-1", "[-1]"}, {"=[64", "64"}, {"=", "[[64]]"}};
}

std::vector<BadInput> key_cases() {
  std::vector<BadInput> cases;
  const Words known = config_spellings();
  const TrainConfig defaults;
  visit_config(defaults, [&](const char* name, const auto& value, const KeyRule& rule) {
    const std::string key = name;
    for (const std::string& wrong : misspelt(key, known)) {
      cases.push_back({train({"--" + wrong, "1"}), wrong});
      cases.push_back({{"train", "case.toml"}, wrong, "task = 'CartPole-v1'\n" + wrong + " = 1\n"});
    }
    for (const auto& [flag, toml] : wrong_values(value, rule)) {
      cases.push_back({train({"--" + key + flag}), key});
      const std::string head = key == "task" ? "\n" : "task = 'CartPole-v1'\n";
      cases.push_back({{"train", "case.toml"}, "case.toml:2: " + key, head + key + " = " + toml + "\n"});
    }
    for (const std::string& alias : rule.aliases)
      cases.push_back({train({"--" + alias + "=1", "--" + key + "=1"}), key});
  });
  return cases;
}

std::vector<BadInput> task_cases() {
  std::vector<BadInput> cases;
  Words names;
  for (const EnvEntry& entry : environments()) names.push_back(entry.spec.name);
  for (const std::string& name : names)
    for (const std::string& wrong : misspelt(name, names)) {
      cases.push_back({{"train", wrong}, name});
      cases.push_back({{"train", "case.toml"}, name, "task = '" + wrong + "'\n"});
    }
  for (const char* odd :
       {"", " ", "-", "--", "\n", "\xff\xfe", "caf\xc3\xa9", "\xe5\x80\x92\xe7\xab\x8b", "a\x1b[31mb", "%s%n", "{}"})
    cases.push_back({{"train", odd}, ""});
  cases.push_back({{"train", std::string(100000, 'x')}, ""});
  return cases;
}

std::vector<BadInput> device_cases() {
  if (cuda_device_count() > 0) return {{train({"--device", "cuda:99"}), "cuda:99"}};
  return {{train({"--capture", "on"}), "capture on"},
          {train({"--capture", "on", "--device", "auto", "--run-dir", "a/b"}), "capture on"},
          {train({"--device", "cuda"}), "device 'cuda'"},
          {train({"--device", "cuda:1"}), "device 'cuda:1'"}};
}

std::vector<BadInput> contradictions() {
  return {{train({"--num-minibatches", "3"}), "num_minibatches 3"},
          {train({"--num_envs", "7", "--num_steps", "1", "--num-minibatches", "2"}), "num_minibatches 2"},
          {train({"--batch-size", "999"}), "batch-size 999"},
          {train({"--num-shards", "1000"}), "num_shards 1000"},
          {train({"--num-envs", "16777216", "--num-steps", "65536"}), "num_envs"},
          {train({"--min-learning-rate", "1"}), "min_learning_rate"},
          {train({"--lr-schedule", "adaptive", "--lr", "9"}), "learning_rate"},
          {train({"--capture", "on", "--device", "cpu"}), "capture"},
          {train({"--road", "fused", "--precision", "bf16"}), "road fused"},
          {train({"--device", "gpu"}), "device"},
          {train({"--device", "cuda:-1"}), "device"},
          {train({"--action-distribution", "squashed_gaussian"}), "action_distribution"},
          {train({"--shared-network", "--critic-hidden-sizes", "8"}), "critic_hidden_sizes"},
          {train({"--task", "Acrobot-v1"}), "Acrobot-v1"},
          {train({"--gamma", "0.9", "--gamma", "0.9"}), "gamma"},
          {train({"--batch-size", "64", "--num-minibatches", "8"}), "num_minibatches"},
          {train({"--exp-name", "a/b"}), "exp_name"},
          {train({"--resume", "run"}), "resume"},
          {{"train", "--resume", "run", "--gamma", "0.5"}, "gamma"},
          {{"train", "--resume", "run", "--num-envs", "8"}, "num-envs"}};
}

std::vector<BadInput> command_cases() {
  std::vector<BadInput> cases;
  const Words commands = {"train", "play", "export", "record", "convert", "bench", "list", "doctor", "test"};
  for (const std::string& command : commands) {
    for (const std::string& wrong : misspelt(command, commands)) cases.push_back({{wrong}, command});
    cases.push_back({{command, "--no-such-option"}, "--no-such-option"});
    cases.push_back({{command, "-z"}, "-z"});
  }
  for (const char* odd : {"", "-", "--", "-1", "\xff", "Train", "\xe8\xa8\x93", "run train"})
    cases.push_back({{odd}, "unknown command"});
  const std::vector<BadInput> more = {
      {{"train"}, "train"},
      {{"test"}, "./hotloop test"},
      {{"--gamma"}, "unknown option --gamma"},
      {{"--versoin"}, "did you mean '--version'"},
      {{"list", "extra"}, "unknown task 'extra'"},
      {{"list", "--", "extra"}, "unknown task 'extra'"},
      {{"play", "run", "--episode", "5"}, "did you mean '--episodes'"},
      {{"play", "run", "-json"}, "did you mean '--json'"},
      {{"doctor", "extra"}, "extra"},
      {{"list", "--json=7"}, "json"},
      {train({"extra"}), "extra"},
      {train({"--gamma"}), "gamma"},
      {train({"--gamma", "--seed", "1"}), "gamma"},
      {train({"--no-norm-adv=1"}), "norm-adv"},
      {train({"--norm-adv", "--no-norm-adv"}), "--no-norm-adv and --norm-adv both"},
      {train({"--n_epochs=2", "--update-epochs", "3"}), "--update-epochs and --n_epochs"},
      {train({"--gamma", "0.9", "--gamma", "0.9"}), "--gamma: given twice, keep one"},
      {train({"--seed", "9000000000000000001"}), "in [0, 9000000000000000000]"},
      {train({"--no-gamma"}), "no-gamma"},
      {{"train", "--resume"}, "--resume: needs a value, "},
      {{"train", "--resume", "run", "--resume", "run"}, "--resume: given twice"},
      {{"train", "run"}, "train --resume run, or see it by "},
      {{"train", "./run"}, " play ./run"},
      {{"train", "--resume", ""}, "resume"},
      {{"train", "--resume", "none"}, "none"},
      {{"train", "--resume", "folder"}, "config.toml"},
      {{"train", "--resume", "file"}, "file"},
      {{"train", "--resume", "file/below"}, "file/below"},
      {{"train", "--resume", "broken_run"}, "config.toml"},
      {{"play"}, "play"},
      {{"play", ""}, "play"},
      {{"play", "none"}, "none"},
      {{"play", "file/below"}, "file/below"},
      {{"play", "run", "extra"}, "extra"},
      {{"play", "run", "--episodes", "0"}, "episodes 0"},
      {{"play", "run", "--episodes", "-5"}, "episodes -5"},
      {{"play", "run", "--episodes", "1.5"}, "episodes 1.5"},
      {{"play", "run", "--episodes", ""}, "episodes"},
      {{"play", "run", "--episodes"}, "--episodes: needs a value, episodes to play"},
      {{"play", "run", "--episodes", "--json"}, "--episodes: needs a value"},
      {{"play", "run", "--episodes", "5", "--episodes=6"}, "--episodes: given twice"},
      {{"play", "run", "--episodes", "1e9"}, "--episodes 1e9: must be an integer in [1, 10000000]"},
      {{"play", "run", "--seed", "-1"}, "seed -1"},
      {{"play", "run", "--seed", "1e99"}, "seed 1e99"},
      {{"play", "run", "--checkpoint", "newest"}, "checkpoint newest"},
      {{"train", "Ant-v5", "--randomize.body_mas", "1,2"}, "--randomize.body_mas: no such field"},
      {{"train", "Ant-v5", "--randomize.body_mass"}, "--randomize.body_mass: needs a value"},
      {{"train", "Ant-v5", "--randomize.body_mass", "2,1"}, "--randomize.body_mass 2,1: must be low,high"},
      {{"train", "Ant-v5", "--randomize.tendon_damping", "1,2", "--run-dir", "new"}, "no tendon_damping to change"},
      {{"bench", "everything"}, "everything"},
      {{"bench", "train", "--seconds"}, "--seconds: needs a value"},
      {{"bench", "env", "--gamma", "2"}, "gamma 2"},
      {{"bench", "env", "--gama", "2"}, "gama"},
      {{"bench", "physics", "--task", "Ant-v5"}, "--task Ant-v5: is used only by"},
      {{"bench", "env", "--gamma", "0.9"}, "--gamma 0.9: is used only by"},
      {{"bench", "env", "--model", "a.xml"}, "--model a.xml: is used only by"},
      {{"bench", "train", "--log-gzip", "3"}, "--log-gzip 3: is used only by"}};
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

std::vector<BadInput> file_cases() {
  const std::string task = "task = 'CartPole-v1'\n", junk(
                                                         "\x7f"
                                                         "ELF\x02\x01\0\0\xff\xfe{[",
                                                         12);
  std::vector<BadInput> cases;
  for (const char* path : {"none.toml", "folder.toml", "file/below.toml", "./folder", "/dev/zero", "/proc/self/mem",
                           "./fifo", "loop.toml", "../", "/"})
    cases.push_back({{"train", path}, path});
  cases.push_back({{"train", std::string(5000, 'x') + ".toml"}, "xxx"});
  for (const std::string& toml : {junk,
                                  task + "gamma =",
                                  task + "gamma = 0.9 0.8",
                                  task + "[",
                                  task + "gamma : 0.9",
                                  task + "= 1",
                                  task + "a.b = 1",
                                  task + "[train]\ngamma = 0.9",
                                  task + "[[runs]]\n",
                                  task + "gamma = {a = 1}",
                                  task + "gamma = 0.9\ngamma = 0.9",
                                  task + "tau = 0.9\ngae_lambda = 0.9",
                                  task + "seed = 99999999999999999999",
                                  task + "gamma = 'unclosed",
                                  task + "\"\" = 1",
                                  task + "'\xe9' = 1",
                                  task + "gamma = 1979-05-27T07:32:00Z",
                                  task + std::string(2 << 20, ' '),
                                  task + "hidden_sizes = " + std::string(3000, '[') + std::string(3000, ']'),
                                  std::string("seed = 1\n"),
                                  std::string("task = 7\n"),
                                  std::string("task = ''\n"),
                                  std::string("\n"),
                                  std::string("---\ntask: CartPole-v1\n"),
                                  std::string("{\"task\": \"CartPole-v1\"}\n")})
    cases.push_back({{"train", "case.toml"}, "", toml});
  for (const char* dir : {"file", "file/below", "/proc/below", "run", "folder.toml/../file/x"})
    cases.push_back({train({"--run-dir", dir}), dir});
  cases.push_back({train({"--run-dir", std::string(5000, 'x')}), "xxx"});
  return cases;
}

void make_fixtures(const fs::path& at) {
  fs::create_directories(at / "folder.toml");
  fs::create_directories(at / "folder");
  fs::create_directories(at / "run");
  fs::create_directories(at / "broken_run");
  std::ofstream(at / "file") << "text\n";
  std::ofstream(at / "broken_run" / "config.toml") << "task = \n";
  TrainConfig config;
  config.task = "CartPole-v1";
  std::ofstream(at / "run" / "config.toml") << to_toml(config);
  fs::create_symlink("loop.toml", at / "loop.toml");
  ASSERT_EQ(::mkfifo((at / "fifo").c_str(), 0600), 0);
}

void check_all(const std::vector<BadInput>& cases, std::size_t at_least) {
  EXPECT_GE(cases.size(), at_least);
  const TempFolder folder;
  make_fixtures(folder.path());
  for (const BadInput& bad : cases) check_bad_input(bad, folder.path());
}

TEST(BadInput, Keys) { check_all(key_cases(), 200); }
TEST(BadInput, Tasks) { check_all(task_cases(), 10); }
TEST(BadInput, Devices) { check_all(device_cases(), 1); }
TEST(BadInput, Contradictions) { check_all(contradictions(), 10); }
TEST(BadInput, Commands) { check_all(command_cases(), 30); }
TEST(BadInput, Files) { check_all(file_cases(), 30); }

}  // namespace
}  // namespace hotloop
