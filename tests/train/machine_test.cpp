#include "train/machine.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/core/version.h"

namespace hotloop {
namespace {

TEST(Machine, SaysWhatARunWasMadeWith) {
  const auto json = nlohmann::json::parse(describe_machine({"hotloop", "train", "\xff"}, Device{}, "abc123"));
  EXPECT_EQ(json["hotloop"], version());
  EXPECT_EQ(json["git_commit"], "abc123");
  EXPECT_EQ(json["command_line"][1], "train");
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_GT(json["cores"], 0);
  EXPECT_GT(json["memory_gib"], 0.0);
  EXPECT_FALSE(json["host"].get<std::string>().empty());
  EXPECT_NE(json["compiler"].get<std::string>().find(' '), std::string::npos);
  EXPECT_FALSE(json.contains("gpu"));
  EXPECT_FALSE(nlohmann::json::parse(describe_machine({}, Device{})).contains("git_commit"));
}

TEST(MachineGpu, NamesTheCard) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const auto json = nlohmann::json::parse(describe_machine({}, Device{Device::Kind::cuda, 0}));
  EXPECT_FALSE(json["gpu"]["name"].get<std::string>().empty());
  EXPECT_FALSE(json["gpu"]["driver"].get<std::string>().empty());
}

}  // namespace
}  // namespace hotloop
