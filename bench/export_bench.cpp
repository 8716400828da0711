// Exported policies in C: what one action costs a controller.
#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
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

// Microseconds of a call: the median of many short bursts, so that what else the machine does is left out.
double time_of(Policy act, const PolicySpec& policy, double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr int kCalls = 256;
  std::vector<float> observation(static_cast<std::size_t>(policy.obs_dim), 0.1f);
  std::vector<float> action(static_cast<std::size_t>(policy.action.dim()));
  std::vector<double> bursts;
  const auto start = Clock::now();
  for (auto now = start; std::chrono::duration<double>(now - start).count() < seconds;) {
    for (int i = 0; i < kCalls; ++i) {
      act(observation.data(), action.data());
      observation[0] = 0.1f + 1e-3f * action[0];  // the next call waits for this one, as in a control loop
    }
    const auto end = Clock::now();
    bursts.push_back(1e6 * std::chrono::duration<double>(end - now).count() / kCalls);
    now = end;
  }
  const auto middle = bursts.begin() + static_cast<std::ptrdiff_t>(bursts.size() / 2);
  std::nth_element(bursts.begin(), middle, bursts.end());
  return *middle;
}

BenchResult measure(const TrainConfig& config, double seconds) {
  const EnvEntry& env = find_environment(config.task);
  const PolicySpec policy = make_policy_spec(config, spec_with_options(env, config.env));
  std::vector<double> normalizer;
  if (policy.normalize_observation) normalizer.assign(static_cast<std::size_t>(2 * policy.obs_dim + 1), 1.0);
  const PolicyGraph graph =
      make_policy_graph(policy, initial_parameters(policy, static_cast<std::uint64_t>(config.seed)), normalizer, false);
  const Policy act = compile(c_content(graph, OrderedJson::object(), kName));
  time_of(act, policy, seconds / 4);  // warm-up
  std::vector<double> times;
  for (int window = 0; window < kWindows; ++window) times.push_back(time_of(act, policy, seconds));
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
