// `hotloop export`: the returns that exported policies reach elsewhere, what files say of themselves, what is refused.
// That every format gives hotloop's actions is tests/generic/export_test.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "data/file.h"
#include "data/safetensors.h"
#include "tests/app/bad_input.h"
#include "tests/app/program.h"
#include "tests/app/small_disk.h"
#include "tests/app/small_run.h"
#include "tests/temp_folder.h"
#include "tests/test_python.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

void run(const Words& words, const fs::path& folder = ".") {
  const ProgramResult result = run_program(words, folder, 120);
  ASSERT_EQ(result.status, 0) << result.err;
}

Json json_of(const fs::path& file) { return Json::parse(read_file(file, 1 << 20)); }

std::string output_of(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  char block[256];
  while (pipe != nullptr && std::fgets(block, sizeof block, pipe) != nullptr) text += block;
  if (pipe != nullptr) pclose(pipe);
  return text;
}

// Gymnasium's environment with the exported policy, and hotloop's own: the means differ by no more than three standard
// errors, which they exceed in one of 370 such comparisons; the seeds are fixed.
void expect_same_return(const fs::path& policy_run, const std::string& task, int episodes, double worst) {
  const TempFolder folder;
  const std::string policy = folder / "policy.onnx";
  run({"export", policy_run.string(), "--to", "onnx", "-o", policy});
  const ProgramResult played =
      run_program({"play", policy_run.string(), "--episodes", "1000", "--device", "cpu", "--json"}, ".", 120);
  ASSERT_EQ(played.status, 0) << played.err;
  const Json own = Json::parse(played.out);
  const std::string text = output_of(test_python() + " '" HOTLOOP_SOURCE_DIR "/tests/python/drive_export.py' " + task +
                                     " '" + policy + "' " + std::to_string(episodes));
  ASSERT_TRUE(Json::accept(text)) << text;
  const Json theirs = Json::parse(text);
  const double own_std = own.at("return_std"), their_std = theirs.at("std"), mean = theirs.at("mean");
  const double error = std::sqrt(own_std * own_std / 1000 + their_std * their_std / episodes);
  EXPECT_NEAR(mean, own.at("return_mean").get<double>(), 3 * error + 1e-3) << played.out << text;
  EXPECT_GT(mean, worst);
}

bool lacks_python() { return !must_have_python() && !python_has("onnxruntime, gymnasium"); }

TEST(ExportProgram, CartPoleReachesItsReturnInGymnasium) {
  if (lacks_python()) GTEST_SKIP() << test_python() << " has no onnxruntime or no gymnasium";
  const TempFolder folder;
  run(small_run(folder / "run"));
  expect_same_return(folder / "run", "CartPole-v1", 60, 100);
}

TEST(ExportProgram, PendulumReachesItsReturnInGymnasium) {
  if (lacks_python()) GTEST_SKIP() << test_python() << " has no onnxruntime or no gymnasium";
  const TempFolder folder;
  run({"train", "Pendulum-v1", "--device", "cpu", "--quiet", "--total-timesteps", "100000", "--run-dir",
       folder / "run"});
  expect_same_return(folder / "run", "Pendulum-v1", 100, -300);
}

// A training of Ant of one iteration, in a shorter control period.
void train_ant(const fs::path& folder, const Words& more = {}) {
  Words words = {"train",    "Ant-v5",
                 "--device", "cpu",
                 "--quiet",  "--num-envs",
                 "2",        "--num-steps",
                 "4",        "--total-timesteps",
                 "8",        "--num-minibatches",
                 "1",        "--eval-episodes",
                 "1",        "--max-episode-steps",
                 "5",        "--run-dir",
                 "run",      "--env.frame_skip",
                 "2",        "--hidden-sizes",
                 "8",        "--critic-hidden-sizes",
                 "[]"};
  words.insert(words.end(), more.begin(), more.end());
  run(words, folder);
}

TEST(ExportProgram, EveryFormatSaysWhatItIs) {
  const TempFolder folder;
  train_ant(folder.path());
  const fs::path at = folder.path();
  for (const char* format : {"onnx", "torchscript", "safetensors", "c"})
    run({"export", "run", "--to", format, "--value"}, at);
  const Json facts = json_of(at / "policy.onnx.json");
  for (const char* name : {"policy.pt.json", "policy.safetensors.json", "policy.c.json"})
    EXPECT_EQ(json_of(at / name), facts) << name;
  EXPECT_EQ(facts.at("task"), "Ant-v5");
  EXPECT_EQ(facts.at("training_steps"), 8);
  EXPECT_NEAR(facts.at("control_period"), 0.02, 1e-12) << "frame_skip 2 of 0.01 s";
  EXPECT_EQ(facts.at("outputs"), Json({"action", "value"}));
  EXPECT_EQ(facts.at("joint_names"),
            Json({"hip_1", "ankle_1", "hip_2", "ankle_2", "hip_3", "ankle_3", "hip_4", "ankle_4"}));
  EXPECT_EQ(facts.at("actuator_joints"),
            Json({"hip_4", "ankle_4", "hip_1", "ankle_1", "hip_2", "ankle_2", "hip_3", "ankle_3"}));
  EXPECT_EQ(facts.at("default_joint_positions"), Json(std::vector<double>(8, 0.0)));
  EXPECT_EQ(facts.at("actuator_gear"), Json(std::vector<double>(8, 150.0)));
  EXPECT_EQ(facts.at("action_scale"), Json(std::vector<double>(8, 1.0)));
  EXPECT_EQ(facts.at("action_space").at("low"), Json(std::vector<double>(8, -1.0)));
  EXPECT_EQ(facts.at("observation_space").at("shape"), Json({105}));
  EXPECT_TRUE(facts.at("observation_space").at("low").at(0).is_null());
  EXPECT_NE(facts.at("configuration").get<std::string>().find("frame_skip = 2"), std::string::npos);

  const Safetensors file = Safetensors::read(at / "policy.safetensors");
  EXPECT_EQ(file.metadata_value("task"), "Ant-v5");
  EXPECT_EQ(Json::parse(file.metadata_value("joint_names")), facts.at("joint_names"));
  EXPECT_EQ(file.get("actor.0.weight").shape, (std::vector<std::int64_t>{8, 105}));
  std::string source = read_file(at / "policy.c", 1 << 22);
  const std::size_t begin = source.find("\n{") + 1;
  EXPECT_EQ(Json::parse(source.substr(begin, source.find("*/") - begin)), facts);
}

TEST(ExportProgram, OnlyTorchScriptNeedsLibTorch) {
  const TempFolder folder;
  run(small_run("run", {"--total-timesteps", "256", "--num-minibatches", "2"}), folder.path());
  // the dynamic linker lists what it opens
  const auto opened = [&](const std::string& format) {
    return output_of("cd '" + folder.path().string() + "' && LD_DEBUG=files '" HOTLOOP_PROGRAM "' export run --to " +
                     format + " 2>&1");
  };
  for (const char* format : {"onnx", "safetensors", "c"}) {
    const std::string list = opened(format);
    EXPECT_NE(list.find("libmujoco"), std::string::npos) << "no list: " << list.substr(0, 1000);
    EXPECT_EQ(list.find("libtorch"), std::string::npos) << format;
    EXPECT_TRUE(fs::exists(folder.path() / (std::string("policy.") + format))) << format;
  }
  EXPECT_NE(opened("torchscript").find("libtorch_cpu"), std::string::npos);
}

TEST(ExportProgram, ChoosesTheCheckpointAsPlayDoes) {
  const TempFolder folder;
  run(small_run(folder / "run"));
  const auto steps_of = [&](const std::string& target, const Words& more) {
    Words words = {"export", target, "--to", "safetensors"};
    words.insert(words.end(), more.begin(), more.end());
    run(words, folder.path());
    const auto steps = json_of(folder / "policy.safetensors.json").at("training_steps").get<std::int64_t>();
    fs::remove(folder / "policy.safetensors");
    fs::remove(folder / "policy.safetensors.json");
    return steps;
  };
  const auto counted = [&](const char* file) {
    return Json::parse(Safetensors::read(folder.path() / file).metadata_value("counters")).at("global_step");
  };
  EXPECT_EQ(counted("run/best.safetensors"), steps_of("run", {}));
  EXPECT_EQ(counted("run/best.safetensors"), steps_of("run", {"--checkpoint", "best"}));
  EXPECT_EQ(15360, steps_of("run", {"--checkpoint", "latest"}));
  for (const auto& entry : fs::directory_iterator(folder / "run/checkpoints"))
    EXPECT_EQ(std::stoll(entry.path().stem().string()) * 256, steps_of(entry.path().string(), {}));
  fs::remove(folder / "run/best.safetensors");
  EXPECT_EQ(15360, steps_of("run", {}));
}

TEST(ExportProgram, TakesAClone) {
  const TempFolder folder;
  run({"record", "CartPole-v1", "--random", "--format", "tensordict", "-o", "data", "--episodes", "20", "--device",
       "cpu"},
      folder.path());
  run({"train",     "CartPole-v1",
       "--algo",    "bc",
       "--dataset", "data",
       "--device",  "cpu",
       "--quiet",   "--run-dir",
       "clone",     "--num-envs",
       "4",         "--num-steps",
       "16",        "--total-timesteps",
       "64",        "--num-minibatches",
       "1",         "--eval-episodes",
       "2"},
      folder.path());
  fs::create_directory(folder / "made");
  run({"export", "clone", "--to", "c", "-o", "made/clone.c", "--name", "clone"}, folder.path());
  EXPECT_EQ(json_of(folder / "made/clone.c.json").at("algorithm"), "bc");
  const std::string source = read_file(folder / "made/clone.c", 1 << 22);
  EXPECT_NE(source.find("\nvoid clone(const float *observation, float *action)\n{"), std::string::npos);
  EXPECT_EQ(source.find("clone_value"), std::string::npos);
}

class BadExport : public testing::Test {
 protected:
  void SetUp() override {
    run(small_run("run", {"--total-timesteps", "256", "--hidden-sizes", "8", "--num-minibatches", "2"}),
        folder_.path());
  }
  void check(const Words& words, const std::string& mentions) {
    Words all = {"export"};
    all.insert(all.end(), words.begin(), words.end());
    check_bad_input({all, mentions}, folder_.path());
  }
  const TempFolder folder_;
};

TEST_F(BadExport, CommandLines) {
  check({}, "name a run folder or a checkpoint file");
  check({"run"}, "--to is missing: one of onnx, torchscript, safetensors, c");
  check({"run", "--to", "onx"}, "did you mean 'onnx'");
  check({"run", "--to", "tflite"}, "must be one of onnx, torchscript, safetensors, c");
  check({"run", "--to"}, "needs a value");
  check({"run", "--to", "c", "--to", "c"}, "given twice");
  check({"run", "--to", "c", "--checkpoint", "first"}, "must be one of best, latest");
  check({"ruin", "--to", "c"}, "did you mean 'run'");
  check({"nowhere/at/all", "--to", "c"}, "no run or checkpoint 'nowhere/at/all'");
  check({"run/checkpoints", "--to", "c"}, "holds no best.safetensors nor latest.safetensors");
  check({"run/config.toml", "--to", "c"}, "run/config.toml");
  check({"run", "--to", "onnx", "--name", "walk"}, "--name walk");
  for (const char* name : {"int", "restrict", "main", "tanhf", "memset"})
    check({"run", "--to", "c", "--name", name}, "--name " + std::string(name) + ": is a word of C");
  check({"run", "--to", "c", "-o", "nowhere/policy.c"}, "nowhere is not there");
  for (const char* name : {"", "7", "_x", "a-b", "a b", "caf\xc3\xa9"}) {
    if (*name != '\0') check({"run", "--to", "c", "--name", name}, "--name");
  }
  check({"run", "--to", "c", "--vlaue"}, "did you mean '--value'");
}

// Of two at once to one name the first has it, and the facts beside it are its own.
TEST_F(BadExport, TwoAtOnce) {
  for (int round = 0; round < 8; ++round) {
    ProgramResult results[2];
    std::thread other([&] {
      results[0] = run_program({"export", "run", "--to", "c", "-o", "two.c", "--name", "first"}, folder_.path(), 60);
    });
    results[1] = run_program({"export", "run", "--to", "c", "-o", "two.c", "--value"}, folder_.path(), 60);
    other.join();
    EXPECT_EQ(results[0].status + results[1].status, 2) << results[0].err << results[1].err;
    const bool first = results[0].status == 0;
    expect_one_line(results[first ? 1 : 0], "exists");
    EXPECT_EQ(read_file(folder_ / "two.c", 1 << 20).find("void first(") != std::string::npos, first);
    EXPECT_EQ(read_file(folder_ / "two.c.json", 1 << 20).find("\"value\"") == std::string::npos, first);
    fs::remove(folder_ / "two.c");
    fs::remove(folder_ / "two.c.json");
  }
}

TEST_F(BadExport, Outputs) {
  write_file(folder_ / "taken.c", "mine");
  write_file(folder_ / "other.c.json", "mine");
  fs::create_directory(folder_ / "folder");
  fs::create_symlink("nowhere", folder_ / "link.c");
  check({"run", "--to", "c", "-o", "taken.c"}, "taken.c' exists");
  check({"run", "--to", "c", "-o", "other.c"}, "other.c.json' exists");
  check({"run", "--to", "c", "-o", "folder"}, "folder' exists");
  check({"run", "--to", "c", "-o", "folder/"}, "folder' exists");
  check({"run", "--to", "c", "-o", "link.c"}, "link.c' exists");
  check({"run", "--to", "c", "-o", "taken.c/policy.c"}, "taken.c");
  check({"run", "--to", "c", "-o", "/proc/policy.c"}, "/proc");
  check({"run", "--to", "c", "-o", "/"}, "-o");
}

TEST_F(BadExport, Checkpoints) {
  const std::string good = read_file(folder_ / "run/latest.safetensors", UINT64_MAX);
  const auto damaged = [&](const std::string& bytes, const std::string& mentions) {
    write_file(folder_ / "bad.safetensors", bytes);
    for (const char* format : {"onnx", "torchscript", "safetensors", "c"})
      check({"bad.safetensors", "--to", format}, mentions);
  };
  damaged("", "bad.safetensors");
  damaged("not a checkpoint", "bad.safetensors");
  damaged(good.substr(0, good.size() - 1), "bad.safetensors");
  std::string flipped = good;
  flipped[good.size() - 100] ^= 1;
  damaged(flipped, "bad.safetensors");
  // an exported policy is no checkpoint
  run({"export", "run", "--to", "safetensors", "-o", "policy.safetensors"}, folder_.path());
  check({"policy.safetensors", "--to", "c"}, "policy.safetensors: is what export wrote, no checkpoint of hotloop");
  // weights that are not numbers
  const Safetensors file = Safetensors::read(folder_ / "run/latest.safetensors");
  std::vector<NamedTensor> tensors = file.tensors();
  std::string bytes;
  for (NamedTensor& t : tensors) {
    if (t.name != "actor.1.bias") continue;
    bytes.assign(t.bytes.size(), '\xff');
    t.bytes = std::as_bytes(std::span(bytes));
  }
  write_safetensors(folder_ / "bad.safetensors", tensors, file.metadata());
  check({"bad.safetensors", "--to", "onnx"},
        "bad.safetensors: actor.1.bias of the policy holds a number that is not finite");
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST_F(BadExport, FullAndReadOnlyDisks) {
  SmallDisk disk(folder_ / "disk", "size=16k");
  if (!disk.failure().empty()) GTEST_SKIP() << "cannot mount a file system here: " << disk.failure();
  for (const char* format : {"onnx", "torchscript", "safetensors", "c"}) {
    SCOPED_TRACE(format);
    write_file(folder_ / "disk/filler", std::string(8192, 'x'));
    // a file system of 16 KB with 8 taken holds neither file and its JSON
    const ProgramResult result =
        run_program({"export", "run", "--to", format, "-o", "disk/policy"}, folder_.path(), 60);
    expect_one_line(result, "No space left on device");
    EXPECT_EQ(result.err.find(".tmp"), std::string::npos) << result.err;
    EXPECT_EQ(files_in(folder_ / "disk"), 1u) << "something is left";
    fs::remove(folder_ / "disk/filler");
  }
  disk.change("ro", MS_RDONLY);
  const ProgramResult result = run_program({"export", "run", "--to", "c", "-o", "disk/policy.c"}, folder_.path(), 60);
  expect_one_line(result, "Read-only file system");
  EXPECT_EQ(files_in(folder_ / "disk"), 0u);
}

}  // namespace
}  // namespace hotloop
