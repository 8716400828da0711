// Exported policies in C: what one action costs a controller.
#include <dlfcn.h>
#include <stdlib.h>

#include <chrono>
#include <cmath>
#include <filesystem>

#include "bench/bench.h"
#include "data/file.h"
#include "sim/core/error.h"
#include "sim/core/registry.h"
#include "sim/core/shell.h"
#include "train/export/formats.h"

namespace hotloop {
namespace {

constexpr int kWindows = 5;
constexpr const char* kName = "policy";

// A folder of our own, removed at the end.
class WorkFolder {
 public:
  WorkFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "hotloop_bench_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw_file_error(name, errno);
    path_ = name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The function of an exported file, compiled as a user would; stays loaded.
using Policy = void (*)(const float* observation, float* action);
Policy compile(const std::string& source) {
  const WorkFolder folder;
  const std::string file = (folder.path() / "policy.c").string(), library = (folder.path() / "policy.so").string();
  write_file(file, source);
  const char* given = std::getenv("CC");
  const std::string command = std::string(given != nullptr && *given != '\0' ? given : "cc") +
                              " -std=c99 -O2 -shared -fPIC " + shell_quoted(file) + " -o " + shell_quoted(library);
  if (std::system((command + " 2>/dev/null").c_str()) != 0) throw Error("bench export: failed: " + command);
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw Error("bench export: " + std::string(dlerror()));
  return reinterpret_cast<Policy>(dlsym(handle, kName));
}

BenchResult measure(const TrainConfig& config, double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr int kCalls = 256;  // between looks at the clock
  const EnvEntry& env = find_environment(config.task);
  const EnvSpec spec = spec_with_options(env, config.env);
  const PolicySpec policy = make_policy_spec(config, spec);
  std::vector<double> normalizer;
  if (policy.normalize_observation) normalizer.assign(static_cast<std::size_t>(2 * policy.obs_dim + 1), 1.0);
  const PolicyGraph graph =
      make_policy_graph(policy, initial_parameters(policy, static_cast<std::uint64_t>(config.seed)), normalizer, false);
  const Policy act = compile(c_content(graph, OrderedJson::object(), kName));

  std::vector<float> observation(static_cast<std::size_t>(policy.obs_dim), 0.1f);
  std::vector<float> action(static_cast<std::size_t>(policy.action.dim()));
  std::vector<double> times;  // [us] of a call, by window; the first is a warm-up
  for (int window = 0; window <= kWindows; ++window) {
    const auto start = Clock::now();
    std::chrono::duration<double> passed{};
    std::int64_t calls = 0;
    for (; passed.count() < seconds; calls += kCalls, passed = Clock::now() - start)
      for (int i = 0; i < kCalls; ++i) {
        act(observation.data(), action.data());
        observation[0] = 0.1f + 1e-3f * action[0];  // the next call waits for this one, as in a control loop
      }
    if (window > 0) times.push_back(1e6 * passed.count() / static_cast<double>(calls));
  }
  std::string sizes;
  for (const std::int64_t n : config.hidden_sizes) sizes += (sizes.empty() ? "" : "x") + std::to_string(n);
  return summary("export.c." + config.task + "." + sizes, "us/action", times);
}

}  // namespace

std::vector<BenchResult> bench_export(const std::vector<TrainConfig>& configs, double seconds) {
  std::vector<BenchResult> results;
  for (const TrainConfig& config : configs) results.push_back(measure(config, seconds));
  return results;
}

}  // namespace hotloop
