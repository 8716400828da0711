// What NVIDIA's driver says about a card, through libnvidia-ml, which is looked for when it is needed: without it (no
// card, no driver) everything here is silently absent.
#pragma once
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace hotloop {

struct GpuSample {  // NaN: this card does not tell
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  double utilization = kUnknown;  // [%] of the last sampling period with a kernel running
  double memory_gib = kUnknown;   // [GiB] used on the card, by all processes
  double power_w = kUnknown;      // [W]
  double sm_mhz = kUnknown;       // [MHz]
  double memory_mhz = kUnknown;   // [MHz]
};

// "580.65.06", or "" without a driver.
std::string nvidia_driver_version();

// Samples one card once a second in a thread of its own, so that the training never waits for the driver.
class GpuMonitor {
 public:
  // pci_bus_id as cudaDeviceGetPCIBusId() gives it ("0000:3b:00.0"): NVML counts cards otherwise than CUDA does.
  explicit GpuMonitor(const std::string& pci_bus_id, const std::string& library = "libnvidia-ml.so.1");
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  // The newest sample; empty where there is no NVML or no such card.
  std::optional<GpuSample> latest() const;

 private:
  struct Card;
  void run();

  std::unique_ptr<Card> card_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::optional<GpuSample> latest_;
  std::thread thread_;
};

}  // namespace hotloop
