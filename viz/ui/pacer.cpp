#include "viz/ui/pacer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace hotloop {
namespace {

double now(const std::function<double()>& clock) {
  if (clock) return clock();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Forward inside what is remembered is a jump, so that looking back and forth simulates nothing anew.
void step_forward(WorldSource& source) {
  if (source.position() < source.last_position())
    source.seek(source.position() + 1);
  else if (source.info().can_step)
    source.step();
}

void step_back(WorldSource& source) {
  if (source.position() > source.first_position()) source.seek(source.position() - 1);
}

}  // namespace

void Pacer::set_exponent(int exponent) { exponent_ = std::clamp(exponent, kSlowest, kFastest); }

double Pacer::speed() const { return std::ldexp(1.0, exponent_); }

void Pacer::step(int count) {
  paused = true;
  pending_steps_ += count;
}

void Pacer::seek(std::int64_t position) {
  paused = true;
  seek_ = position;
}

void Pacer::do_requests(WorldSource& source) {
  if (restart_) source.restart(*restart_);
  if (reset_) source.reset();
  restart_.reset();
  reset_ = false;
  if (seek_) source.seek(std::clamp(*seek_, source.first_position(), source.last_position()));
  seek_.reset();
  for (; pending_steps_ > 0; --pending_steps_) step_forward(source);
  if (pending_steps_ < 0 && source.position() > source.first_position())
    source.seek(std::max(source.first_position(), source.position() + pending_steps_));
  pending_steps_ = 0;
}

void Pacer::advance(WorldSource& source, double elapsed, double budget) {
  do_requests(source);
  behind_ = false;
  const double period = source.info().control_period;
  std::int64_t steps = 0;
  if (paused || !source.info().can_step || period <= 0) {
    debt_ = 0;
  } else {
    debt_ += elapsed * speed();
    const double start = now(clock);
    while (debt_ >= period) {
      if (backward)
        step_back(source);
      else
        step_forward(source);
      synchronize(source.exec());  // else the budget would count only what it takes to queue the work
      debt_ -= period;
      ++steps;
      if (now(clock) - start < budget) continue;
      behind_ = debt_ >= period;
      if (behind_) debt_ = 0;
      break;
    }
  }
  measure(steps, period, elapsed);
}

void Pacer::measure(std::int64_t steps, double period, double elapsed) {
  constexpr double kWindow = 0.5;  // [s]
  measured_steps_ += steps;
  measured_seconds_ += elapsed;
  if (measured_seconds_ < kWindow) return;
  steps_per_second_ = static_cast<double>(measured_steps_) / measured_seconds_;
  real_time_factor_ = steps_per_second_ * period;
  measured_steps_ = 0;
  measured_seconds_ = 0;
}

}  // namespace hotloop
