// The commands that need no training, by the real program.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/core/registry.h"
#include "tests/app/program.h"
#include "tests/temp_folder.h"
#include "train/config.h"

namespace hotloop {
namespace {

using Json = nlohmann::json;

TEST(Command, HelpAndVersionAreOutputs) {
  for (const char* command : {"train", "play", "bench", "list", "doctor", "test"}) {
    const ProgramResult help = run_program({command, "--help"});
    EXPECT_EQ(help.status, 0) << command;
    EXPECT_EQ(help.err, "") << command;
    EXPECT_NE(help.out.find(std::string("hotloop ") + command), std::string::npos) << help.out;
  }
  EXPECT_TRUE(run_program({"--version"}).out.starts_with("hotloop "));
  EXPECT_EQ(run_program({}).out, run_program({"--help"}).out);
}

TEST(Command, TrainHelpNamesEveryKey) {
  const std::string help = run_program({"train", "--help"}).out;
  for (std::string spelling : config_spellings()) {
    std::replace(spelling.begin(), spelling.end(), '_', '-');
    EXPECT_NE(help.find("--" + spelling), std::string::npos) << spelling;
  }
}

TEST(Command, ListNamesEveryEnvironment) {
  const ProgramResult result = run_program({"list", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json tasks = Json::parse(result.out);
  ASSERT_EQ(tasks.size(), environments().size());
  const std::string text = run_program({"list"}).out;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const EnvSpec& spec = environments()[i].spec;
    EXPECT_EQ(tasks[i]["task"], spec.name);
    EXPECT_EQ(tasks[i]["observation"]["low"].size(), spec.observation.low.size());
    EXPECT_EQ(tasks[i]["max_episode_steps"], spec.max_episode_steps);
    EXPECT_NE(text.find(spec.name + "\n"), std::string::npos);
  }
  EXPECT_EQ(tasks[0]["task"], "CartPole-v1");
  EXPECT_EQ(tasks[0]["action"], (Json{{"type", "discrete"}, {"n", 2}}));
  EXPECT_EQ(tasks[0]["reward_threshold"], 475.0);
  EXPECT_TRUE(tasks[0]["observation"]["high"][1].is_null());
}

// What the program says on stderr, and its exit status, when the shell has redirected its stdout by `redirection`.
ProgramResult with_stdout(const std::string& command, const std::string& redirection) {
  const std::string line = std::string("'") + HOTLOOP_PROGRAM + "' " + command + " 2>&1 " + redirection;
  std::FILE* shell = ::popen(line.c_str(), "r");
  ProgramResult result;
  for (int c; (c = std::fgetc(shell)) != EOF;) result.err += static_cast<char>(c);
  result.status = WEXITSTATUS(::pclose(shell));
  return result;
}

TEST(Command, OutputThatGoesNowhereIsAnError) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  constexpr int kBroken = 9;  // a shell need not know descriptors of two digits
  ASSERT_EQ(::dup2(ends[1], kBroken), kBroken);
  ::close(ends[1]);
  const std::string broken = ">&" + std::to_string(kBroken);
  for (const char* command : {"list", "list --json", "doctor", "--help", "train --help", "--version"}) {
    SCOPED_TRACE(command);
    const auto refused = [&](const std::string& redirection, const std::string& reason) {
      const ProgramResult result = with_stdout(command, redirection);
      EXPECT_EQ(result.status, 2) << redirection;
      EXPECT_EQ(result.err, "hotloop: standard output: " + reason + "\n");
    };
    refused(">&-", "Bad file descriptor");
    refused(">/dev/full", "No space left on device");
    refused(broken, "Broken pipe");
  }
  ::close(kBroken);
  const ProgramResult nothing_written = with_stdout("list extra", ">&-");
  EXPECT_EQ(nothing_written.status, 2);
  EXPECT_TRUE(nothing_written.err.starts_with("hotloop: unknown task 'extra'")) << nothing_written.err;
}

TEST(Command, OffersCommandsByTheNameItWasCalledBy) {
  const TempFolder folder;
  std::filesystem::create_symlink(HOTLOOP_PROGRAM, folder / "it's");
  const std::string line = "cd '" + folder.path().string() + "' && \"./it's\" train CartPole-v2 2>&1";
  std::FILE* shell = ::popen(line.c_str(), "r");
  char text[512] = "";
  EXPECT_NE(std::fgets(text, sizeof text, shell), nullptr);
  EXPECT_EQ(WEXITSTATUS(::pclose(shell)), 2);
  EXPECT_TRUE(std::string(text).ends_with("; see './it'\\''s' list\n")) << text;
}

TEST(Command, DoctorReportsTheMachine) {
  const ProgramResult result = run_program({"doctor", "--json"}, ".", 60);
  ASSERT_EQ(result.status, 0) << result.err;
  const Json report = Json::parse(result.out);
  for (const char* key :
       {"hotloop", "machine", "cpu", "memory", "disk", "gpu", "toolkit", "libraries", "assets", "advice"})
    EXPECT_TRUE(report.contains(key)) << key;
  EXPECT_GE(report["cpu"]["cores"], 1);
  EXPECT_NE(report["assets"], "not found");
  EXPECT_TRUE(std::filesystem::exists(report["libraries"]["LibTorch"].get<std::string>()))
      << report["libraries"]["LibTorch"];
  const ProgramResult text = run_program({"doctor"}, ".", 60);
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.out.find("LibTorch"), std::string::npos);
}

}  // namespace
}  // namespace hotloop
