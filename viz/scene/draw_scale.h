// How much smaller than asked for a picture is drawn, so that it does not take longer than it may: where OpenGL runs on
// the CPU most of the time goes into pixels.
#pragma once
#include <algorithm>

namespace hotloop {

class DrawScale {
 public:
  // budget: [ms] of a picture; 0: always at full size.
  explicit DrawScale(double budget) : budget_(budget) {}

  float value() const { return kScales[step_]; }
  // What a picture took lately [ms]. A change is judged by the mean of some pictures, after those that were under way.
  void note(double milliseconds) {
    if (budget_ <= 0 || ++count_ <= kUnderWay) return;
    sum_ += milliseconds;
    if (count_ < kUnderWay + kJudged) return;
    const double mean = sum_ / kJudged;
    const auto ratio = [&](int step) { return kScales[step] / kScales[step_]; };
    int next = step_;
    if (mean > budget_) next = std::min(step_ + 1, kLast);
    // back only where there is room: the number of pixels goes with the square
    if (step_ > 0 && mean * ratio(step_ - 1) * ratio(step_ - 1) < 0.7 * budget_) next = step_ - 1;
    step_ = next;
    count_ = 0;
    sum_ = 0;
  }

 private:
  static constexpr float kScales[] = {1, 0.75f, 0.5f};
  static constexpr int kLast = 2, kUnderWay = 5, kJudged = 8;
  double budget_, sum_ = 0;
  int step_ = 0, count_ = 0;
};

}  // namespace hotloop
