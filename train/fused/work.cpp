#include "train/fused/work.h"

namespace hotloop {
namespace {

// Multiply-adds of one row through `layers`; without the first layer where `inner`.
double multiply_adds(const std::vector<LayerSpec>& layers, bool inner = false) {
  double sum = 0;
  for (std::size_t l = inner ? 1 : 0; l < layers.size(); ++l)
    sum += static_cast<double>(layers[l].in) * static_cast<double>(layers[l].out);
  return sum;
}

// Dense multiply-adds with fp32 sums of one multiprocessor in a clock (NVIDIA's architecture whitepapers).
double tensor_rate(int major, int minor) {
  if (major == 9) return 2048;
  if (major == 8) return minor == 0 ? 1024 : 256;
  return 0;
}
double fp32_rate(int major, int minor) { return major == 8 && minor == 0 ? 64 : (major >= 8 ? 128 : 0); }

}  // namespace

std::array<PhaseWork, static_cast<std::size_t>(FusedPhase::count)> fused_work(const TrainConfig& config,
                                                                              const PolicySpec& policy,
                                                                              const FusedShape& shape) {
  std::array<PhaseWork, static_cast<std::size_t>(FusedPhase::count)> work;
  const auto at = [&](FusedPhase phase) -> PhaseWork& { return work[static_cast<std::size_t>(phase)]; };
  const auto worlds = static_cast<double>(config.num_envs), steps = worlds * static_cast<double>(config.num_steps);
  const auto epochs = static_cast<double>(config.update_epochs);
  const double minibatches = epochs * static_cast<double>(config.num_minibatches);
  const double record = 4.0 * shape.record, parameters = 4.0 * static_cast<double>(policy.num_parameters);
  const bool shared = !policy.trunk.empty();
  const double trunk = multiply_adds(policy.trunk), actor = multiply_adds(policy.actor),
               critic = multiply_adds(policy.critic);
  // heads on a trunk read its outputs: their first layer has a gradient to pass on
  const double passed_on =
      multiply_adds(policy.trunk, true) + multiply_adds(policy.actor, !shared) + multiply_adds(policy.critic, !shared);

  at(FusedPhase::start).bytes = parameters * shape.blocks;
  at(FusedPhase::rollout) = {2 * steps * (trunk + actor), steps * (record + 5)};
  at(FusedPhase::values) = {2 * (steps + worlds) * (trunk + critic),
                            steps * (4.0 * static_cast<double>(policy.obs_dim) + 4)};
  at(FusedPhase::advantages).bytes = steps * (9 + 12) + epochs * steps * 4;
  at(FusedPhase::tiles) = {2 * epochs * steps * (2 * (trunk + actor + critic) + passed_on),
                           epochs * steps * record + minibatches * parameters * shape.partials};
  at(FusedPhase::reduce).bytes = minibatches * parameters * (shape.partials + 1);
  at(FusedPhase::adam).bytes = minibatches * parameters * 7;
  at(FusedPhase::load).bytes = minibatches * parameters * shape.blocks;
  return work;
}

CardLimits card_limits(Device device, const std::string& precision) {
  const CudaDeviceInfo card = cuda_device_info(device.index);
  const double rate = precision == "fp32" ? fp32_rate(card.major, card.minor) : tensor_rate(card.major, card.minor);
  return {2 * rate * card.sm_count * card.clock_hz, card.memory_bytes_per_second};
}

}  // namespace hotloop
