#include "bench/physics_bench.h"

#include <chrono>
#include <filesystem>
#include <memory>

#include "sim/core/assets.h"
#include "sim/core/error.h"
#include "sim/core/registry.h"
#include "sim/core/thread_pool.h"
#include "sim/core/value.h"
#include "sim/mujoco/model_batch.h"
#include "sim/mujoco/staged_step.h"

namespace hotloop {
namespace {

// The model's part of a benchmark's name.
std::string name_of(const std::string& file) { return one_line(std::filesystem::path(file).stem().string()); }

std::vector<std::string> task_models() {
  const auto assets = assets_dir();
  if (!assets) throw Error("the folder of models is not found: set HOTLOOP_ASSETS");
  std::vector<std::string> files;
  for (const EnvEntry& entry : environments())
    if (!entry.model.empty()) files.push_back(*assets / "mjcf" / entry.model);
  return files;
}

std::int64_t worlds_of(const PhysicsBenchOptions& options) {
  return options.num_worlds > 0 ? options.num_worlds : options.device.is_cuda() ? 8192 : 256;
}
int steps_of(const PhysicsBenchOptions& options) {
  return options.steps > 0 ? options.steps : options.device.is_cuda() ? 1000 : 50;
}

void measure_staged(const std::shared_ptr<const LoadedModel>& model, const std::string& name, const Exec& exec,
                    const PhysicsBenchOptions& options, std::vector<BenchResult>& results) {
  const std::int64_t worlds = worlds_of(options);
  const int steps = steps_of(options);
  ModelBatch batch(model, worlds, exec.device);
  StagedStep staged(batch);
  batch.reset(exec);
  double seconds[kFinish] = {};
  for (int step = 0; step < steps; ++step) {
    if (step % 5 == 0) batch.random_controls(exec, static_cast<std::uint64_t>(step));
    for (int stage = 0; stage < staged.stages(); ++stage)
      for (int part = kKinematics; part <= kIntegrate; ++part) {
        synchronize(exec);
        const auto start = std::chrono::steady_clock::now();
        staged.run(exec, static_cast<StepPart>(part), stage);
        synchronize(exec);
        seconds[part] += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      }
  }
  for (int part = kKinematics; part <= kIntegrate; ++part) {
    const double value = 1e9 * seconds[part] / (static_cast<double>(worlds) * steps);
    results.push_back(
        {"physics." + name + "." + std::to_string(worlds) + ".staged." + part_name(static_cast<StepPart>(part)), "ns",
         value, value, value, 0});
  }
}

void measure(const std::shared_ptr<const LoadedModel>& model, const std::string& file, const Exec& exec,
             const PhysicsBenchOptions& options, bool random, std::vector<BenchResult>& results) {
  const std::string name = name_of(file);
  const std::int64_t worlds = worlds_of(options);
  const int steps = steps_of(options);
  ModelBatch batch(model, worlds, exec.device, !options.generic);
  batch.reset(exec);
  std::chrono::duration<double> seconds{0};
  for (int step = 0; step < steps; ++step) {
    if (!random) batch.noise(exec, 0.01f, 0.1f, static_cast<std::uint64_t>(step));
    if (random && step % 5 == 0) batch.random_controls(exec, static_cast<std::uint64_t>(step));
    synchronize(exec);
    const auto start = std::chrono::steady_clock::now();
    batch.step(exec, 1);
    synchronize(exec);
    seconds += std::chrono::steady_clock::now() - start;
  }
  const PhysicsStats stats = batch.stats(exec);
  if (stats.overflows > 0)
    throw Error(shown(file) + ": " + std::to_string(stats.overflows) + " of " + std::to_string(worlds) +
                " worlds ran out of room for contacts and constraint rows; room for " +
                std::to_string(batch.model().data().max_contacts) +
                " contacts is not enough, --max-contacts gives more");
  if (stats.nonfinite > 0)
    throw Error(shown(file) + ": " + std::to_string(stats.nonfinite) + " worlds turned non-finite");
  const std::string label = "physics." + name + "." + std::to_string(worlds) + (random ? ".random" : ".noise");
  const auto add = [&](const std::string& what, const std::string& unit, double value) {
    results.push_back({what, unit, value, value, value, 0});
  };
  const auto evaluations = static_cast<double>(stats.evaluations);
  add(label, "steps/s", static_cast<double>(worlds) * steps / seconds.count());
  add(label + ".contacts", "1/evaluation", stats.contacts / evaluations);
  add(label + ".rows", "1/evaluation", stats.rows / evaluations);
  add(label + ".iterations", "1/evaluation", stats.iterations / evaluations);
  if (!random) add("physics." + name + ".memory", "bytes/world", static_cast<double>(batch.working_bytes()));
  if (!random && batch.special_kernel() != nullptr)
    add("physics." + name + (batch.special_kernel()->from_cache() ? ".kernel_warm" : ".kernel_cold"), "s",
        batch.special_kernel()->seconds());
}

}  // namespace

std::vector<BenchResult> bench_physics(const PhysicsBenchOptions& options) {
  ThreadPool pool(options.device.is_cuda() ? 1 : options.threads);
  const StreamHandle stream(options.device);
  const Exec exec{options.device, stream.get(), &pool};
  std::vector<BenchResult> results;
  for (const std::string& file : options.models.empty() ? task_models() : options.models) {
    const auto model = load_model(file, options.max_contacts);
    if (options.staged) {
      measure_staged(model, name_of(file), exec, options, results);
      continue;
    }
    measure(model, file, exec, options, false, results);
    measure(model, file, exec, options, true, results);
  }
  return results;
}

}  // namespace hotloop
