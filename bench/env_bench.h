// Environments alone: random actions generated, every observation, reward and flag written, nothing read back.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/device.h"
#include "sim/core/env.h"

namespace hotloop {

struct BenchResult {
  std::string name, unit;
  double value = 0, min = 0, max = 0;  // median, least and most of the windows
  std::uint64_t hash = 0;              // of the results: equal wherever the same work was done
};

struct EnvBenchOptions {
  std::vector<std::string> tasks;      // empty: every registered environment
  std::vector<std::int64_t> num_envs;  // empty: 4096 on the CPU, 2^20 on a GPU; tasks on models 512, 2^14
  Device device;
  int threads = 0;  // CPU: 0 = one per core
  int windows = 5;
  std::int64_t window_steps = 0;  // environment steps of a window; 0: 2^25 on the CPU, 2^32 on a GPU; models 2^15, 2^23
  std::uint64_t seed = 1;
  EnvOptions options = {};  // of the task; for one task only
};

// One result per task and number of environments, named env.TASK.NUM_ENVS, in steps/s. After a warm-up window come the
// measured ones; on a GPU 64 steps are one graph replay. The hash is FNV-1a over the last step's observations, rewards
// and flags, taken after the last window: the number of steps is fixed by the options, so the hash is too, on any
// number of threads and on either device. Error for an unknown task.
std::vector<BenchResult> bench_env(const EnvBenchOptions& options);

}  // namespace hotloop
