#include "train/run_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/error_text.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

std::string refusal(const std::filesystem::path& path) {
  TrainConfig config;
  config.run_dir = path.string();
  return error_text([&] { create_run_folder(config); });
}

TEST(RunFolder, IsNewOrEmpty) {
  const TempFolder folder;
  EXPECT_EQ(refusal(folder / "a/b/c"), "");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b/c"));
  EXPECT_EQ(refusal(folder / "a/b/c"), "");
  std::ofstream(folder / "a/b/c/config.toml") << "seed = 1\n";
  EXPECT_NE(refusal(folder / "a/b/c").find("exists already"), std::string::npos);
  EXPECT_NE(refusal(folder / "a/b/c/config.toml").find("is a file"), std::string::npos);
  EXPECT_NE(refusal(folder / "a/b/c/config.toml/below").find("cannot be made"), std::string::npos);
  EXPECT_NE(refusal("/proc/hotloop"), "");
  EXPECT_NE(refusal(folder / std::string(300, 'x').c_str()), "");
}

TEST(RunFolder, DefaultNamesDoNotCollide) {
  const TempFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  TrainConfig config;
  config.task = "A/B-v0";
  const std::filesystem::path first = create_run_folder(config);
  std::ofstream(first / "config.toml") << "seed = 1\n";
  const std::filesystem::path second = create_run_folder(config);
  std::filesystem::current_path(before);
  EXPECT_NE(first, second);
  EXPECT_TRUE(first.is_absolute());
  EXPECT_TRUE(first.filename().string().starts_with("A_B-v0__ppo__1__")) << first;
}

}  // namespace
}  // namespace hotloop
