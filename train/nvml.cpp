#include "train/nvml.h"

#include <dlfcn.h>

#include <chrono>
#include <utility>

namespace hotloop {
namespace {

// NVML's C interface as far as it is used (NVML API reference, "Device Queries"). 0 is success everywhere.
using Handle = void*;
struct UtilizationRates {
  unsigned gpu, memory;  // [%]
};
struct MemoryInfo {
  unsigned long long total, free, used;  // [bytes]
};
constexpr unsigned kSmClock = 1, kMemoryClock = 2;

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr auto kInterval = std::chrono::seconds(1);

class Library {
 public:
  explicit Library(const std::string& name) : library_(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    load(shutdown_, "nvmlShutdown");
    load(driver_version, "nvmlSystemGetDriverVersion");
    load(handle_by_pci, "nvmlDeviceGetHandleByPciBusId_v2");
    load(utilization, "nvmlDeviceGetUtilizationRates");
    load(memory, "nvmlDeviceGetMemoryInfo");
    load(power, "nvmlDeviceGetPowerUsage");
    load(clock, "nvmlDeviceGetClockInfo");
    int (*init)() = nullptr;
    load(init, "nvmlInit_v2");
    ready_ = init != nullptr && init() == 0;
  }
  ~Library() {
    if (ready_ && shutdown_ != nullptr) shutdown_();
    if (library_ != nullptr) ::dlclose(library_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  bool ready() const { return ready_; }

  // null where this driver has no such function
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*handle_by_pci)(const char*, Handle*) = nullptr;
  int (*utilization)(Handle, UtilizationRates*) = nullptr;
  int (*memory)(Handle, MemoryInfo*) = nullptr;
  int (*power)(Handle, unsigned*) = nullptr;
  int (*clock)(Handle, unsigned, unsigned*) = nullptr;

 private:
  template <class Function>
  void load(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
  }

  void* library_;
  int (*shutdown_)() = nullptr;
  bool ready_ = false;
};

}  // namespace

std::string nvidia_driver_version() {
  const Library library("libnvidia-ml.so.1");
  char text[81] = "";
  if (!library.ready() || library.driver_version == nullptr || library.driver_version(text, sizeof text - 1) != 0)
    return "";
  return text;
}

struct GpuMonitor::Card {
  explicit Card(const std::string& name) : library(name) {}

  GpuSample sample() const {
    GpuSample s;
    UtilizationRates rates{};
    MemoryInfo info{};
    unsigned value = 0;
    if (library.utilization != nullptr && library.utilization(handle, &rates) == 0) s.utilization = rates.gpu;
    if (library.memory != nullptr && library.memory(handle, &info) == 0)
      s.memory_gib = static_cast<double>(info.used) / kGiB;
    if (library.power != nullptr && library.power(handle, &value) == 0) s.power_w = value / 1000.0;
    if (library.clock != nullptr && library.clock(handle, kSmClock, &value) == 0) s.sm_mhz = value;
    if (library.clock != nullptr && library.clock(handle, kMemoryClock, &value) == 0) s.memory_mhz = value;
    return s;
  }

  Library library;
  Handle handle = nullptr;
};

GpuMonitor::GpuMonitor(const std::string& pci_bus_id, const std::string& library)
    : card_(std::make_unique<Card>(library)) {
  if (!card_->library.ready() || card_->library.handle_by_pci == nullptr ||
      card_->library.handle_by_pci(pci_bus_id.c_str(), &card_->handle) != 0) {
    card_.reset();
    return;
  }
  thread_ = std::thread([this] { run(); });
}

GpuMonitor::~GpuMonitor() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void GpuMonitor::run() {
  for (;;) {
    const GpuSample sample = card_->sample();  // may take milliseconds: outside the lock
    std::unique_lock lock(mutex_);
    latest_ = sample;
    if (wake_.wait_for(lock, kInterval, [this] { return stop_; })) return;
  }
}

std::optional<GpuSample> GpuMonitor::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

}  // namespace hotloop
