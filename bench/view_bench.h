// How fast worlds of a task are drawn.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bench/env_bench.h"
#include "sim/core/device.h"

namespace hotloop {

struct ViewBenchOptions {
  std::string task = "Ant-v5";
  Device device;
  std::int64_t worlds = 0;  // 0: 4096 on a card, 64 on the CPU
  std::int64_t seed = 1;
  double seconds = 2;  // of a window
};

// A grid of worlds seen whole, without a window, 1920x1080 on a card and 1280x720 in software, in the quality that a
// window has: frames/s drawn from poses that are taken over for each, the same with a step of all worlds before each,
// milliseconds of the GPU, instances and triangles of a frame. Names hold how poses reach OpenGL, and its renderer.
std::vector<BenchResult> bench_view(const ViewBenchOptions& options);

}  // namespace hotloop
