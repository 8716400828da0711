// The list of built-in tasks on MuJoCo models: a new one is its header, one line here, and a source file that
// instantiates it (HOTLOOP_INSTANTIATE_TASK), so that kernels compile side by side.
#pragma once
#include "sim/core/registry.h"

#define HOTLOOP_TASKS(X)    \
  X(InvertedPendulum)       \
  X(InvertedDoublePendulum) \
  X(Reacher)                \
  X(Pusher)                 \
  X(Swimmer)                \
  X(HalfCheetah)            \
  X(Hopper)                 \
  X(Walker2d)               \
  X(Ant)                    \
  X(Humanoid)               \
  X(HumanoidStandup)

namespace hotloop {

template <template <class> class Task>
EnvEntry task_entry();

#define HOTLOOP_DECLARE_TASK(Task) \
  template <class R>               \
  struct Task;                     \
  template <>                      \
  EnvEntry task_entry<Task>();
HOTLOOP_TASKS(HOTLOOP_DECLARE_TASK)
#undef HOTLOOP_DECLARE_TASK

#define HOTLOOP_INSTANTIATE_TASK(Task) \
  template <>                          \
  EnvEntry task_entry<Task>() {        \
    return make_task_entry<Task>();    \
  }

}  // namespace hotloop
