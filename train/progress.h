// One line on stderr that says how a training or a long evaluation goes: redrawn in place on a terminal; where stderr
// is a file or a pipe, a plain line at the start, at each evaluation and at the end, so that logs stay short.
#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>

namespace hotloop {

struct ProgressState {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  std::int64_t steps = 0, total_steps = 0;
  double steps_per_second = kUnknown;
  double episodic_return = kUnknown, episodic_length = kUnknown;
};

// "  1.25 M of 5 M steps (25 %)   12.3 M steps/s   return 475.2   length 475.2   0:05 left"
std::string progress_text(const ProgressState& state);

// "16.4 k of 1.00 M episodes (1 %)   0:41 left": of a long evaluation.
std::string episodes_text(std::int64_t ended, std::int64_t episodes, double seconds);

// "0:05", "12:34", "1:02:03", "2 d 03 h"; "-" for what is not a time.
std::string duration_text(double seconds);
// Three significant digits with k, M, G, T: "999", "1.25 k", "12.3 M".
std::string count_text(double count);

// "1 episode", "2 episodes".
std::string counted(std::int64_t count, const std::string& thing);

class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ProgressLine(std::FILE* out = stderr);
  ProgressLine(std::FILE* out, bool in_place) : out_(out), in_place_(in_place) {}
  ~ProgressLine();  // leaves the cursor on a line of its own
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // A whole line above the progress line: the start, an evaluation, the end, a warning.
  void message(std::string_view text);
  // In place, at most 10 times a second; elsewhere nothing.
  void update(const ProgressState& state, Clock::time_point now = Clock::now());
  void update(const std::string& text, Clock::time_point now = Clock::now());
  // Takes the line away.
  void clear();
  // The last state, for good: a whole line in either case.
  void finish(const ProgressState& state);

 private:
  bool due(Clock::time_point now) const;
  int columns() const;

  std::FILE* out_;
  bool in_place_;
  bool drawn_ = false;
  Clock::time_point drawn_at_{};
};

}  // namespace hotloop
