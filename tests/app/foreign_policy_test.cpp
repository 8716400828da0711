// Policies that CleanRL and Stable-Baselines3 have trained (tests/train/make_policy_golden.py), played here.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "data/file.h"
#include "sim/core/registry.h"
#include "sim/core/thread_pool.h"
#include "tests/app/bad_input.h"
#include "tests/app/program.h"
#include "tests/temp_folder.h"
#include "train/checkpoint.h"
#include "train/foreign_policy.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kFolder = HOTLOOP_SOURCE_DIR "/tests/golden/policies";
constexpr const char* kNames[] = {"cleanrl_cartpole", "cleanrl_pendulum", "sb3_cartpole", "sb3_pendulum"};

const json& golden() {
  static const json file = json::parse(read_file(kFolder / "policies.json", 1 << 20));
  return file;
}
std::string file_of(const std::string& name) { return (kFolder / (name + ".safetensors")).string(); }

// Actions of the policy for `observations`, one after another, as doubles.
std::vector<double> actions_of(const Safetensors& file, const json& observations) {
  const CheckpointInfo info = checkpoint_info(file);
  const EnvSpec& spec = find_environment(info.config.task).spec;
  const auto rows = static_cast<std::int64_t>(observations.size());
  const StreamHandle stream(Device{});
  ThreadPool pool(1);
  const Exec exec{Device{}, stream.get(), &pool};
  PolicyNet net(make_policy_spec(info.config, spec), Device{}, rows);
  load_policy(file, exec, net);
  std::vector<float> x;
  for (const json& row : observations)
    for (const json& value : row) x.push_back(value.get<float>());
  const auto count = static_cast<std::size_t>(rows * spec.action.dim());
  std::vector<float> box(count);
  std::vector<std::int64_t> discrete(count);
  void* out = spec.action.is_box() ? static_cast<void*>(box.data()) : discrete.data();
  net.act(exec, rows, x.data(), nullptr, true, {}, out);
  synchronize(exec);
  if (spec.action.is_box()) return {box.begin(), box.end()};
  return {discrete.begin(), discrete.end()};
}

TEST(ForeignPolicy, ActsAsItsMakersProgramDoes) {
  for (const std::string name : kNames) {
    SCOPED_TRACE(name);
    const json& g = golden().at(name);
    const Safetensors file = read_policy(file_of(name), CheckpointChoice::best, {g.at("task"), g.at("activation")});
    const ActionSpace& space = find_environment(g.at("task")).spec.action;
    const json& examples = g.at("examples");
    const std::vector<double> actions = actions_of(file, examples.at("observations"));
    ASSERT_EQ(actions.size(), examples.at("actions").size());
    for (std::size_t i = 0; i < actions.size(); ++i) {
      auto theirs = examples["actions"][i][0].get<double>();
      if (space.is_box()) theirs = std::clamp<double>(theirs, space.low[0], space.high[0]);
      EXPECT_NEAR(actions[i], theirs, 1e-5) << i;
    }
  }
}

TEST(BadForeign, NumbersThatAreNotFinite) {
  const TempFolder folder;
  const Safetensors good = Safetensors::read(file_of("cleanrl_cartpole"), {.require_checksum = false});
  std::vector<NamedTensor> tensors(good.tensors().begin(), good.tensors().end());
  std::vector<std::byte> bytes(tensors[0].bytes.begin(), tensors[0].bytes.end());
  const float nan = std::nanf("");
  std::memcpy(bytes.data() + 4, &nan, sizeof nan);
  tensors[0].bytes = bytes;
  write_safetensors(folder / "nan.safetensors", tensors);
  const std::vector<std::string> policy = {"nan.safetensors", "--task", "CartPole-v1"};
  const std::string line = " of the policy holds a number that is not finite";
  check_bad_input({{"play", policy[0], policy[1], policy[2]}, line}, folder.path());
  check_bad_input({{"export", policy[0], policy[1], policy[2], "--to", "c", "-o", "p.c"}, line}, folder.path());
  check_bad_input({{"train", "CartPole-v1", "--init-from", policy[0], "--run-dir", "run", "--device", "cpu"}, line},
                  folder.path());
}

TEST(ForeignPolicy, IsExported) {
  const TempFolder folder;
  for (const std::string name : kNames) {
    const json& g = golden().at(name);
    const std::string output = (folder.path() / (name + ".c")).string();
    const ProgramResult nameless = run_program({"export", file_of(name), "--to", "c", "-o", output}, ".", 60);
    EXPECT_EQ(nameless.status, 2);
    EXPECT_NE(nameless.err.find("--task"), std::string::npos) << nameless.err;
    const ProgramResult result = run_program({"export", file_of(name), "--task", g.at("task"), "--activation",
                                              g.at("activation"), "--to", "c", "-o", output},
                                             ".", 60);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(json::parse(read_file(output + ".json", 1 << 20)).at("task"), g.at("task"));
    const ProgramResult recorded =
        run_program({"record", file_of(name), "--task", g.at("task"), "--activation", g.at("activation"), "--format",
                     "d4rl", "-o", output + ".hdf5", "--episodes", "2", "--device", "cpu", "--quiet"},
                    ".", 60);
    EXPECT_EQ(recorded.status, 0) << recorded.err;
  }
}

// What Gymnasium returned on average lies where this program's mean does: within four standard errors of the
// difference.
TEST(ForeignPolicy, ReturnsWhatItReturnsInGymnasium) {
  for (const std::string name : kNames) {
    SCOPED_TRACE(name);
    const json& g = golden().at(name);
    const ProgramResult result = run_program({"play", file_of(name), "--task", g.at("task"), "--activation",
                                              g.at("activation"), "--episodes", "2000", "--device", "cpu", "--json"},
                                             ".", 120);
    ASSERT_EQ(result.status, 0) << result.err;
    const json played = json::parse(result.out);
    const double ours = played.at("return_std").get<double>(), theirs = g.at("return_std").get<double>();
    const double error = std::sqrt(ours * ours / 2000 + theirs * theirs / g.at("episodes").get<double>());
    EXPECT_GT(error, 0);
    EXPECT_NEAR(played.at("return_mean").get<double>(), g.at("return_mean").get<double>(), 4 * error);
    EXPECT_NEAR(ours / theirs, 1, 0.4);
    EXPECT_EQ(played.at("episodes"), 2000);
    const auto truncated = played.at("truncated_episodes").get<std::int64_t>();
    EXPECT_EQ(played.at("terminated_episodes").get<std::int64_t>() + truncated, 2000);
    if (g.at("task") == "CartPole-v1") {
      EXPECT_TRUE(0 < truncated && truncated < 1000);
      EXPECT_EQ(played.at("length_max"), 500);
      EXPECT_EQ(played.at("return_mean"), played.at("length_mean"));
    }
  }
}

// ---- files that are no such policy ----------------------------------------------------------------------------------

class BadForeignPolicy : public testing::Test {
 protected:
  // Tensors of a good file, changed.
  void check(const std::string& name, const std::string& task, const std::string& mentions,
             const std::function<void(std::vector<NamedTensor>&)>& change) {
    SCOPED_TRACE(mentions);
    const Safetensors good = Safetensors::read(file_of(name), {.require_checksum = false});
    std::vector<NamedTensor> tensors = good.tensors();
    change(tensors);
    write_safetensors(folder_ / "policy.safetensors", tensors);
    check_bad_input({{"play", "policy.safetensors", "--task", task, "--device", "cpu"}, mentions}, folder_.path());
    check_bad_input({{"train", task, "--init-from", "policy.safetensors", "--device", "cpu", "--run-dir", "run"}, ""},
                    folder_.path());
  }
  static NamedTensor& named(std::vector<NamedTensor>& tensors, const std::string& name) {
    const auto is_it = [&](const NamedTensor& t) { return t.name == name; };
    return *std::find_if(tensors.begin(), tensors.end(), is_it);
  }
  static void drop(std::vector<NamedTensor>& tensors, const std::string& name) {
    std::erase_if(tensors, [&](const NamedTensor& t) { return t.name == name; });
  }
  const TempFolder folder_;
};

TEST_F(BadForeignPolicy, IsOneLine) {
  using Tensors = std::vector<NamedTensor>;
  const std::string cartpole = "cleanrl_cartpole", pendulum = "cleanrl_pendulum", sb3 = "sb3_cartpole";
  check(cartpole, "CartPole-v1", "no tensor 'actor.2.bias'", [](Tensors& t) { drop(t, "actor.2.bias"); });
  check(cartpole, "CartPole-v1", "critic of CleanRL has no hidden layer",
        [](Tensors& t) { std::erase_if(t, [](const NamedTensor& n) { return n.name.starts_with("critic."); }); });
  check(cartpole, "CartPole-v1", "no checkpoint of hotloop nor a policy of CleanRL or Stable-Baselines3",
        [](Tensors& t) { std::erase_if(t, [](const NamedTensor& n) { return n.name.starts_with("actor."); }); });
  check(cartpole, "CartPole-v1", "tensor network.0.weight has no place", [](Tensors& t) {
    t.push_back(named(t, "critic.4.bias"));
    t.back().name = "network.0.weight";
  });
  check(cartpole, "CartPole-v1", "tensor 'actor.2.weight' is float32 [4096]; expected float32 [out, in]",
        [](Tensors& t) { named(t, "actor.2.weight").shape = {4096}; });
  check(cartpole, "CartPole-v1", "tensor 'actor.2.weight' is float32 [32, 128]; expected float32 [32, 64]",
        [](Tensors& t) {
          named(t, "actor.2.weight").shape = {32, 128};
        });
  check(cartpole, "CartPole-v1", "actor.0.bias", [](Tensors& t) {
    NamedTensor& bias = named(t, "actor.0.bias");
    bias.dtype = DType::i32;
  });
  check(cartpole, "Acrobot-v1", "'actor.0.weight' is float32 [64, 4]; expected float32 [64, 6]", [](Tensors&) {});
  check(cartpole, "Pendulum-v1", "actor.0.weight", [](Tensors&) {});
  check(pendulum, "CartPole-v1", "'actor_logstd' is of continuous actions, CartPole-v1 has discrete ones",
        [](Tensors&) {});
  check(pendulum, "Pendulum-v1", "no tensor 'log_std'", [](Tensors& t) { drop(t, "actor_logstd"); });
  check(pendulum, "Pendulum-v1", "no tensor 'obs_rms.var'", [](Tensors& t) { drop(t, "obs_rms.var"); });
  static const double negative[] = {1, -1, 1}, nothing[] = {0};
  check(pendulum, "Pendulum-v1", "tensor 'obs_rms.var' holds -1, no variance",
        [](Tensors& t) { named(t, "obs_rms.var").bytes = std::as_bytes(std::span(negative)); });
  check(pendulum, "Pendulum-v1", "tensor 'obs_rms.count' must be one number above 0",
        [](Tensors& t) { named(t, "obs_rms.count").bytes = std::as_bytes(std::span(nothing)); });
  check(sb3, "CartPole-v1", "no tensor 'value_net.weight'", [](Tensors& t) { drop(t, "value_net.weight"); });
  check(sb3, "CartPole-v1", "actor of Stable-Baselines3 has no hidden layer", [](Tensors& t) {
    std::erase_if(t, [](const NamedTensor& n) { return n.name.starts_with("mlp_extractor.policy_net."); });
  });
}

TEST_F(BadForeignPolicy, FlagsThatDoNotFitAreOneLine) {
  fs::copy_file(file_of("sb3_cartpole"), folder_ / "sb3.safetensors");
  const std::string bytes = read_file(folder_ / "sb3.safetensors", UINT64_MAX);
  write_file(folder_ / "cut.safetensors", std::string_view(bytes).substr(0, bytes.size() / 2));
  write_file(folder_ / "text.safetensors", "no tensors at all");
  const auto bad = [&](std::vector<std::string> words, const std::string& mentions) {
    words.insert(words.begin(), "play");
    check_bad_input({words, mentions}, folder_.path());
  };
  bad({"sb3.safetensors"},
      "sb3.safetensors: is a policy of Stable-Baselines3, which does not say its task: name it by");
  bad({"sb3.safetensors", "--task", "CartPole-v2"}, "did you mean 'CartPole-v1'");
  bad({"sb3.safetensors", "--task", "CartPole-v1", "--activation", "gelu"}, "--activation gelu: must be one of tanh");
  bad({"cut.safetensors", "--task", "CartPole-v1"}, "cut.safetensors: cut short");
  bad({"text.safetensors", "--task", "CartPole-v1"}, "text.safetensors: not a safetensors file");
  bad({"none.safetensors", "--task", "CartPole-v1"}, "no run or checkpoint 'none.safetensors'");
  bad({".", "--task", "CartPole-v1"}, "holds no best.safetensors nor latest.safetensors");
}

}  // namespace
}  // namespace hotloop
