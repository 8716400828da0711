#include "train/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace hotloop {
namespace {

using std::chrono::milliseconds;

// What was written to a file that stands for stderr.
class Output {
 public:
  ~Output() { std::fclose(file_); }
  std::FILE* file() { return file_; }
  std::string text() {
    std::string out(static_cast<std::size_t>(std::ftell(file_)), '\0');
    std::rewind(file_);
    out.resize(std::fread(out.data(), 1, out.size(), file_));
    return out;
  }

 private:
  std::FILE* file_ = std::tmpfile();
};

ProgressState state(std::int64_t steps) { return {steps, 5'000'000, 1e6, 475.23, 480}; }

TEST(Progress, TextSaysStepsSpeedReturnLengthAndTimeLeft) {
  EXPECT_EQ(progress_text(state(1'250'000)),
            "1.25 M of 5.00 M steps (25 %)   1.00 M steps/s   return 475.2   length 480.0   0:04 left");
  EXPECT_EQ(progress_text({0, 100}), "0 of 100 steps (0 %)   - steps/s   return -   length -   - left");
  EXPECT_EQ(progress_text({100, 100, 5, -1234.6, 1}),
            "100 of 100 steps (100 %)   5 steps/s   return -1235   length 1.0   0:00 left");
}

TEST(Progress, Counts) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(999.7), "1.00 k");
  EXPECT_EQ(count_text(12'345), "12.3 k");
  EXPECT_EQ(count_text(99'960), "100 k");
  EXPECT_EQ(count_text(999'499), "999 k");
  EXPECT_EQ(count_text(999'500), "1.00 M");
  EXPECT_EQ(count_text(1.5e9), "1.50 G");
  EXPECT_EQ(count_text(2e15), "2000 T");
}

TEST(Progress, Durations) {
  EXPECT_EQ(duration_text(0), "0:00");
  EXPECT_EQ(duration_text(59.6), "1:00");
  EXPECT_EQ(duration_text(3723), "1:02:03");
  EXPECT_EQ(duration_text(51 * 3600 + 1), "2 d 03 h");
  EXPECT_EQ(duration_text(-1), "-");
  EXPECT_EQ(duration_text(1.0 / 0.0), "-");
}

TEST(Progress, RedrawsInPlaceAtMostTenTimesASecond) {
  Output out;
  const auto start = ProgressLine::Clock::now();
  {
    ProgressLine line(out.file(), true);
    for (int ms = 0; ms < 1000; ++ms) line.update(state(ms), start + milliseconds(ms));
  }
  const std::string text = out.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 10);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_LT(text.find('\n', text.rfind('\r')) - text.rfind('\r'), 84u) << "wider than the terminal";
}

TEST(Progress, MessagesStandAboveTheLine) {
  Output out;
  ProgressLine line(out.file(), true);
  line.update(state(1));
  line.message("evaluation: return 500");
  line.update(state(2));
  line.finish(state(5'000'000));
  const std::string text = out.text();
  EXPECT_NE(text.find("\r\x1b[K"
                      "evaluation: return 500\n\r\x1b[K2 of"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.substr(text.rfind('\r')), "\r\x1b[K" + progress_text(state(5'000'000)) + "\n");
}

TEST(Progress, AnEvaluationsLineGoesAway) {
  EXPECT_EQ(episodes_text(16'384, 1'000'000, 10), "16.4 k of 1.00 M episodes (1 %)   10:00 left");
  EXPECT_EQ(episodes_text(0, 100, 3), "0 of 100 episodes (0 %)   - left");
  EXPECT_EQ(episodes_text(100, 100, 3), "100 of 100 episodes (100 %)   0:00 left");
  Output out;
  {
    ProgressLine line(out.file(), true);
    line.clear();
    line.update("half");
    line.clear();
  }
  EXPECT_EQ(out.text(),
            "\r\x1b[K"
            "half\r\x1b[K");
}

TEST(Progress, AFileGetsPlainLinesAndOnlyTheFew) {
  Output out;
  {
    ProgressLine line(out.file());
    line.message("CartPole-v1: 4096 worlds");
    for (int i = 0; i < 1000; ++i) line.update(state(i));
    line.message("evaluation: return 500");
    line.finish(state(5'000'000));
  }
  EXPECT_EQ(out.text(), "CartPole-v1: 4096 worlds\nevaluation: return 500\n" + progress_text(state(5'000'000)) + "\n");
}

}  // namespace
}  // namespace hotloop
