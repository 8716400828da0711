#include "train/road.h"

#include "sim/core/error.h"
#include "train/fused/specialize.h"

namespace hotloop {
namespace {

// Why one kernel cannot do a GPU's whole iteration; empty where it can.
std::string not_in_one_kernel(const TrainConfig& config, Device device) {
  const EnvEntry& env = find_environment(config.task);
  const PolicySpec policy = make_policy_spec(config, spec_with_options(env, config.env));
  return why_not_fused(config, env, policy, fused_limits(device));
}

}  // namespace

RoadChoice choose_road(const TrainConfig& config, Device device) {
  if (config.road == "generic") {
    if (config.precision == "fp16") throw Error("precision fp16: needs the fused road, road is generic");
    return {};
  }
  std::string reason;
  if (!device.is_cuda()) {
    if (config.precision == "fp32") return {Road::fused, false, {}};
    reason = "precision " + config.precision + " on the CPU (fp32 is taken)";
  } else {
    reason = not_in_one_kernel(config, device);
    if (reason.empty()) return {Road::fused, false, {}};
    if (config.precision == "fp16" || config.precision == "bf16") return {Road::fused, true, {}};
    reason += " in " + config.precision + " (fp16 and bf16 take all)";
  }
  if (config.road == "fused") throw Error("road fused: does not take " + reason);
  if (config.precision == "fp16") throw Error("precision fp16: needs the fused road, which does not take " + reason);
  return {Road::generic, false, "generic road: the fused road does not take " + reason};
}

std::string why_no_population(const TrainConfig& config, Device device) {
  if (config.road == "generic") return "needs the fused road, road is generic";
  TrainConfig fused = config;
  fused.road = "fused";
  try {
    if (!choose_road(fused, device).layered) return {};
  } catch (const Error& e) {
    return e.what();
  }
  return "needs iterations of one kernel, which does not take " + not_in_one_kernel(config, device);
}

const char* road_name(Road road) { return road == Road::fused ? "fused" : "generic"; }

}  // namespace hotloop
