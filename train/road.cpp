#include "train/road.h"

#include "sim/core/error.h"

namespace hotloop {

RoadChoice choose_road(const TrainConfig& config, Device device) {
  if (config.road == "generic") return {};
  if (device.is_cuda()) {
    if (config.road == "fused") throw Error("road fused: is for the CPU, this run is on " + device.str());
    return {};
  }
  if (config.precision == "fp32") return {Road::fused, {}};
  if (config.road == "fused")
    throw Error("road fused: computes in precision fp32 on the CPU, precision is " + config.precision);
  return {Road::generic, "precision " + config.precision + ": the fused road computes in fp32 on the CPU"};
}

const char* road_name(Road road) { return road == Road::fused ? "fused" : "generic"; }

}  // namespace hotloop
