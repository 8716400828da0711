// Batches of worlds on both backends: the generic and the specialised kernel against the CPU, one step at a time from
// the CPU's states; bits; the cache of kernels.
#include "sim/mujoco/model_batch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

namespace hotloop {
namespace {

std::vector<float> fetch(const ModelBatch& batch, const float* from, int row, Device device) {
  std::vector<float> host(static_cast<std::size_t>(batch.num_worlds()) * row);
  const Exec exec{device};
  copy_async(exec, host.data(), Device{}, from, device, host.size() * sizeof(float));
  synchronize(exec);
  return host;
}

void send(const std::vector<float>& host, float* to, Device device) {
  const Exec exec{device};
  copy_async(exec, to, device, host.data(), Device{}, host.size() * sizeof(float));
  synchronize(exec);
}

// Largest difference, scaled by the largest number of each world (at least 1); sorted.
std::vector<double> differences(const std::vector<float>& a, const std::vector<float>& b, int row) {
  std::vector<double> all;
  for (std::size_t w = 0; w < a.size() / row; ++w) {
    double scale = 1, most = 0;
    for (int i = 0; i < row; ++i) {
      scale = std::max(scale, std::fabs(static_cast<double>(a[w * row + i])));
      const double d = std::fabs(static_cast<double>(a[w * row + i]) - b[w * row + i]);
      most = d <= most ? most : d;  // NaN counts
    }
    all.push_back(most / scale);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string model_path(const std::string& name) {
  return std::string(HOTLOOP_SOURCE_DIR) + "/assets/mjcf/" + name + ".xml";
}

const char* const kModels[] = {"inverted_pendulum", "reacher",  "pusher", "swimmer",  "hopper",
                               "half_cheetah",      "walker2d", "ant",    "humanoid", "humanoid_standup"};

// 60 steps from rest; before each the card gets the CPU's state, so that errors do not add up.
void compare_with_cpu(const std::string& name, bool specialised) {
  SCOPED_TRACE(name);
  const auto model = load_model(model_path(name));
  const Device card = parse_device("cuda");
  const ModelData& m = model->data();
  ModelBatch cpu(model, 64, Device{}), gpu(model, 64, card, specialised);
  const Exec here{}, there{card};
  cpu.reset(here);
  gpu.reset(there);
  std::vector<double> qpos, qvel;
  for (std::uint64_t step = 0; step < 60; ++step) {
    if (step % 5 == 0) cpu.random_controls(here, step);
    send(fetch(cpu, cpu.ctrl(), m.nu, Device{}), gpu.ctrl(), card);
    send(fetch(cpu, cpu.qpos(), m.nq, Device{}), gpu.qpos(), card);
    send(fetch(cpu, cpu.qvel(), m.nv, Device{}), gpu.qvel(), card);
    send(fetch(cpu, cpu.qacc_warmstart(), m.nv, Device{}), gpu.qacc_warmstart(), card);
    cpu.step(here, 1);
    gpu.step(there, 1);
    for (const double d : differences(fetch(cpu, cpu.qpos(), m.nq, Device{}), fetch(gpu, gpu.qpos(), m.nq, card), m.nq))
      qpos.push_back(d);
    for (const double d : differences(fetch(cpu, cpu.qvel(), m.nv, Device{}), fetch(gpu, gpu.qvel(), m.nv, card), m.nv))
      qvel.push_back(d);
  }
  std::sort(qpos.begin(), qpos.end());
  std::sort(qvel.begin(), qvel.end());
  // the tolerances for single precision against double, from the same states (see oracle.h); humanoids stop PGS early
  EXPECT_LT(qpos[qpos.size() * 99 / 100], 3e-6);
  EXPECT_LT(qvel[qvel.size() * 99 / 100], 2e-4);
  EXPECT_LT(qvel.back(), 2e-2);
  const PhysicsStats a = cpu.stats(here), b = gpu.stats(there);
  EXPECT_EQ(b.nonfinite, 0);
  EXPECT_EQ(b.overflows, 0);
  EXPECT_EQ(a.evaluations, b.evaluations);
  EXPECT_NEAR(a.contacts, b.contacts, 0.002 * a.contacts + 2);
}

TEST(ModelBatch, GpuGenericKernelAgreesWithTheCpu) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  for (const char* name : kModels) compare_with_cpu(name, false);
}

TEST(ModelBatch, GpuSpecialisedKernelAgreesWithTheCpu) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  for (const char* name : kModels) compare_with_cpu(name, true);
}

std::vector<float> free_run(Device device, std::int64_t worlds, int launches, int steps) {
  ModelBatch batch(load_model(model_path("ant")), worlds, device);
  const Exec exec{device};
  batch.reset(exec);
  for (int i = 0; i < launches; ++i) {
    batch.random_controls(exec, static_cast<std::uint64_t>(i));
    batch.step(exec, steps);
  }
  return fetch(batch, batch.qpos(), batch.model().data().nq, device);
}

// Same bits on every run, whatever the number of worlds, and however many steps a launch takes.
void same_bits(Device device) {
  const std::vector<float> all = free_run(device, 96, 20, 5);
  EXPECT_EQ(all, free_run(device, 96, 20, 5));
  std::vector<float> few = free_run(device, 7, 20, 5);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), all.begin()));
  EXPECT_FALSE(std::equal(all.begin(), all.begin() + 15, all.begin() + 15));  // worlds differ
}
TEST(ModelBatch, SameBits) { same_bits(Device{}); }
TEST(ModelBatch, GpuSameBits) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  same_bits(parse_device("cuda"));
}

// A kernel comes from the cache the second time, and a damaged cache is made anew.
TEST(ModelBatch, GpuKernelsAreCached) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  const auto folder = std::filesystem::temp_directory_path() / ("hotloop_kernels_" + std::to_string(getpid()));
  const char* before = std::getenv("HOTLOOP_CACHE");
  const std::string kept = before == nullptr ? "" : before;
  setenv("HOTLOOP_CACHE", folder.c_str(), 1);
  const auto source = [](int number) {  // another name, another kernel
    return SpecialKernelSource{
        "extern \"C\" __global__ void special_kernel(int, long long) { /* " + std::to_string(number) + " */ }\n",
        "a test"};
  };
  const Device card = parse_device("cuda");
  EXPECT_FALSE(SpecialKernel::get(source(1), card)->from_cache());
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
    if (file.is_regular_file()) files.push_back(file.path());
  ASSERT_EQ(files.size(), 1u);
  std::ofstream(files[0], std::ios::binary | std::ios::in).seekp(40).put('x');
  EXPECT_NO_THROW(SpecialKernel::get(source(2), card));
  EXPECT_THROW(SpecialKernel::get({"not a kernel", "a test"}, card), std::exception);
  std::filesystem::remove_all(folder);
  if (before == nullptr)
    unsetenv("HOTLOOP_CACHE");
  else
    setenv("HOTLOOP_CACHE", kept.c_str(), 1);
}

}  // namespace
}  // namespace hotloop
