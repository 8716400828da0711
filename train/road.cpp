#include "train/road.h"

#include "sim/core/error.h"
#include "train/fused/specialize.h"

namespace hotloop {
namespace {

// Why the fused road cannot run the configuration; empty where it can.
std::string why_not(const TrainConfig& config, Device device) {
  if (!device.is_cuda()) return "is for CUDA devices, this run is on the CPU";
  const EnvEntry& env = find_environment(config.task);
  const PolicySpec policy = make_policy_spec(config, spec_with_options(env, config.env));
  const std::string reason = why_not_fused(config, env, policy, fused_limits(device));
  return reason.empty() ? reason : "does not take " + reason;
}

}  // namespace

RoadChoice choose_road(const TrainConfig& config, Device device) {
  if (config.road != "generic") {
    const std::string reason = why_not(config, device);
    if (reason.empty()) return {Road::fused, {}};
    if (config.road == "fused") throw Error("road fused: " + reason);
    if (config.precision == "fp16") throw Error("precision fp16: needs the fused road, which " + reason);
    return {Road::generic, device.is_cuda() ? "generic road: the fused one " + reason : std::string()};
  }
  if (config.precision == "fp16") throw Error("precision fp16: needs the fused road, road is generic");
  return {};
}

const char* road_name(Road road) { return road == Road::fused ? "fused" : "generic"; }

}  // namespace hotloop
