#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>

#include "bench/bench.h"
#include "sim/core/error.h"
#include "train/population.h"
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

EpisodeStats episodes_of(const std::vector<IterationMetrics>& members) {
  EpisodeStats sum;
  for (const IterationMetrics& m : members) sum = sum + m.episodes;
  return sum;
}

// Runs whole iterations for `seconds`, as the run loop does: the queue is kept full, nothing waits inside an iteration.
Window run_window(Trainer& trainer, std::int64_t steps_per_iteration, double seconds) {
  Window w{};
  double host = 0;
  std::int64_t iterations = 0;
  const std::int64_t at_once = trainer.most_at_once();
  const auto take = [&](const std::vector<IterationMetrics>& metrics) {
    w.episodes = w.episodes + episodes_of(metrics);
  };
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  while (elapsed() < seconds || iterations == 0) {
    const double before = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    trainer.enqueue(at_once);
    host += seconds_of(CLOCK_THREAD_CPUTIME_ID) - before;
    iterations += at_once;
    for (auto metrics = trainer.poll_members(); !metrics.empty(); metrics = trainer.poll_members()) take(metrics);
    while (trainer.in_flight() + at_once > trainer.depth()) take(trainer.wait_members());
  }
  while (trainer.in_flight() > 0) take(trainer.wait_members());
  w.steps_per_second = static_cast<double>(iterations * steps_per_iteration) / elapsed();
  w.host_us = 1e6 * host / static_cast<double>(iterations);
  return w;
}

}  // namespace

std::vector<BenchResult> bench_train(const TrainConfig& config, std::int64_t num_seeds, double seconds) {
  // start-up is counted once, to every configuration: as if each were a process of its own
  static const double start_up = process_age();
  const auto begin = std::chrono::steady_clock::now();
  const EnvEntry& env = find_environment(config.task);
  const Device device = parse_device(config.device);
  const std::unique_ptr<Trainer> owner = num_seeds > 1
                                             ? make_population_trainer(with_seeds(config, num_seeds), env, device)
                                             : make_trainer(config, env, device);
  Trainer& trainer = *owner;
  trainer.enqueue();
  trainer.wait_members();
  const double first = start_up + std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  // a fixed number of iterations, so that the hash says whether two machines did the same work
  for (int i = 1; i < 8; ++i) {
    trainer.enqueue();
    trainer.wait_members();
  }
  const Snapshot snapshot = trainer.save();
  std::uint64_t hash = 0;
  for (const NamedTensor& t : snapshot.tensors) hash = hash * 31 + fnv1a(t.bytes.data(), t.bytes.size());
  const std::int64_t steps = num_seeds * config.num_envs * config.num_steps;
  std::vector<double> rates, host;
  Window last{};
  run_window(trainer, steps, seconds / 2);
  trainer.phases();  // those of the warm-up are dropped
  for (int i = 0; i < kWindows; ++i) {
    last = run_window(trainer, steps, seconds);
    rates.push_back(last.steps_per_second);
    host.push_back(last.host_us);
  }
  const std::string name = fmt::format(
      "train.{}.{}{}x{}.{}.{}.{}", config.task, num_seeds > 1 ? fmt::format("{}x", num_seeds) : "", config.num_envs,
      config.num_steps, config.precision, road_name(trainer.road()), trainer.captured() ? "captured" : "eager");
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
      if (value > 0 && us > 0) results.push_back({name + "." + p.name + what, unit, value, value, value, 0});
    };
    add("", "us/iteration", us);
    add(".flops", "TFLOP/s", 1e-6 * p.flops / us);
    add(".bytes", "GB/s", 1e-3 * p.bytes / us);
    add(".limit", "%", 100 * 1e6 * p.limit_per_second / us);
  }
  return results;
}

}  // namespace hotloop
