// What a window may lose while a training goes on beside it.
#include <gtest/gtest.h>

#include <fstream>
#include <new>

#include "sim/core/error.h"
#include "tests/temp_folder.h"
#include "tests/viz/ui_driver.h"
#include "train/config.h"
#include "viz/watch.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

TrainConfig small_config(const fs::path& run) {
  return resolve_settings({{"task", "CartPole-v1", ""},
                           {"device", "cpu", ""},
                           {"num_envs", "8", ""},
                           {"num_steps", "32", ""},
                           {"total_timesteps", "61440", ""},
                           {"hidden_sizes", "16,16", ""},
                           {"eval_interval", "0", ""},
                           {"run_dir", run.string(), ""}});
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The viewer alone ends, in one line; the training ends as without it.
TEST(UiLoss, MemoryThatThereIsNotEndsTheWindowOnly) {
  const TempFolder folder;
  TrainOptions options;
  options.quiet = true;
  ASSERT_EQ(train_command(small_config(folder / "alone"), options), 0);
  const auto no_host_memory = [] { throw std::bad_alloc(); };
  const auto no_device_memory = [] { throw Error("cuda:0: out of memory"); };
  int runs = 0;
  for (const std::function<void()>& fail : {std::function<void()>(no_host_memory), {no_device_memory}}) {
    shared_display();
    int pictures = 0;
    ViewerOptions window = UiDriver::small_window();
    window.in_picture = [&] {
      ++pictures;
      fail();
    };
    const fs::path run = (folder / "watched").string() + std::to_string(++runs);
    testing::internal::CaptureStderr();
    EXPECT_EQ(watch_training(small_config(run), options, window), 0);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("the training goes on without its window"), std::string::npos) << said;
    EXPECT_EQ(pictures, 1);
    EXPECT_EQ(text_of(run / "metrics.csv"), text_of(folder / "alone" / "metrics.csv"));
  }
}

}  // namespace
}  // namespace hotloop
