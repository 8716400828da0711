// The staged form of a step against the form that does a step in one kernel, and what can be read between its parts.
#include "sim/mujoco/staged_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/error_text.h"

namespace hotloop {
namespace {

constexpr std::int64_t kWorlds = 9;

std::string model_path(const std::string& name) {
  return std::string(HOTLOOP_SOURCE_DIR) + "/assets/mjcf/" + name + ".xml";
}

// Everything of a step's end that both forms hand out: qpos, qvel, qacc_warmstart, ctrl, qacc.
std::vector<float> state_of(const ModelBatch& batch, const Exec& exec) {
  std::vector<float> host(batch.num_worlds() * batch.state_bytes() / sizeof(float));
  copy_async(exec, host.data(), Device{}, batch.qpos(), exec.device, host.size() * sizeof(float));
  synchronize(exec);
  return host;
}
void put_state(const std::vector<float>& host, ModelBatch& batch, const Exec& exec) {
  copy_async(exec, batch.qpos(), exec.device, host.data(), Device{}, host.size() * sizeof(float));
  synchronize(exec);
}

// Bits on the CPU. On a GPU the two forms are two compilations, whose roundings may differ: there both start each step
// from the same state.
void check_forms(const std::string& name, Device device) {
  SCOPED_TRACE(name + " on " + device.str());
  const auto model = load_model(model_path(name));
  const Exec exec{device};
  ModelBatch fused(model, kWorlds, device), other(model, kWorlds, device);
  StagedStep staged(other);
  fused.reset(exec);
  other.reset(exec);
  double most = 0;
  for (std::uint64_t step = 0; step < 60; ++step) {
    if (step % 5 == 0) {
      fused.random_controls(exec, step);
      other.random_controls(exec, step);
    }
    if (device.is_cuda()) put_state(state_of(fused, exec), other, exec);
    fused.step(exec, 1);
    staged.step(exec);
    const std::vector<float> a = state_of(fused, exec), b = state_of(other, exec);
    if (!device.is_cuda()) {
      ASSERT_EQ(a, b) << "step " << step;
    }
    for (std::size_t i = 0; i < a.size() - kWorlds * model->data().nv; ++i)  // without qacc
      most = std::max(most, std::abs(static_cast<double>(a[i]) - b[i]) / std::max(1.0f, std::abs(a[i])));
  }
  EXPECT_LE(most, 2e-2);
  EXPECT_EQ(fused.stats(exec).nonfinite, 0);
}

const char* const kModels[] = {"inverted_pendulum", "reacher",  "pusher", "swimmer",  "hopper",
                               "half_cheetah",      "walker2d", "ant",    "humanoid", "humanoid_standup"};

TEST(StagedStep, IsTheFusedStepBitForBit) {
  for (const char* name : kModels) check_forms(name, Device{});
}

TEST(StagedStep, GpuAgreesWithTheFusedStep) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  for (const char* name : kModels) check_forms(name, parse_device("cuda"));
}

void check_reading(Device device) {
  const auto model = load_model(model_path("ant"));
  const ModelData& m = model->data();
  const Exec exec{device};
  ModelBatch batch(model, kWorlds, device);
  batch.reset(exec);
  StagedStep staged(batch);
  const auto diagonal = [&](std::int64_t world) {
    std::vector<double> all = staged.read(exec, world, "M"), out;
    for (int i = 0; i < m.nv; ++i) out.push_back(all.at(i * m.row + i));
    return out;
  };
  for (int part = kKinematics; part <= kVelocity; ++part) staged.run(exec, static_cast<StepPart>(part), 0);
  EXPECT_EQ(diagonal(3), std::vector<double>(m.nv, 0.0)) << "of a part that has not run";
  const std::vector<double> xpos = staged.read(exec, kWorlds - 1, "xpos"), qpos = staged.read(exec, 0, "qpos");
  ASSERT_EQ(xpos.size(), 3u * m.nbody);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(xpos[3 + k], qpos[k]) << "the torso is the free body";
  staged.run(exec, kInertia, 0);
  for (const double x : diagonal(3)) EXPECT_GT(x, 0);
  EXPECT_EQ(staged.read(exec, 3, "counts").size(), 8u);
  EXPECT_EQ(staged.read(exec, 3, "counts")[kContacts], 0) << "integers are read as such";
  EXPECT_EQ(error_text([&] { staged.read(exec, 0, "qpoz"); }), "'qpoz': no array of a world (did you mean 'qpos'?)");
}

TEST(StagedStep, ArraysAreReadAfterAnyPart) { check_reading(Device{}); }

TEST(StagedStep, GpuArraysAreReadAfterAnyPart) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  check_reading(parse_device("cuda"));
}

}  // namespace
}  // namespace hotloop
