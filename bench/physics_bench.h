// Physics alone: worlds of a model, without observations, rewards and resets, by the protocol of MuJoCo Warp's
// testspeed.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bench/env_bench.h"

namespace hotloop {

struct PhysicsBenchOptions {
  std::vector<std::string> models;  // files; empty: the models of the tasks
  std::int64_t num_worlds = 0;      // 0: 8192 on a GPU, 256 on the CPU
  Device device;
  int threads = 0;       // CPU: 0 = one per core
  int steps = 0;         // 0: 1000 on a GPU, 50 on the CPU
  int max_contacts = 0;  // room of a world; 0: sized from the model
  bool generic = false;  // GPU: the generic kernel instead of the one specialised to the model
  bool staged = false;   // the staged form instead: the time of each part of a step
};

// From keyframe 0 (qpos0 where there is none), one launch and one wait a step, controls drawn outside the measured
// time. Two results a model: physics.MODEL.WORLDS.noise with testspeed's noise (Ornstein-Uhlenbeck, 0.01, 0.1 s) and
// .random with uniform controls held for five steps; steps/s. Then contacts, rows (MuJoCo's nefc) and solver iterations
// of an evaluation, and the bytes of working memory of a world. Error where a world runs out of room or turns
// non-finite. Staged: physics.MODEL.WORLDS.staged.PART, nanoseconds of a part for one world's step, with uniform
// controls; a wait for each part and the copy of the state at both ends of a step are measured with it.
std::vector<BenchResult> bench_physics(const PhysicsBenchOptions& options);

}  // namespace hotloop
