#include "train/network.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "sim/core/error.h"

namespace hotloop {
namespace {

constexpr const char* kLibrary = "libhotloop_generic.so";

// Where this code itself was loaded from: the program, or a library that holds it.
std::filesystem::path own_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return ".";
  std::error_code failed;
  // a program started by name alone is recorded without a folder
  std::filesystem::path file = std::filesystem::canonical("/proc/self/exe", failed);
  const std::filesystem::path named = info.dli_fname;
  if (named.has_parent_path() || failed) file = std::filesystem::weakly_canonical(named, failed);
  return file.parent_path();
}

// An installed tree may have moved to where LibTorch is elsewhere than at its build: libraries that are loaded already
// satisfy those of the same name that ours asks for.
void load_torch_from_environment() {
  const char* root = std::getenv("HOTLOOP_TORCH_ROOT");
  if (root == nullptr || *root == '\0') return;
  for (const char* name : {"libc10.so", "libtorch_cpu.so", "libc10_cuda.so", "libtorch_cuda.so"}) {
    const std::filesystem::path path = std::filesystem::path(root) / "lib" / name;
    dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // what is missing our own library's loading will say
  }
}

const GenericLibrary& open_library() {
  const std::filesystem::path folder = own_folder();
  std::string reason;
  // the bare name is looked up in the program's own search path: a program outside this tree has it there
  for (const std::filesystem::path& path :
       {folder / kLibrary, folder / "../lib" / kLibrary, std::filesystem::path(kLibrary)}) {
    std::error_code ignored;
    if (path.has_parent_path() && !std::filesystem::exists(path, ignored)) continue;
    // before the library's first read of them: one thread a shard, and one workspace that every product uses, so that
    // neither the machine's cores nor capture can change a product's order of summation
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("MKL_NUM_THREADS", "1", 1);
    setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
    load_torch_from_environment();
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      if (reason.empty()) reason = dlerror();
      continue;
    }
    using Table = const GenericLibrary* (*)();
    const auto table = reinterpret_cast<Table>(dlsym(handle, "hotloop_generic_library"));
    if (table != nullptr) return *table();
    reason = path.string() + " is of another version";
  }
  throw Error(std::string("LibTorch road: cannot load ") + kLibrary + " from " + folder.string() + ": " + reason);
}

}  // namespace

const GenericLibrary& load_generic() {
  static const GenericLibrary& library = open_library();
  return library;
}

}  // namespace hotloop
