// Every input of the corpus again: those that once were a crash or a hang, and those that reach the readers' branches.
#include <gtest/gtest.h>

#include <chrono>

#include "data/file.h"
#include "tests/fuzz/targets.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr double kMostSeconds = 3;  // also with sanitizers; most take a millisecond

class Corpus : public testing::TestWithParam<FuzzTarget> {};

TEST_P(Corpus, IsReadCalmly) {
  int inputs = 0;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(HOTLOOP_SOURCE_DIR) / "tests/fuzz/corpus" / GetParam().name)) {
    SCOPED_TRACE(entry.path().string());
    const auto start = std::chrono::steady_clock::now();
    GetParam().run(read_file(entry.path(), 1 << 20));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_LT(seconds.count(), kMostSeconds);
    ++inputs;
  }
  EXPECT_GT(inputs, 0);
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(kFuzzTargets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace hotloop
