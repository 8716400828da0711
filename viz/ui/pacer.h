// How fast the worlds' time runs against the clock: pause, single steps, speed, and where in the history one stands.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "viz/source/world_source.h"

namespace hotloop {

class Pacer {
 public:
  static constexpr int kSlowest = -6, kFastest = 6;  // speed = 2^exponent: 1/64 to 64

  bool paused = false;
  bool backward = false;  // time runs through the history, or a log, towards its beginning

  int exponent() const { return exponent_; }
  void set_exponent(int exponent);
  double speed() const;  // simulated seconds per second

  // Asked for by keys and panels, done by the next advance(). Steps and jumps pause; a step back goes to the position
  // before, where the source remembers it.
  void toggle() { paused = !paused; }
  void step(int count);
  void seek(std::int64_t position);
  void reset() { reset_ = true; }
  void restart(std::int64_t seed) { restart_ = seed; }

  // Moves the source by `elapsed` seconds of the clock, and stops early once `budget` seconds were spent: worlds that
  // are too slow for the speed fall behind instead of holding up the picture.
  void advance(WorldSource& source, double elapsed, double budget);
  // Seconds that advance() measures its budget with; a test's own.
  std::function<double()> clock;

  bool behind() const { return behind_; }                        // the last advance() ran out of budget
  double steps_per_second() const { return steps_per_second_; }  // of one world, over the last half second
  double real_time_factor() const { return real_time_factor_; }  // simulated seconds per second, likewise

 private:
  void do_requests(WorldSource& source);
  void measure(std::int64_t steps, double period, double elapsed);

  int exponent_ = 0;
  double debt_ = 0;  // [s] simulated time that is due
  std::int64_t pending_steps_ = 0;
  std::optional<std::int64_t> seek_, restart_;
  bool reset_ = false, behind_ = false;
  std::int64_t measured_steps_ = 0;
  double measured_seconds_ = 0, steps_per_second_ = 0, real_time_factor_ = 0;
};

}  // namespace hotloop
