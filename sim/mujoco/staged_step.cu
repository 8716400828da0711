#include "sim/mujoco/staged_step.h"

#include <cstring>

#include "sim/core/error.h"
#include "sim/core/launch.h"
#include "sim/core/value.h"
#include "sim/mujoco/model_kernel.h"
#include "sim/mujoco/pgs_space.h"
#include "sim/mujoco/specialize.h"

namespace hotloop {
namespace {

// Between the batch's arrays and the working sets.
struct ExchangeOp {
  ModelPartArgs args;
  float *qpos, *qvel, *qacc_warmstart, *qacc;
  const float* ctrl;
  bool load;

  SIM_HD void operator()(std::int64_t world) const {
    const World<float> w{args.worlds + world * args.layout.reals, args.layout, static_cast<int>(world)};
    const int nq = args.model.nq, nv = args.model.nv, nu = args.model.nu;
    const auto copy = [&](float* batch, float* own, int length) {
      for (int i = 0; i < length; ++i)
        (load ? own[i] : batch[world * length + i]) = load ? batch[world * length + i] : own[i];
    };
    copy(qpos, w.qpos(), nq);
    copy(qvel, w.qvel(), nv);
    copy(qacc_warmstart, w.qacc_warmstart(), nv);
    if (!load) copy(qacc, w.qacc(), nv);
    if (!load) return;
    for (int i = 0; i < nu; ++i) w.ctrl()[i] = ctrl[world * nu + i];
    w.counts()[kStatus] = 0;
  }
};

struct NamedArray {
  const char* name;
  int at, length;
  bool integers;
};

std::vector<NamedArray> named_arrays(const ModelSizes& s, const WorldLayout& at) {
  std::vector<NamedArray> all;
#define HOTLOOP_NAME(name, elements, from, to, keep) all.push_back({#name, at.name, static_cast<int>(elements), false});
  HOTLOOP_WORLD_REALS(HOTLOOP_NAME)
#undef HOTLOOP_NAME
#define HOTLOOP_NAME(name, elements, from, to, keep) all.push_back({#name, at.name, static_cast<int>(elements), true});
  HOTLOOP_WORLD_INTS(HOTLOOP_NAME)
#undef HOTLOOP_NAME
  return all;
}

// No two arrays share space.
WorldLayout make_apart_layout(const ModelSizes& s) {
  WorldLayout at;
#define HOTLOOP_PLACE(name, elements, from, to, keep) \
  at.name = at.reals;                                 \
  at.reals += (static_cast<int>(elements) + 3) / 4 * 4;  // aligned to 16 bytes
  HOTLOOP_WORLD_REALS(HOTLOOP_PLACE)
  HOTLOOP_WORLD_INTS(HOTLOOP_PLACE)
#undef HOTLOOP_PLACE
  return at;
}

}  // namespace

const char* part_name(StepPart part) {
  constexpr const char* kNames[] = {"kinematics",  "collision", "smooth_forces", "mass_matrix",
                                    "constraints", "solve",     "integrate"};
  return kNames[part];
}

StagedStep::StagedStep(ModelBatch& batch) : batch_(batch), layout_(make_apart_layout(batch.model().data())) {
  const ModelData& m = batch.model().data();
  worlds_ = Buffer<float>(batch.device(), static_cast<std::size_t>(batch.num_worlds()) * layout_.reals);
  if (!batch.device().is_cuda()) return;
  shape_ = kernel_shape(batch.device(), lanes_for(m.bound), 0, false);
  const std::string code =
      special_kernel_code("#include \"sim/mujoco/model_part.h\"\n", special_source(m, layout_, batch.device_model()),
                          "ModelPartArgs", m.row, shape_);
  kernel_ = SpecialKernel::get({code, m.path}, batch.device());
}

int StagedStep::stages() const { return stages_of(batch_.model().data()); }

void StagedStep::run(const Exec& exec, StepPart part, int stage) {
  const ModelPartArgs args{batch_.device_model(), layout_, worlds_.data(), part, stage};
  const auto exchange = [&](bool load) {
    parallel_for(
        exec, batch_.num_worlds(),
        ExchangeOp{args, batch_.qpos(), batch_.qvel(), batch_.qacc_warmstart(), batch_.qacc(), batch_.ctrl(), load});
  };
  if (part == kKinematics && stage == 0) exchange(true);
  const int bound = batch_.model().data().bound;
  if (kernel_ != nullptr)
    kernel_->launch(exec, batch_.num_worlds(), shape_, args);
  else if (bound == 16)
    run_model_part<16>(exec, batch_.num_worlds(), args);
  else if (bound == 32)
    run_model_part<32>(exec, batch_.num_worlds(), args);
  else
    run_model_part<kMaxDofs>(exec, batch_.num_worlds(), args);
  if (part == kIntegrate && stage == stages() - 1) exchange(false);
}

void StagedStep::step(const Exec& exec) {
  for (int stage = 0; stage < stages(); ++stage)
    for (int part = kKinematics; part <= kIntegrate; ++part) run(exec, static_cast<StepPart>(part), stage);
}

std::vector<double> StagedStep::read(const Exec& exec, std::int64_t world, const std::string& name) const {
  std::vector<std::string> known;
  for (const NamedArray& array : named_arrays(batch_.model().data(), layout_)) {
    known.emplace_back(array.name);
    if (name != array.name) continue;
    std::vector<float> words(static_cast<std::size_t>(array.length));
    copy_async(exec, words.data(), Device{}, worlds_.data() + world * layout_.reals + array.at, batch_.device(),
               words.size() * sizeof(float));
    synchronize(exec);
    std::vector<double> values;
    for (const float word : words) {
      std::int32_t integer = 0;
      std::memcpy(&integer, &word, sizeof integer);
      values.push_back(array.integers ? integer : static_cast<double>(word));
    }
    return values;
  }
  throw Error("'" + one_line(name) + "': no array of a world" + suggestion(name, known));
}

}  // namespace hotloop
