#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>

#include "bench/bench.h"
#include "data/log/log_format.h"
#include "sim/core/error.h"
#include "train/rollout_log.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kWindows = 5;

// Steps/s of whole iterations for `seconds`, with the queue kept full, as the run loop does.
double window(Trainer& trainer, RolloutLog* log, std::int64_t steps_per_iteration, double seconds) {
  std::int64_t iterations = 0;
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  while (elapsed() < seconds || iterations == 0) {
    if (log != nullptr) log->begin(trainer.enqueued());
    trainer.enqueue();
    if (log != nullptr) log->end();
    ++iterations;
    while (trainer.poll()) {
    }
    if (trainer.in_flight() >= MetricsRing::kDepth) trainer.wait();
    if (log != nullptr && !log->failure().empty()) throw Error(log->failure());
  }
  while (trainer.in_flight() > 0) trainer.wait();
  return static_cast<double>(iterations * steps_per_iteration) / elapsed();
}

void remove_log(const fs::path& path) {
  for (std::int64_t n = 0; fs::remove(log_segment_path(path, n)); ++n) {
  }
}

}  // namespace

std::vector<BenchResult> bench_log(const TrainConfig& config, const LogOptions& options, double seconds) {
  const std::unique_ptr<Trainer> made =
      make_trainer(config, find_environment(config.task), parse_device(config.device));
  Trainer& trainer = *made;
  trainer.show_rollout();
  const std::int64_t steps = config.num_envs * config.num_steps;
  std::vector<double> plain, logged, ratio, bandwidth, share;
  window(trainer, nullptr, steps, seconds / 2);
  for (int i = 0; i < kWindows; ++i) {
    plain.push_back(window(trainer, nullptr, steps, seconds));
    RolloutLog::Source source = log_source(config, trainer);
    source.expected_iterations = num_iterations(config);
    RolloutLog log(source, options);
    logged.push_back(window(trainer, &log, steps, seconds));
    log.close();
    remove_log(options.path);
    ratio.push_back(logged.back() / plain.back());
    bandwidth.push_back(log.megabytes_per_second());
    share.push_back(log.share());
  }
  const std::string name = fmt::format("log.{}.{}x{}.{}", config.task, config.num_envs, config.num_steps,
                                       options.block ? "block" : "sample");
  return {summary(name + ".plain", "steps/s", plain), summary(name + ".logged", "steps/s", logged),
          summary(name + ".ratio", "logged/plain", ratio), summary(name + ".bandwidth", "MB/s", bandwidth),
          summary(name + ".share", "of the iterations", share)};
}

}  // namespace hotloop
