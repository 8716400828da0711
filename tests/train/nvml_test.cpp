#include "train/nvml.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "sim/core/device.h"

namespace hotloop {
namespace {

using std::chrono::milliseconds;

std::optional<GpuSample> first_sample(const GpuMonitor& monitor) {
  for (int i = 0; i < 500 && !monitor.latest(); ++i) std::this_thread::sleep_for(milliseconds(10));
  return monitor.latest();
}

TEST(Nvml, IsAbsentWithoutTheLibraryOrTheCard) {
  EXPECT_FALSE(GpuMonitor("0000:3b:00.0", "libno-such-library.so.1").latest());
  const GpuMonitor monitor("0000:00:00.0", HOTLOOP_FAKE_NVML);
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_FALSE(monitor.latest());
}

TEST(Nvml, SamplesInUnitsOfThePublicNames) {
  const GpuMonitor monitor("0000:3b:00.0", HOTLOOP_FAKE_NVML);
  const auto sample = first_sample(monitor);
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->utilization, 87);
  EXPECT_EQ(sample->memory_gib, 3);
  EXPECT_EQ(sample->power_w, 312.5);
  EXPECT_EQ(sample->sm_mhz, 1980);
  EXPECT_TRUE(std::isnan(sample->memory_mhz)) << "what the card does not tell";
}

TEST(Nvml, EndsAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  {
    const GpuMonitor monitor("0000:3b:00.0", HOTLOOP_FAKE_NVML);
    EXPECT_TRUE(first_sample(monitor));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(900)) << "waits for its next sample";
}

TEST(NvmlGpu, SamplesTheRealCard) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  EXPECT_FALSE(nvidia_driver_version().empty());
  const GpuMonitor monitor(cuda_device_info(0).pci_bus_id);
  const auto sample = first_sample(monitor);
  ASSERT_TRUE(sample);
  EXPECT_GT(sample->memory_gib, 0);
  EXPECT_GT(sample->power_w, 1);
  EXPECT_LT(sample->power_w, 5000);
  EXPECT_GT(sample->sm_mhz, 10);
  EXPECT_GE(sample->utilization, 0);
  EXPECT_LE(sample->utilization, 100);
}

}  // namespace
}  // namespace hotloop
