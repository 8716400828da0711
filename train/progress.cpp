#include "train/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>

namespace hotloop {
namespace {

constexpr auto kRedrawInterval = std::chrono::milliseconds(100);
constexpr int kDefaultColumns = 80;
constexpr std::string_view kEraseLine = "\r\x1b[K";

template <class... Args>
std::string formatted(const char* format, Args... args) {
  char text[64];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

// As many digits as a glance can use: 475.2, -1204, 0.0312
std::string value_text(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "-" : formatted("%g", value);
  const double size = std::fabs(value);
  return size >= 1000             ? formatted("%.0f", value)
         : size >= 1 || size == 0 ? formatted("%.1f", value)
                                  : formatted("%.3g", value);
}

}  // namespace

std::string count_text(double count) {
  if (!std::isfinite(count)) return "-";
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  // 999.5 would print as 1000
  while (std::fabs(count) >= 999.5 && unit + 1 < std::size(kUnits)) count /= 1000, ++unit;
  if (unit == 0) return formatted("%.0f", count);
  const double size = std::fabs(count);
  return formatted(size >= 99.95 ? "%.0f" : size >= 9.995 ? "%.1f" : "%.2f", count) + kUnits[unit];
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e10) return "-";
  const auto s = static_cast<long long>(seconds + 0.5);
  if (s >= 48 * 3600) return formatted("%lld d %02lld h", s / 86400, s % 86400 / 3600);
  if (s >= 3600) return formatted("%lld:%02lld:%02lld", s / 3600, s % 3600 / 60, s % 60);
  return formatted("%lld:%02lld", s / 60, s % 60);
}

std::string progress_text(const ProgressState& state) {
  const auto steps = static_cast<double>(state.steps), total = static_cast<double>(state.total_steps);
  const double percent = total > 0 ? std::floor(100 * steps / total) : 0;
  const double left = state.steps >= state.total_steps ? 0 : (total - steps) / state.steps_per_second;
  return count_text(steps) + " of " + count_text(total) + " steps (" + formatted("%.0f", percent) + " %)   " +
         count_text(state.steps_per_second) + " steps/s   return " + value_text(state.episodic_return) + "   length " +
         value_text(state.episodic_length) + "   " + duration_text(left) + " left";
}

std::string counted(std::int64_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string episodes_text(std::int64_t ended, std::int64_t episodes, double seconds) {
  const auto done = static_cast<double>(ended), total = static_cast<double>(episodes);
  return count_text(done) + " of " + count_text(total) + " episodes (" +
         formatted("%.0f", std::floor(100 * done / total)) + " %)   " + duration_text(seconds * (total - done) / done) +
         " left";
}

ProgressLine::ProgressLine(std::FILE* out) : ProgressLine(out, ::isatty(::fileno(out)) == 1) {}

ProgressLine::~ProgressLine() {
  if (!drawn_) return;
  std::fputc('\n', out_);
  std::fflush(out_);
}

int ProgressLine::columns() const {
  winsize size{};
  return ::ioctl(::fileno(out_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kDefaultColumns;
}

void ProgressLine::message(std::string_view text) {
  std::string line(drawn_ ? kEraseLine : "");
  line.append(text).push_back('\n');
  std::fwrite(line.data(), 1, line.size(), out_);
  std::fflush(out_);
  drawn_ = false;
}

void ProgressLine::clear() {
  if (!drawn_) return;
  std::fwrite(kEraseLine.data(), 1, kEraseLine.size(), out_);
  std::fflush(out_);
  drawn_ = false;
}

bool ProgressLine::due(Clock::time_point now) const {
  return in_place_ && (!drawn_ || now - drawn_at_ >= kRedrawInterval);
}

void ProgressLine::update(const ProgressState& state, Clock::time_point now) {
  if (due(now)) update(progress_text(state), now);
}

void ProgressLine::update(const std::string& text, Clock::time_point now) {
  if (!due(now)) return;
  // a line that wraps could not be redrawn in place; the last column stays free for the cursor
  const std::string line = std::string(kEraseLine) + text.substr(0, static_cast<std::size_t>(columns() - 1));
  std::fwrite(line.data(), 1, line.size(), out_);
  std::fflush(out_);
  drawn_ = true;
  drawn_at_ = now;
}

void ProgressLine::finish(const ProgressState& state) { message(progress_text(state)); }

}  // namespace hotloop
