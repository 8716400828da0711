#include "sim/core/special_kernel.h"

#include <algorithm>

#include "sim/core/error.h"

#ifdef HOTLOOP_CUDA
#include <dlfcn.h>
#include <nvrtc.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

#include "sim/core/cuda_check.h"
#include "sim/core/embedded_sources.h"
#endif

namespace hotloop {

#ifdef HOTLOOP_CUDA
namespace {

namespace fs = std::filesystem;

// FNV-1a, 64 bits; two of them with different starts name a cubin.
std::uint64_t fnv(const std::string& text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}
constexpr std::uint64_t kStart1 = 14695981039346656037ULL, kStart2 = 0x6a09e667f3bcc908ULL;

std::string hex(std::uint64_t value) {
  char buffer[17];
  std::snprintf(buffer, sizeof buffer, "%016llx", static_cast<unsigned long long>(value));
  return buffer;
}

// NVRTC, loaded at first use: the program starts without it.
struct Nvrtc {
  decltype(&nvrtcVersion) version = nullptr;
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&nvrtcGetCUBIN) cubin = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;

  Nvrtc() {
    void* library = nullptr;
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so"})
      if ((library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) != nullptr) break;
    if (library == nullptr)
      throw Error(
          "the CUDA run-time compiler libnvrtc.so.13 cannot be loaded: tasks on models and the fused road need it on a "
          "GPU; it "
          "is part of the CUDA toolkit and of the package nvidia-cuda-nvrtc");
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr) throw Error(std::string("libnvrtc.so.13 has no ") + name);
    };
    find(version, "nvrtcVersion");
    find(create, "nvrtcCreateProgram");
    find(destroy, "nvrtcDestroyProgram");
    find(compile, "nvrtcCompileProgram");
    find(cubin_size, "nvrtcGetCUBINSize");
    find(cubin, "nvrtcGetCUBIN");
    find(log_size, "nvrtcGetProgramLogSize");
    find(log, "nvrtcGetProgramLog");
  }
};

const Nvrtc& nvrtc() {
  static const Nvrtc library;
  return library;
}

std::vector<std::string> compile_options(bool exact, int capability) {
  std::vector<std::string> options = {"--gpu-architecture=sm_" + std::to_string(capability), "--std=c++20",
                                      "--device-as-default-execution-space"};
  if (exact)
    options.insert(options.end(), {"--fmad=false", "--generate-line-info"});
  else
    options.insert(options.end(), {"--prec-div=false", "--prec-sqrt=false", "--ftz=true", "--fmad=true"});
  return options;
}

// All headers that the source may include.
std::vector<EmbeddedSource> headers_of(const SpecialKernelSource& source) {
  std::vector<EmbeddedSource> all = embedded_sources();
  if (source.headers != nullptr) all.insert(all.end(), source.headers->begin(), source.headers->end());
  return all;
}

std::string compile_with(const SpecialKernelSource& source, const std::vector<std::string>& options) {
  const Nvrtc& rtc = nvrtc();
  std::vector<const char*> names, texts, flags;
  for (const EmbeddedSource& file : headers_of(source)) {
    names.push_back(file.name);
    texts.push_back(file.text);
  }
  for (const std::string& option : options) flags.push_back(option.c_str());
  nvrtcProgram program = nullptr;
  if (rtc.create(&program, source.code.c_str(), "special_kernel.cu", static_cast<int>(names.size()), texts.data(),
                 names.data()) != NVRTC_SUCCESS)
    throw Error("the CUDA run-time compiler cannot start on the kernel for " + source.name);
  const nvrtcResult result = rtc.compile(program, static_cast<int>(flags.size()), flags.data());
  std::string cubin;
  std::size_t size = 0;
  if (result != NVRTC_SUCCESS) {
    rtc.log_size(program, &size);
    std::string log(size, '\0');
    rtc.log(program, log.data());
    rtc.destroy(&program);
    const char* full = std::getenv("HOTLOOP_KERNEL_LOG");
    if (full != nullptr) std::ofstream(full) << log;
    const std::size_t at = log.find("error");
    throw Error("the kernel for " + source.name + " does not compile: " +
                log.substr(at == std::string::npos ? 0 : at, 200).substr(0, log.find('\n', at) - at) +
                " (HOTLOOP_KERNEL_LOG=FILE keeps the whole message)");
  }
  rtc.cubin_size(program, &size);
  cubin.resize(size);
  rtc.cubin(program, cubin.data());
  rtc.destroy(&program);
  return cubin;
}

// ---- the cache on disk: "hotloop1", hash of the content, content ---------------------------------------------------

constexpr char kMagic[] = "hotloop1";

fs::path cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string folder = variable("HOTLOOP_CACHE"); !folder.empty()) return fs::path(folder) / "kernels";
  if (const std::string folder = variable("XDG_CACHE_HOME"); !folder.empty())
    return fs::path(folder) / "hotloop/kernels";
  if (const std::string home = variable("HOME"); !home.empty()) return fs::path(home) / ".cache/hotloop/kernels";
  return {};
}

// The cubin, or "" where there is none or it is not what was written.
std::string read_cached(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  constexpr std::size_t kHeader = sizeof kMagic - 1 + 16;
  if (all.size() <= kHeader || all.compare(0, sizeof kMagic - 1, kMagic) != 0) return {};
  const std::string content = all.substr(kHeader);
  return all.compare(sizeof kMagic - 1, 16, hex(fnv(content, kStart1))) == 0 ? content : std::string();
}

// Written under another name and renamed, so that nobody reads half of it. A cache that cannot be written is no error.
void write_cached(const fs::path& path, const std::string& cubin) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  const fs::path temporary = path.string() + "." + std::to_string(getpid());
  {
    std::ofstream file(temporary, std::ios::binary);
    file << kMagic << hex(fnv(cubin, kStart1)) << cubin;
    if (!file.flush()) {
      file.close();
      fs::remove(temporary, error);
      return;
    }
  }
  fs::rename(temporary, path, error);
  if (error) fs::remove(temporary, error);
}

std::string cubin_for(const SpecialKernelSource& source, const CudaDeviceInfo& card, bool& from_cache) {
  const std::vector<std::string> options = compile_options(source.exact, 10 * card.major + card.minor);
  std::string all = source.code;
  for (const EmbeddedSource& file : headers_of(source)) all += std::string(file.name) + file.text;
  for (const std::string& option : options) all += option;
  all += std::to_string(card.runtime_version);
  const fs::path folder = cache_folder();
  const fs::path path = folder / (hex(fnv(all, kStart1)) + hex(fnv(all, kStart2)) + ".cubin");
  std::string cubin = folder.empty() ? std::string() : read_cached(path);
  from_cache = !cubin.empty();
  if (cubin.empty()) {
    cubin = compile_with(source, options);
    if (!folder.empty()) write_cached(path, cubin);
  }
  return cubin;
}

}  // namespace

std::shared_ptr<const SpecialKernel> SpecialKernel::get(const SpecialKernelSource& source, Device device) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const SpecialKernel>> loaded;  // by code: libraries serve all contexts
  const std::lock_guard<std::mutex> lock(mutex);
  if (const auto it = loaded.find(source.code); it != loaded.end()) return it->second;
  const auto start = std::chrono::steady_clock::now();
  auto result = std::make_shared<SpecialKernel>();
  const std::string cubin = cubin_for(source, cuda_device_info(device.index), result->from_cache_);
  cudaLibrary_t library = nullptr;
  SIM_CHECK_CUDA(cudaLibraryLoadData(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  cudaKernel_t kernel = nullptr;
  SIM_CHECK_CUDA(cudaLibraryGetKernel(&kernel, library, "special_kernel"));
  SIM_CHECK_CUDA(
      cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributePreferredSharedMemoryCarveout, 100));
  result->kernel_ = kernel;
  result->seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  loaded.emplace(source.code, result);
  return result;
}

std::string SpecialKernel::compile(const SpecialKernelSource& source, int capability) {
  return compile_with(source, compile_options(source.exact, capability));
}

KernelShape kernel_shape(Device device, int lanes, std::size_t bytes, bool together) {
  // Warps with 96 registers for each thread, what the stages need, that a multiprocessor has room for; blocks of more
  // than eight wait for each other too long.
  constexpr int kMostWarps = 20, kMostTogether = 8;
  const CudaDeviceInfo card = cuda_device_info(device.index);
  KernelShape best{lanes, 1, 1, (bytes + 15) / 16 * 16};
  for (int warps = 1; warps <= (together ? kMostTogether : 1); ++warps) {
    const std::size_t block = best.bytes * (32 / lanes) * warps;
    if (block + card.shared_reserved > card.shared_per_block) break;
    const int blocks = static_cast<int>(
        std::min(card.shared_per_sm / (block + card.shared_reserved), static_cast<std::size_t>(kMostWarps / warps)));
    if (blocks * warps >= best.blocks * best.warps) best = {lanes, warps, blocks, best.bytes};
  }
  return best;
}

void SpecialKernel::launch_raw(const Exec& exec, std::int64_t worlds, const KernelShape& shape, void* args) const {
  if (worlds <= 0) return;
  const int groups = 32 * shape.warps / shape.lanes;
  const std::size_t shared = shape.bytes * groups;
  const auto* kernel = reinterpret_cast<const void*>(kernel_);
  SIM_CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
  long long n = worlds;
  void* parameters[] = {args, &n};
  const dim3 grid(static_cast<unsigned>((worlds + groups - 1) / groups));
  SIM_CHECK_CUDA(cudaLaunchKernel(kernel, grid, dim3(static_cast<unsigned>(32 * shape.warps)), parameters, shared,
                                  static_cast<cudaStream_t>(exec.stream)));
}

void SpecialKernel::launch_grid_raw(const Exec& exec, const KernelGrid& grid, void* args) const {
  const auto* kernel = reinterpret_cast<const void*>(kernel_);
  SIM_CHECK_CUDA(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(grid.shared)));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(grid.blocks));
  config.blockDim = dim3(static_cast<unsigned>(grid.threads));
  config.dynamicSmemBytes = grid.shared;
  config.stream = static_cast<cudaStream_t>(exec.stream);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  config.attrs = &attribute;
  config.numAttrs = grid.cooperative ? 1 : 0;
  void* parameters[] = {args};
  SIM_CHECK_CUDA(cudaLaunchKernelExC(&config, kernel, parameters));
}

#else

std::shared_ptr<const SpecialKernel> SpecialKernel::get(const SpecialKernelSource&, Device) {
  throw Error("this build has no CUDA");
}
KernelShape kernel_shape(Device, int lanes, std::size_t bytes, bool) { return {lanes, 1, 1, bytes}; }
std::string SpecialKernel::compile(const SpecialKernelSource&, int) { throw Error("this build has no CUDA"); }
void SpecialKernel::launch_raw(const Exec&, std::int64_t, const KernelShape&, void*) const {}
void SpecialKernel::launch_grid_raw(const Exec&, const KernelGrid&, void*) const {}

#endif

}  // namespace hotloop
