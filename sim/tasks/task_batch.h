// Many worlds of one task on one device. On a GPU an environment step is one kernel, compiled at run time for the task
// and its model.
#pragma once
#include <memory>

#include "sim/core/registry.h"
#include "sim/core/special_kernel.h"
#include "sim/core/thread_pool.h"
#include "sim/mujoco/contact_memory.h"
#include "sim/mujoco/cpu_step.h"
#include "sim/mujoco/frames.h"
#include "sim/mujoco/specialize.h"
#include "sim/tasks/task_host.h"
#include "sim/tasks/task_op.h"

namespace hotloop {

template <class T>
class TaskBatch final : public Batch {
 public:
  // per_world: fields in which worlds may differ, beside those that config.options randomises.
  explicit TaskBatch(const BatchConfig& config, const std::vector<std::string>& per_world = {})
      : Batch(task_spec<T>(config.options), config, 4 * TaskOp<T>::kWords),
        model_(load_task_model(task_sizes<T>())),
        memory_(model_->data(), config.device),
        ranges_(read_randomize(config.options, model_->data())),
        fields_(model_->data(), memory_.view(), config.num_envs, config.device, with_ranges(config, per_world)),
        op_{fields_.view(),
            make_layout(model_->data(), keep_bits(config)),
            read_options<T>(config.options, &model_->data()),
            book_view(),
            terms_,
            {},
            reinterpret_cast<float*>(words_),
            static_cast<int>(spec_.obs_dim()),
            false} {
    if (config.contact_tap) contacts_ = ContactMemory(config.device, config.num_envs, model_->data().max_contacts);
    op_.tap = contacts_.tap();
    if (!ranges_.empty()) randomize(fields_, ranges_, config.device, config.seed, stream(RngStream::model));
    if (!config.device.is_cuda()) {
      packs_ = std::make_unique<PackStepper>(op_.model, op_.layout, keep_bits(config), kTaskFlagBytes);
      return;
    }
    check_room(model_->data(), config.device, world_memory());
    // PGS spends its time in small loops that end at different times
    shape_ = kernel_shape(config.device, kLanes, world_memory(), !model_->data().pgs);
    kernel_ = SpecialKernel::get(kernel_source(), config.device);
  }
  void reset(const Exec& exec, float* observation, std::uint8_t*) override {
    StepIo io;
    io.observation = observation;
    clear_terms(exec);
    launch(exec, io, true);
  }
  void step(const Exec& exec, const StepIo& io) override { launch(exec, io, false); }
  int num_frames() const override { return model_->data().nbody; }
  void write_frames(const Exec& exec, std::int64_t first, std::int64_t count, Frame* out) const override {
    write_model_frames(exec, op_.model, op_.states, TaskOp<T>::kWords, first, count, out);
  }
  const LoadedModel* model() const override { return model_.get(); }
  ModelState model_state() const override {
    return {op_.states, op_.states + T::kNq, TaskOp<T>::kWords, T::kNq, T::kNv};
  }
  float* xfrc_applied() const override { return fields_.xfrc_applied(); }
  std::vector<ContactRecord> contacts(const Exec& exec, std::int64_t world) const override {
    return contacts_.read(exec, world);
  }
  WorldFields& fields() { return fields_; }

 private:
  static_assert(T::kTerms <= kMaxRewardTerms);
  static constexpr int kBound = dof_bound(T::kNv), kLanes = lanes_for(kBound);

  static unsigned keep_bits(const BatchConfig& config) {
    unsigned keep = T::kKeep;
    if (config.contact_tap) keep |= kKeepContact | kKeepTap;
    if (config.external_forces && (T::kKeep & kKeepContact) != 0) keep |= kKeepCom;  // cfrc_ext tells of both
    return keep;
  }
  std::size_t world_memory() const { return world_bytes<float>(op_.layout) + kTaskFlagBytes; }

  SpecialKernelSource kernel_source() const {
    const std::string includes = std::string("#include \"") + T::kSource + "\"\n#include \"sim/tasks/task_op.h\"\n";
    const std::string type = std::string("TaskOp<") + T::kType + "<float>>";
    return {special_kernel_code(includes, special_source(model_->data(), op_.layout, fields_.view()), type,
                                model_->data().row, shape_),
            T::kName};
  }

  std::vector<std::string> with_ranges(const BatchConfig& config, std::vector<std::string> names) const {
    if (config.external_forces) names.emplace_back(kExternalForces);
    for (const FieldRange& r : ranges_) names.emplace_back(r.field->name);
    return names;
  }

  void launch(const Exec& exec, const StepIo& io, bool first) {
    op_.io = io;
    op_.first = first;
    if (exec.device.is_cuda()) {
      kernel_->launch(exec, num_envs(), shape_, op_);
      return;
    }
    const TaskOp<T> op = op_;
    // steps: packs of worlds first, then what remains, each alone
    const std::int64_t packs = first ? 0 : num_envs() / kPackWorlds, alone = num_envs() - packs * kPackWorlds;
    const auto work = [&](std::int64_t i, std::byte* memory) {
      if (i < packs)
        step_pack(op, i * kPackWorlds, memory);
      else
        op.template run<kBound>(CpuGroup{}, packs * kPackWorlds + i - packs, memory, op.model, op.layout);
    };
    serial_worlds(exec, packs + alone, packs_->bytes(), work, 1);
  }
  void step_pack(const TaskOp<T>& op, std::int64_t world, void* memory) const {
    const CpuGroup g;
    for (int k = 0; k < kPackWorlds; ++k) {
      const World<float> w{static_cast<float*>(packs_->world_memory(memory, k)), op.layout,
                           static_cast<int>(world) + k};
      op.load(g, w, world + k);
      w.counts()[kStatus] = 0;
    }
    packs_->template step<kBound>(memory, static_cast<int>(world), op.options.frame_skip,
                                  T::kForces || tapped(op.layout, op.tap));
    for (int k = 0; k < kPackWorlds; ++k)
      op.template run<kBound, true>(g, world + k, packs_->world_memory(memory, k), op.model, op.layout);
  }

  std::shared_ptr<const LoadedModel> model_;
  ModelMemory<float> memory_;
  std::vector<FieldRange> ranges_;
  WorldFields fields_;
  ContactMemory contacts_;
  TaskOp<T> op_;
  std::shared_ptr<const SpecialKernel> kernel_;  // on a GPU
  KernelShape shape_{};
  std::unique_ptr<const PackStepper> packs_;  // on the CPU
  template <class>
  friend class TaskOnLanes;  // tests/lanes: the operation as a kernel runs it, without a GPU
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
          .resolve = &resolve_task_options<Exact>,
          .robot = &task_robot<Exact>,
          .visual = &task_visual<Exact>};
}

// For a program outside this tree: adds its task.
template <template <class> class Task>
void register_task() {
  register_environment(make_task_entry<Task>());
}

}  // namespace hotloop
