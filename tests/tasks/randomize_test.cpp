// Worlds of a task that differ in their model: by options randomize.FIELD, and by rows that a program sets.
#include "sim/tasks/randomize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "sim/core/registry.h"
#include "sim/tasks/inverted_pendulum.h"
#include "sim/tasks/task_batch.h"

namespace hotloop {
namespace {

using Pendulum = TaskBatch<InvertedPendulum<float>>;

BatchConfig config_of(std::int64_t num_envs, Device device, const EnvOptions& options) {
  BatchConfig config;
  config.num_envs = num_envs;
  config.seed = 7;
  config.device = device;
  config.options = options;
  return config;
}

// A batch and what its steps read and write; actions are those of the seed.
struct Rig {
  Rig(const std::string& task, const BatchConfig& config)
      : batch(find_environment(task).make(config)),
        exec{config.device},
        buffers(batch->spec(), config.num_envs, config.device),
        actions(batch->spec().action, config.num_envs, {}, 1),
        drawn(static_cast<std::size_t>(config.num_envs * batch->spec().action.dim())) {
    batch->reset(exec, buffers.observation.data(), nullptr);
  }
  void step(std::uint64_t t) {
    actions.fill({}, t, drawn.data());  // on the host, so that every device gets the same
    copy_async(exec, buffers.action.data(), exec.device, drawn.data(), {}, drawn.size() * sizeof(float));
    batch->step(exec, buffers.io());
  }
  std::vector<float> observation() const {
    std::vector<float> host(buffers.observation.size());
    copy_async(exec, host.data(), {}, buffers.observation.data(), exec.device, buffers.observation.bytes());
    synchronize(exec);
    return host;
  }

  std::unique_ptr<Batch> batch;
  Exec exec;
  StepBuffers buffers;
  RandomActions actions;
  std::vector<float> drawn;
};

std::vector<float> after_steps(const std::string& task, const EnvOptions& options, int steps) {
  Rig rig(task, config_of(4, {}, options));
  for (int t = 0; t < steps; ++t) rig.step(static_cast<std::uint64_t>(t));
  return rig.observation();
}

TEST(Randomize, ReachesTheDynamicsOfEveryTask) {
  for (const EnvEntry& entry : environments()) {
    if (entry.model.empty()) continue;
    SCOPED_TRACE(entry.spec.name);
    const std::vector<float> nominal = after_steps(entry.spec.name, {}, 3);
    const EnvOptions mass = {{"randomize.body_mass", "0.5,2"}}, none = {{"randomize.body_mass", "1,1"}};
    const std::vector<float> changed = after_steps(entry.spec.name, mass, 3);
    EXPECT_TRUE(std::all_of(changed.begin(), changed.end(), [](float x) { return std::isfinite(x); }));
    EXPECT_NE(changed, nominal);
    EXPECT_EQ(changed, after_steps(entry.spec.name, mass, 3));
    EXPECT_EQ(nominal, after_steps(entry.spec.name, none, 3));
  }
}

TEST(Randomize, EvaluationsDrawWorldsOfTheirOwn) {
  BatchConfig config = config_of(8, {}, {{"randomize.body_mass", "0.5,2"}, {"randomize.dof_damping", "0.5,2"}});
  Pendulum training(config), same(config);
  config.evaluation = true;
  Pendulum evaluation(config);
  const auto mass = [](Pendulum& batch, int world) { return batch.fields().view().body_mass.of(world)[1]; };
  for (int w = 0; w < 8; ++w) {
    EXPECT_EQ(mass(training, w), mass(same, w));
    EXPECT_NE(mass(training, w), mass(evaluation, w));
  }
  // two bodies and two dofs: mass and damping are drawn apart, the derived weight of the cart follows the masses
  const Model<float>& m = training.fields().view();
  EXPECT_NE(m.body_subtreemass.of(0)[1], m.body_subtreemass.of(1)[1]);
  EXPECT_NE(m.dof_invweight0.of(0)[0], m.dof_invweight0.of(1)[0]);
}

// World 1 gets another damping than the worlds 0 and 2, which are in the same state.
void check_rows(Device device) {
  const BatchConfig config = config_of(3, device, {});
  Pendulum batch(config, {"dof_damping"});
  const Exec exec{device};
  StepBuffers buffers(batch.spec(), 3, device);
  const std::vector<float> damping = {200, 1};
  const std::int64_t world = 1;
  batch.fields().set_rows(exec, "dof_damping", damping.data(), {}, 1, &world);
  batch.reset(exec, buffers.observation.data(), nullptr);
  constexpr std::size_t kState = sizeof(float) * TaskOp<InvertedPendulum<float>>::kWords;
  for (std::size_t w : {1, 2})
    copy_async(exec, batch.raw_state() + w * kState, device, batch.raw_state(), device, kState);
  const std::vector<float> push(3, 2.0f);
  copy_async(exec, buffers.action.data(), device, push.data(), {}, push.size() * sizeof(float));
  batch.step(exec, buffers.io());
  std::vector<float> seen(buffers.observation.size());
  copy_async(exec, seen.data(), {}, buffers.observation.data(), device, buffers.observation.bytes());
  synchronize(exec);
  EXPECT_TRUE(std::equal(seen.begin(), seen.begin() + 4, seen.begin() + 8));
  EXPECT_LT(seen[4 + 2], 0.9f * seen[2]) << "the cart of the damped world is slower";
}
TEST(Randomize, ProgramsSetRowsOfATask) { check_rows({}); }
TEST(Randomize, GpuProgramsSetRowsOfATask) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  check_rows({Device::Kind::cuda, 0});
}

// One step from the CPU's states; in single precision a few worlds may make or lose a contact.
TEST(Randomize, GpuStepsAreTheCpus) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  const EnvOptions options = {{"randomize.gravity", "0.9,1.1"},         {"randomize.body_mass", "0.7,1.3"},
                              {"randomize.body_inertia", "0.7,1.3"},    {"randomize.body_ipos", "-0.01,0.01"},
                              {"randomize.geom_friction", "0.5,1.5"},   {"randomize.dof_damping", "0.5,2"},
                              {"randomize.actuator_gainprm", "0.8,1.2"}};
  for (const char* task : {"Ant-v5", "Walker2d-v5", "Humanoid-v5"}) {
    SCOPED_TRACE(task);
    Rig cpu(task, config_of(64, {}, options)), gpu(task, config_of(64, {Device::Kind::cuda, 0}, options));
    for (std::uint64_t t = 0; t < 20; ++t) cpu.step(t);
    copy_async(gpu.exec, gpu.batch->raw_state(), gpu.exec.device, cpu.batch->raw_state(), {},
               cpu.batch->raw_state_bytes());
    cpu.step(20);
    gpu.step(20);
    const std::vector<float> a = cpu.observation(), b = gpu.observation();
    const std::size_t dim = a.size() / 64;
    int off = 0;
    for (std::size_t w = 0; w < 64; ++w) {
      float scale = 1, most = 0;
      for (std::size_t i = w * dim; i < (w + 1) * dim; ++i) {
        scale = std::max(scale, std::fabs(a[i]));
        most = std::max(most, std::fabs(a[i] - b[i]));
      }
      off += most <= 1e-3f * scale ? 0 : 1;
    }
    EXPECT_LE(off, 6);
  }
}

}  // namespace
}  // namespace hotloop
