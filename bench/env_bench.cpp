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

// Random actions and steps, as one replay.
class EnvLoop {
 public:
  EnvLoop(const EnvEntry& entry, const Exec& exec, std::int64_t num_envs, const EnvBenchOptions& options)
      : exec_(exec),
        batch_(entry.make(
            {.num_envs = num_envs, .seed = options.seed, .device = exec.device, .options = options.options})),
        actions_(batch_->spec().action, num_envs, exec.device, options.seed),
        step_(exec.device, 1),
        buffers_(batch_->spec(), num_envs, exec.device) {
    batch_->reset(exec, buffers_.observation.data(), buffers_.action_mask.data());
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
    add(h, buffers_.observation);
    add(h, buffers_.reward);
    add(h, buffers_.terminated);
    add(h, buffers_.truncated);
    return h;
  }

 private:
  void queue_steps() {
    const StepIo io = buffers_.io();
    for (int k = 0; k < kStepsPerReplay; ++k) {
      actions_.fill(exec_, step_.data(), buffers_.action.data());
      batch_->step(exec_, io);
    }
  }

  template <class T>
  void add(std::uint64_t& h, const Buffer<T>& written) const {
    std::vector<unsigned char> host(written.bytes());
    copy_async(exec_, host.data(), {}, written.data(), exec_.device, host.size());
    synchronize(exec_);
    for (const unsigned char byte : host) h = (h ^ byte) * 1099511628211u;
  }

  Exec exec_;
  std::unique_ptr<Batch> batch_;
  RandomActions actions_;
  Buffer<std::uint64_t> step_;
  StepBuffers buffers_;
  Graph graph_;
};

BenchResult measure(const EnvEntry& entry, const Exec& exec, std::int64_t num_envs, const EnvBenchOptions& options) {
  const int light = exec.device.is_cuda() ? 32 : 25, heavy = exec.device.is_cuda() ? 23 : 15;
  const std::int64_t wanted =
      options.window_steps > 0 ? options.window_steps : std::int64_t{1} << (entry.model.empty() ? light : heavy);
  const std::int64_t replays = std::max<std::int64_t>(1, wanted / (num_envs * kStepsPerReplay));
  EnvLoop loop(entry, exec, num_envs, options);
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
