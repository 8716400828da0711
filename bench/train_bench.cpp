#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>

#include "bench/bench.h"
#include "sim/core/error.h"
#include "train/trainer.h"

namespace hotloop {
namespace {

constexpr int kWindows = 5;

double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Seconds since this process was started (resolution 10 ms); 0 where the system does not tell.
double process_age() {
  std::ifstream file("/proc/self/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::size_t at = name_end + 2;
  for (int field = 3; field < 22; ++field) at = text.find(' ', at) + 1;  // field 22: start time since boot [ticks]
  return seconds_of(CLOCK_BOOTTIME) - std::stod(text.substr(at)) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::uint64_t fnv1a(const void* data, std::size_t bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211u;
  return hash;
}

struct Window {
  double steps_per_second, host_us;
  EpisodeStats episodes;
};

// Runs whole iterations for `seconds`, as the run loop does: the queue is kept full, nothing waits inside an iteration.
Window run_window(Trainer& trainer, std::int64_t steps_per_iteration, double seconds) {
  Window w{};
  double host = 0;
  std::int64_t iterations = 0;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  while (elapsed() < seconds || iterations == 0) {
    const double before = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    trainer.enqueue();
    host += seconds_of(CLOCK_THREAD_CPUTIME_ID) - before;
    ++iterations;
    while (auto m = trainer.poll()) w.episodes = w.episodes + m->episodes;
    if (trainer.in_flight() >= MetricsRing::kDepth) w.episodes = w.episodes + trainer.wait().episodes;
  }
  while (trainer.in_flight() > 0) w.episodes = w.episodes + trainer.wait().episodes;
  w.steps_per_second = static_cast<double>(iterations * steps_per_iteration) / elapsed();
  w.host_us = 1e6 * host / static_cast<double>(iterations);
  return w;
}

}  // namespace

std::vector<BenchResult> bench_train(const TrainConfig& config, double seconds) {
  // start-up is counted once, to every configuration: as if each were a process of its own
  static const double start_up = process_age();
  const auto begin = std::chrono::steady_clock::now();
  const std::unique_ptr<Trainer> owner =
      make_trainer(config, find_environment(config.task), parse_device(config.device));
  Trainer& trainer = *owner;
  trainer.enqueue();
  trainer.wait();
  const double first = start_up + std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  // a fixed number of iterations, so that the hash says whether two machines did the same work
  for (int i = 1; i < 8; ++i) {
    trainer.enqueue();
    trainer.wait();
  }
  const Snapshot snapshot = trainer.save();
  std::uint64_t hash = 0;
  for (const NamedTensor& t : snapshot.tensors) hash = hash * 31 + fnv1a(t.bytes.data(), t.bytes.size());
  const std::int64_t steps = config.num_envs * config.num_steps;
  std::vector<double> rates, host;
  Window last{};
  run_window(trainer, steps, seconds / 2);
  trainer.phases();  // those of the warm-up are dropped
  for (int i = 0; i < kWindows; ++i) {
    last = run_window(trainer, steps, seconds);
    rates.push_back(last.steps_per_second);
    host.push_back(last.host_us);
  }
  const std::string name =
      fmt::format("train.{}.{}x{}.{}.{}.{}", config.task, config.num_envs, config.num_steps, config.precision,
                  road_name(trainer.road()), trainer.captured() ? "captured" : "eager");
  std::vector<BenchResult> results = {summary(name, "steps/s", rates), summary(name + ".host", "us/iteration", host)};
  results[0].hash = hash;
  results.push_back({name + ".first_iteration", "s", first, first, first, 0});
  const auto episodes = static_cast<double>(std::max<std::int64_t>(1, last.episodes.episodes));
  const double mean = last.episodes.return_sum / episodes;
  results.push_back({name + ".return", "mean", mean, mean, mean, 0});
  const double iteration_us = 1e6 * static_cast<double>(steps) / results[0].value;
  for (const PhaseShare& p : trainer.phases()) {
    const double us = p.share * iteration_us;
    const auto add = [&](const std::string& what, const std::string& unit, double value) {
      if (value > 0) results.push_back({name + "." + p.name + what, unit, value, value, value, 0});
    };
    add("", "us/iteration", us);
    add(".flops", "TFLOP/s", 1e-6 * p.flops / us);
    add(".bytes", "GB/s", 1e-3 * p.bytes / us);
    add(".limit", "%", 100 * 1e6 * p.limit_per_second / us);
  }
  return results;
}

}  // namespace hotloop
