#include "train/road.h"

#include "sim/core/error.h"
#include "train/fused/specialize.h"

namespace hotloop {
namespace {

// What the fused road does not take of the configuration; empty where it takes all.
std::string not_taken(const TrainConfig& config, Device device) {
  if (!device.is_cuda())
    return config.precision == "fp32" ? std::string() : "precision " + config.precision + " on the CPU (fp32 is taken)";
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
  const std::string reason = not_taken(config, device);
  if (reason.empty()) return {Road::fused, {}};
  if (config.road == "fused") throw Error("road fused: does not take " + reason);
  if (config.precision == "fp16") throw Error("precision fp16: needs the fused road, which does not take " + reason);
  return {Road::generic, "generic road: the fused road does not take " + reason};
}

const char* road_name(Road road) { return road == Road::fused ? "fused" : "generic"; }

}  // namespace hotloop
