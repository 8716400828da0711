#include "bench/env_bench.h"

#include <algorithm>
#include <chrono>

#include "sim/core/batch.h"
#include "sim/core/error.h"
#include "sim/core/graph.h"
#include "sim/core/registry.h"
#include "sim/core/thread_pool.h"

namespace hotloop {
namespace {

constexpr int kStepsPerReplay = 64;

// A batch with the buffers its steps write.
class EnvLoop {
 public:
  EnvLoop(const EnvEntry& entry, const Exec& exec, std::int64_t num_envs, std::uint64_t seed)
      : exec_(exec),
        batch_(entry.make({.num_envs = num_envs, .seed = seed, .device = exec.device})),
        actions_(entry.spec.action, num_envs, exec.device, seed),
        step_(exec.device, 1) {
    const auto n = static_cast<std::size_t>(num_envs);
    const std::size_t obs = n * static_cast<std::size_t>(entry.spec.obs_dim());
    observation_ = Buffer<float>(exec.device, obs);
    final_observation_ = Buffer<float>(exec.device, obs);
    reward_ = Buffer<float>(exec.device, n);
    terminated_ = Buffer<std::uint8_t>(exec.device, n);
    truncated_ = Buffer<std::uint8_t>(exec.device, n);
    action_ = Buffer<std::int64_t>(exec.device, n * static_cast<std::size_t>(entry.spec.action.dim()));
    if (entry.spec.has_action_mask)
      mask_ = Buffer<std::uint8_t>(exec.device, n * static_cast<std::size_t>(entry.spec.action.num_choices()));
    batch_->reset(exec, observation_.data(), mask_.data());
    if (exec.device.is_cuda()) {
      graph_.begin(exec);
      queue_steps();
      graph_.end();
    }
  }

  void run(std::int64_t replays) {
    for (std::int64_t k = 0; k < replays; ++k) {
      if (graph_.empty())
        queue_steps();
      else
        graph_.replay(exec_);
    }
    synchronize(exec_);
  }

  std::uint64_t hash() const {
    std::uint64_t h = 14695981039346656037u;
    add(h, observation_.data(), observation_.bytes());
    add(h, reward_.data(), reward_.bytes());
    add(h, terminated_.data(), terminated_.bytes());
    add(h, truncated_.data(), truncated_.bytes());
    return h;
  }

 private:
  void queue_steps() {
    StepIo io;
    io.action = action_.data();
    io.observation = observation_.data();
    io.reward = reward_.data();
    io.terminated = terminated_.data();
    io.truncated = truncated_.data();
    io.final_observation = final_observation_.data();
    io.action_mask = mask_.data();
    for (int k = 0; k < kStepsPerReplay; ++k) {
      actions_.fill(exec_, step_.data(), action_.data());
      batch_->step(exec_, io);
    }
  }

  void add(std::uint64_t& h, const void* data, std::size_t bytes) const {
    std::vector<unsigned char> host(bytes);
    copy_async(exec_, host.data(), {}, data, exec_.device, bytes);
    synchronize(exec_);
    for (const unsigned char byte : host) h = (h ^ byte) * 1099511628211u;
  }

  Exec exec_;
  std::unique_ptr<Batch> batch_;
  RandomActions actions_;
  Buffer<std::uint64_t> step_;
  Buffer<float> observation_, final_observation_, reward_;
  Buffer<std::uint8_t> terminated_, truncated_, mask_;
  Buffer<std::int64_t> action_;
  Graph graph_;
};

BenchResult measure(const EnvEntry& entry, const Exec& exec, std::int64_t num_envs, const EnvBenchOptions& options) {
  const int light = exec.device.is_cuda() ? 32 : 25, heavy = exec.device.is_cuda() ? 23 : 15;
  const std::int64_t wanted =
      options.window_steps > 0 ? options.window_steps : std::int64_t{1} << (entry.model.empty() ? light : heavy);
  const std::int64_t replays = std::max<std::int64_t>(1, wanted / (num_envs * kStepsPerReplay));
  EnvLoop loop(entry, exec, num_envs, options.seed);
  loop.run(replays);
  std::vector<double> rates;
  for (int k = 0; k < options.windows; ++k) {
    const auto start = std::chrono::steady_clock::now();
    loop.run(replays);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    rates.push_back(static_cast<double>(replays * kStepsPerReplay * num_envs) / seconds.count());
  }
  std::sort(rates.begin(), rates.end());
  return {"env." + entry.spec.name + "." + std::to_string(num_envs),
          "steps/s",
          rates[rates.size() / 2],
          rates.front(),
          rates.back(),
          loop.hash()};
}

}  // namespace

std::vector<BenchResult> bench_env(const EnvBenchOptions& options) {
  if (options.windows < 1) throw Error("windows " + std::to_string(options.windows) + ": must be positive");
  std::vector<const EnvEntry*> entries;
  for (const std::string& task : options.tasks) entries.push_back(&find_environment(task));
  if (entries.empty())
    for (const EnvEntry& entry : environments()) entries.push_back(&entry);
  const auto sizes = [&](const EnvEntry& entry) -> std::vector<std::int64_t> {
    if (!options.num_envs.empty()) return options.num_envs;
    if (!entry.model.empty()) return {options.device.is_cuda() ? 1 << 14 : 512};
    return {options.device.is_cuda() ? 1 << 20 : 4096};
  };
  ThreadPool pool(options.device.is_cuda() ? 1 : options.threads);
  const StreamHandle stream(options.device);
  const Exec exec{options.device, stream.get(), &pool};
  std::vector<BenchResult> results;
  for (const EnvEntry* entry : entries)
    for (const std::int64_t num_envs : sizes(*entry)) results.push_back(measure(*entry, exec, num_envs, options));
  return results;
}

}  // namespace hotloop
