// The generic kernel of ModelBatch::step and the CPU's part of a step, instantiated in one source file for each bound
// on the number of dofs.
#pragma once
#include "sim/core/launch.h"
#include "sim/mujoco/model_part.h"
#include "sim/mujoco/model_step.h"

namespace hotloop {

template <int N>
struct ModelStepOp {
  static constexpr int kMinBlocks = min_blocks(N);
  ModelStepArgs a;

  template <class G>
  SIM_HD void operator()(const G& g, std::int64_t world, std::byte* memory) const {
    step_world<N>(g, a.model, a.layout, a, static_cast<int>(world), memory);
  }
};

// One source file each.
template <int N>
void launch_model_step(const Exec& exec, std::int64_t worlds, const ModelStepArgs& args);

#define HOTLOOP_INSTANTIATE_MODEL_STEP(N)                                                              \
  template <>                                                                                          \
  void launch_model_step<N>(const Exec& exec, std::int64_t worlds, const ModelStepArgs& args) {        \
    parallel_warps<lanes_for(N)>(exec, worlds, world_bytes<float>(args.layout), ModelStepOp<N>{args}); \
  }                                                                                                    \
  template <>                                                                                          \
  void run_model_part<N>(const Exec& exec, std::int64_t worlds, const ModelPartArgs& args) {           \
    for_ranges(exec, worlds, 4, [&](std::int64_t begin, std::int64_t end) {                            \
      for (std::int64_t w = begin; w < end; ++w)                                                       \
        args.run<N>(SerialGroup<lanes_for(N)>{}, w, nullptr, args.model, args.layout);                 \
    });                                                                                                \
  }

}  // namespace hotloop
