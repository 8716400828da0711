// Many worlds of one task on one device: one kernel an environment step. .cu files only.
#pragma once
#include <memory>

#include "sim/core/launch.h"
#include "sim/core/registry.h"
#include "sim/tasks/task_host.h"
#include "sim/tasks/task_op.h"

namespace hotloop {

template <class T>
class TaskBatch final : public Batch {
 public:
  explicit TaskBatch(const BatchConfig& config)
      : Batch(task_spec<T>(config.options), config, 4 * TaskOp<T>::kWords),
        model_(load_task_model(task_sizes<T>())),
        memory_(model_->data(), config.device),
        op_{memory_.view(),
            make_layout(model_->data(), T::kKeep),
            read_options<T>(config.options, &model_->data()),
            make_book_view(config, book_, max_episode_steps_, stream(RngStream{})),
            {},
            reinterpret_cast<float*>(words_),
            static_cast<int>(spec_.obs_dim()),
            false} {}
  void reset(const Exec& exec, float* observation, std::uint8_t*) override {
    StepIo io;
    io.observation = observation;
    launch(exec, io, true);
  }
  void step(const Exec& exec, const StepIo& io) override { launch(exec, io, false); }

 private:
  void launch(const Exec& exec, const StepIo& io, bool first) {
    op_.io = io;
    op_.first = first;
    parallel_warps<lanes_for(TaskOp<T>::kBound)>(exec, num_envs(), world_bytes<float>(op_.layout) + kTaskFlagBytes,
                                                 op_);
  }

  std::shared_ptr<const LoadedModel> model_;
  ModelMemory<float> memory_;
  TaskOp<T> op_;
};

template <class T>
std::unique_ptr<Batch> make_task_batch(const BatchConfig& config) {
  return std::make_unique<TaskBatch<T>>(config);
}

template <template <class> class Task>
EnvEntry make_task_entry() {
  using Exact = Task<double>;
  return {.spec = task_spec<Exact>({}),
          .make = &make_task_batch<Task<float>>,
          .model = Exact::kModel,
          .options = task_option_infos<Exact>(),
          .spec_with = &task_spec<Exact>,
          .resolve = &resolve_task_options<Exact>};
}

// For a program outside this tree: adds its task.
template <template <class> class Task>
void register_task() {
  register_environment(make_task_entry<Task>());
}

}  // namespace hotloop
