#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli.h"
#include "data/file.h"
#include "sim/core/assets.h"
#include "sim/core/device.h"
#include "sim/core/error.h"
#include "sim/core/thread_pool.h"
#include "sim/core/version.h"
#include "train/network.h"
#include "train/nvml.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string gib(double bytes) { return fmt::format("{:.1f} GiB", bytes / (1024.0 * 1024 * 1024)); }

// The rest of the first line of `file` that begins with `key`, without the separators between.
std::string value_in_file(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t:=\"", key.size());
    const std::size_t end = line.find_last_not_of(" \t\"");
    return begin == std::string::npos ? "" : line.substr(begin, end + 1 - begin);
  }
  return "";
}

Json system_facts() {
  utsname kernel{};
  uname(&kernel);
  return {{"system", value_in_file("/etc/os-release", "PRETTY_NAME")},
          {"kernel", fmt::format("{} {}", kernel.sysname, kernel.release)}};
}

Json cpu_facts(Json& advice) {
  std::string features;
#if defined(__x86_64__)
  const auto add = [&](bool has, const char* name) {
    features += has ? (features.empty() ? "" : " ") + std::string(name) : "";
  };
  add(__builtin_cpu_supports("avx2"), "avx2");
  add(__builtin_cpu_supports("fma"), "fma");
  add(__builtin_cpu_supports("avx512f"), "avx512f");
  if (!__builtin_cpu_supports("avx2")) advice.push_back("this CPU lacks AVX2: training on it is slower");
#endif
  return {
      {"model", value_in_file("/proc/cpuinfo", "model name")}, {"cores", ThreadPool(0).size()}, {"features", features}};
}

Json memory_facts() {
  const auto kib = [](const char* key) { return std::atof(value_in_file("/proc/meminfo", key).c_str()) * 1024; };
  return {{"total", gib(kib("MemTotal"))}, {"available", gib(kib("MemAvailable"))}};
}

Json disk_facts(Json& advice) {
  std::error_code failure;
  const fs::path here = fs::current_path(failure);
  const fs::space_info space = fs::space(here, failure);
  if (failure) return {{"free here", "unknown: " + failure.message()}};
  constexpr std::uintmax_t kLittle = std::uintmax_t{1} << 30;
  if (space.available < kLittle)
    advice.push_back("less than 1 GiB is free in this folder: choose another by --run-dir");
  return {{"free here", gib(static_cast<double>(space.available))}};
}

std::string cuda_version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

Json gpu_facts(Json& advice) {
  Json cards = Json::array();
  std::string driver = nvidia_driver_version();
  for (int i = 0; i < cuda_device_count(); ++i) {
    try {
      const CudaDeviceInfo info = cuda_device_info(i);
      cards.push_back({{"device", fmt::format("cuda:{}", i)},
                       {"name", info.name},
                       {"compute capability", fmt::format("{}.{}", info.major, info.minor)},
                       {"multiprocessors", info.sm_count},
                       {"memory", gib(static_cast<double>(info.total_bytes))},
                       {"memory free", gib(static_cast<double>(info.free_bytes))},
                       {"driver supports CUDA", cuda_version(info.driver_version)},
                       {"CUDA runtime", cuda_version(info.runtime_version)}});
    } catch (const Error& e) {
      cards.push_back({{"device", fmt::format("cuda:{}", i)}, {"error", e.what()}});
      advice.push_back(fmt::format("cuda:{} does not answer: {}", i, e.what()));
    }
  }
  if (!built_with_cuda())
    advice.push_back("built for the CPU only: install a CUDA 13 toolkit (nvcc) and run ./hotloop again to use a GPU");
  else if (driver.empty())
    advice.push_back(
        "no NVIDIA driver: training runs on the CPU; install a driver for CUDA 13 (580 or newer) to use a GPU");
  else if (cards.empty())
    advice.push_back("a driver but no usable GPU: see nvidia-smi; the driver must support CUDA 13 (580 or newer)");
  if (driver.empty()) driver = "none";
  return {{"driver", driver}, {"cards", cards}};
}

std::string find_nvcc() {
  std::vector<std::string> folders;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(name)) folders.push_back(std::string(root) + "/bin");
  if (const char* path = std::getenv("PATH")) {
    std::string rest = path;
    for (std::size_t colon; (colon = rest.find(':')) != std::string::npos; rest.erase(0, colon + 1))
      folders.push_back(rest.substr(0, colon));
    folders.push_back(rest);
  }
  folders.emplace_back("/usr/local/cuda/bin");
  for (const std::string& folder : folders)
    if (::access((folder + "/nvcc").c_str(), X_OK) == 0) return folder + "/nvcc";
  return "not found";
}

// The file that the loader takes for one of `names`, or "" where it finds none.
std::string loaded_path(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    void* const library = name.empty() ? nullptr : ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!library) continue;
    link_map* map = nullptr;
    const bool known = ::dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map;
    return known ? map->l_name : name;
  }
  return "";
}

// The libmujoco.so.* that the front door has fetched into its cache, or "".
std::string fetched_mujoco() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  std::string cache = variable("HOTLOOP_DEPS");
  if (cache.empty() && !variable("XDG_CACHE_HOME").empty()) cache = variable("XDG_CACHE_HOME") + "/hotloop";
  if (cache.empty()) cache = variable("HOME") + "/.cache/hotloop";
  std::error_code failure;
  std::string newest;
  for (fs::directory_iterator version(cache, failure), end; !failure && version != end; version.increment(failure)) {
    if (!version->path().filename().string().starts_with("mujoco-")) continue;
    std::error_code ignored;
    for (fs::directory_iterator file(version->path() / "mujoco", ignored); !ignored && file != end;
         file.increment(ignored))
      if (file->path().filename().string().starts_with("libmujoco.so."))
        newest = std::max(newest, file->path().string());
  }
  return newest;
}

Json library_facts(Json& advice) {
  // the program itself has no path to LibTorch: its own library has, and with it loaded the name is known
  try {
    load_generic();
  } catch (const Error& e) {
    advice.push_back(e.what());
  }
  struct Library {
    const char* name;
    std::vector<std::string> files;
    bool gpu_only;
    const char* needed_for;
  };
  const std::vector<Library> libraries = {
      {"LibTorch", {"libtorch_cpu.so"}, false, "training on the generic road; ./hotloop fetches it"},
      {"MuJoCo",
       {"libmujoco.so.4.0.0", fetched_mujoco(), "libmujoco.so"},
       false,
       "tasks on MuJoCo models; ./hotloop fetches it"},
      {"HDF5",
       {"libhdf5_serial.so.103", "libhdf5.so.103", "libhdf5_serial.so", "libhdf5.so"},
       false,
       "trajectory logs; install libhdf5-dev"},
      {"CUDA runtime", {"libcudart.so.13"}, true, "the GPU"},
      {"cuBLAS", {"libcublas.so.13"}, true, "the GPU"},
      {"NCCL", {"libnccl.so.2"}, true, "several GPUs"},
      {"NVML", {"libnvidia-ml.so.1"}, true, "GPU utilisation in the metrics; part of the driver"}};
  Json found;
  for (const Library& library : libraries) {
    const std::string path = loaded_path(library.files);
    found[library.name] = path.empty() ? "not found" : path;
    if (path.empty() && (!library.gpu_only || cuda_device_count() > 0))
      advice.push_back(fmt::format("{} is not found: needed for {}", library.name, library.needed_for));
  }
  return found;
}

Json examine() {
  Json advice = Json::array(), report;
  report["hotloop"] = {
      {"version", version()}, {"compiler", "g++ " __VERSION__}, {"backends", built_with_cuda() ? "cpu cuda" : "cpu"}};
  report["machine"] = system_facts();
  report["cpu"] = cpu_facts(advice);
  report["memory"] = memory_facts();
  report["disk"] = disk_facts(advice);
  report["gpu"] = gpu_facts(advice);
  report["toolkit"] = {{"nvcc", find_nvcc()}};
  report["libraries"] = library_facts(advice);
  try {
    const std::optional<fs::path> assets = assets_dir();
    report["assets"] = assets ? assets->string() : "not found";
    if (!assets)
      advice.push_back("no assets folder beside the program: set HOTLOOP_ASSETS to the one of the source tree");
  } catch (const Error& e) {
    report["assets"] = "not found";
    advice.push_back(e.what());
  }
  report["advice"] = advice;
  return report;
}

std::string scalar_text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string section_text(const Json& section, int indent) {
  std::string text;
  for (const auto& [key, value] : section.items()) {
    const std::string label = section.is_array() ? "-" : key;
    if (value.is_structured() && value.empty())
      text += fmt::format("{:{}}{} none\n", "", indent, label);
    else if (value.is_structured())
      text += fmt::format("{:{}}{}\n{}", "", indent, label, section_text(value, indent + 2));
    else
      text +=
          fmt::format("{:{}}{:<{}} {}\n", "", indent, label, section.is_array() ? 1 : 22 - indent, scalar_text(value));
  }
  return text;
}

}  // namespace

void add_doctor(Cli& cli) {
  CLI::App* command = add_command(cli, "doctor", "Show what this machine has, and what to do about what is missing");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print one JSON object");
  command->callback([&cli, json] {
    cli.action = [json] {
      const Json report = examine();
      // paths need not be UTF-8
      const std::string text = report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
      write_output(*json ? text : section_text(report, 0));
      return 0;
    };
  });
}

}  // namespace hotloop
