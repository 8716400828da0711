#include "sim/mujoco/model_batch.h"

#include <cmath>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/launch.h"
#include "sim/core/rng.h"
#include "sim/mujoco/frames.h"
#include "sim/mujoco/model_kernel.h"
#include "sim/mujoco/specialize.h"

namespace hotloop {
namespace {

std::int64_t at_least_one(std::int64_t num_worlds) {
  if (num_worlds < 1) throw Error("num_worlds is " + std::to_string(num_worlds) + ", accepted: at least 1");
  return num_worlds;
}

struct NoiseOp {
  float* ctrl;
  int nu;
  float keep, scale;  // ctrl = keep * ctrl + scale * normal
  std::uint64_t step;
  SIM_HD void operator()(std::int64_t world) const {
    Rng rng(0, static_cast<std::uint32_t>(RngStream::action), static_cast<std::uint32_t>(world), step);
    for (int u = 0; u < nu; ++u) ctrl[world * nu + u] = keep * ctrl[world * nu + u] + scale * rng.normal();
  }
};

struct UniformOp {
  float* ctrl;
  int nu;
  Model<float> model;
  std::uint64_t step;
  SIM_HD void operator()(std::int64_t world) const {
    Rng rng(0, static_cast<std::uint32_t>(RngStream::action), static_cast<std::uint32_t>(world), step);
    for (int u = 0; u < nu; ++u) {
      const bool limited = model.actuator_ctrllimited[u] != 0;
      const float low = limited ? model.actuator_ctrlrange[2 * u] : -1.0f;
      const float high = limited ? model.actuator_ctrlrange[2 * u + 1] : 1.0f;
      ctrl[world * nu + u] = rng.uniform(low, high);
    }
  }
};

// A kernel made for the model is instantiated with just its number of dofs; where that keeps matrices in registers
// (linear_solve.h), they need no memory.
ModelSizes kernel_sizes(ModelSizes sizes, bool specialised) {
  if (specialised) sizes.bound = sizes.row;
  return sizes;
}

}  // namespace

ModelBatch::ModelBatch(std::shared_ptr<const LoadedModel> model, std::int64_t num_worlds, Device device,
                       bool specialised, const std::vector<std::string>& per_world, bool contact_tap)
    : model_(std::move(model)),
      num_worlds_(at_least_one(num_worlds)),
      device_(device),
      memory_(model_->data(), device),
      fields_(model_->data(), memory_.view(), num_worlds, device, per_world),
      layout_(make_layout(kernel_sizes(model_->data(), specialised && device.is_cuda()),
                          contact_tap ? kKeepContact | kKeepTap : 0)) {
  if (contact_tap) contacts_ = ContactMemory(device, num_worlds, data().max_contacts);
  check_room(data(), device, working_bytes());
  state_ = Buffer<float>(device, static_cast<std::size_t>(num_worlds) * state_bytes() / sizeof(float));
  if (specialised && device.is_cuda()) {
    shape_ = kernel_shape(device, lanes_for(data().bound), working_bytes(), lanes_for(data().bound) < 32);
    const std::string code =
        special_kernel_code("#include \"sim/mujoco/model_step.h\"\n", special_source(data(), layout_, fields_.view()),
                            "ModelStepArgs", data().row, shape_);
    kernel_ = SpecialKernel::get({code, data().path}, device);
  }
  counters_ = Buffer<std::int32_t>(device, static_cast<std::size_t>(num_worlds) * kModelCounters);
}

std::size_t ModelBatch::working_bytes() const { return world_bytes<float>(layout_); }
std::size_t ModelBatch::state_bytes() const { return sizeof(float) * (data().nq + 3 * data().nv + data().nu); }

void ModelBatch::reset(const Exec& exec) {
  const ModelData& m = data();
  const bool key = !m.key_qpos.empty();
  const auto fill = [&](float* to, const std::vector<double>& row) {
    std::vector<float> all(row.size() * num_worlds_);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(row[i % row.size()]);
    copy_async(exec, to, device_, all.data(), Device{}, all.size() * sizeof(float));
    synchronize(exec);
  };
  fill_async(exec, state_.data(), 0, state_.bytes());
  fill_async(exec, counters_.data(), 0, counters_.bytes());
  fill(qpos(), key ? m.key_qpos[0] : m.qpos0);
  if (key) fill(qvel(), m.key_qvel[0]);
}

void ModelBatch::noise(const Exec& exec, float std, float rate, std::uint64_t step) {
  const float keep = std::exp(-static_cast<float>(data().timestep) / rate);
  parallel_for(exec, num_worlds_, NoiseOp{ctrl(), data().nu, keep, std * std::sqrt(1 - keep * keep), step});
}

void ModelBatch::random_controls(const Exec& exec, std::uint64_t step) {
  parallel_for(exec, num_worlds_, UniformOp{ctrl(), data().nu, fields_.view(), step});
}

void ModelBatch::step(const Exec& exec, int steps) {
  const ModelStepArgs args{fields_.view(), layout_, qpos(),           qvel(), qacc_warmstart(),
                           qacc(),         ctrl(),  counters_.data(), steps,  contacts_.tap()};
  if (kernel_ != nullptr) return kernel_->launch(exec, num_worlds_, shape_, args);
  switch (data().bound) {
    case 16:
      return launch_model_step<16>(exec, num_worlds_, args);
    case 32:
      return launch_model_step<32>(exec, num_worlds_, args);
    default:
      return launch_model_step<kMaxDofs>(exec, num_worlds_, args);
  }
}

void ModelBatch::write_frames(const Exec& exec, std::int64_t first, std::int64_t count, Frame* out) const {
  write_model_frames(exec, fields_.view(), qpos(), data().nq, first, count, out);
}

PhysicsStats ModelBatch::stats(const Exec& exec) {
  std::vector<std::int32_t> host(counters_.size());
  copy_async(exec, host.data(), Device{}, counters_.data(), device_, counters_.bytes());
  synchronize(exec);
  PhysicsStats sum;
  for (std::int64_t w = 0; w < num_worlds_; ++w) {
    const std::int32_t* c = host.data() + kModelCounters * w;
    sum.contacts += c[0];
    sum.rows += c[1];
    sum.iterations += c[2];
    sum.evaluations += c[3];
    sum.overflows += (c[4] & (kContactOverflow | kRowOverflow)) != 0 ? 1 : 0;
    sum.nonfinite += (c[4] & kNonfinite) != 0 ? 1 : 0;
  }
  return sum;
}

}  // namespace hotloop
