#include "train/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "sim/core/version.h"
#include "train/nvml.h"

namespace hotloop {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

// "model name : X" of the first core in /proc/cpuinfo; "" where the kernel names none (ARM)
std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

double rounded_gib(double bytes) { return static_cast<double>(static_cast<long>(bytes / kGiB * 10 + 0.5)) / 10; }

Json describe_card(int index) {
  Json card = Json::object();
  const CudaDeviceInfo info = cuda_device_info(index);
  card["name"] = info.name;
  card["memory_gib"] = rounded_gib(static_cast<double>(info.total_bytes));
  card["compute_capability"] = std::to_string(info.major) + "." + std::to_string(info.minor);
  card["multiprocessors"] = info.sm_count;
  const std::string driver = nvidia_driver_version();
  if (!driver.empty()) card["driver"] = driver;
  const auto text = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
  card["driver_cuda"] = text(info.driver_version);
  card["runtime_cuda"] = text(info.runtime_version);
  return card;
}

}  // namespace

std::string describe_machine(const std::vector<std::string>& command_line, Device device,
                             const std::string& git_commit) {
  Json machine = Json::object();
  machine["hotloop"] = version();
  if (!git_commit.empty()) machine["git_commit"] = git_commit;
  machine["started"] = utc_now();
  machine["command_line"] = command_line;
  machine["device"] = device.str();
  utsname system{};
  if (::uname(&system) == 0) {
    machine["host"] = system.nodename;
    machine["system"] = std::string(system.sysname) + " " + system.release + " " + system.machine;
  }
  const std::string cpu = cpu_name();
  if (!cpu.empty()) machine["cpu"] = cpu;
  machine["cores"] = std::thread::hardware_concurrency();  // those this process may use
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && page > 0)
    machine["memory_gib"] = rounded_gib(static_cast<double>(pages) * static_cast<double>(page));
  if (device.is_cuda()) machine["gpu"] = describe_card(device.index);
  machine["compiler"] = std::string(HOTLOOP_COMPILER);
  machine["cuda_build"] = built_with_cuda();
  // a command line need not be UTF-8
  return machine.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hotloop
