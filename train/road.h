// Which code runs a training's networks: the fused road, ours alone (train/fused), or the generic road, LibTorch's
// matrix products (train/generic). Both train the same policies and write the same checkpoints.
#pragma once
#include <cstdint>
#include <string>

#include "sim/core/device.h"
#include "train/config.h"

namespace hotloop {

enum class Road : std::uint8_t { fused, generic };

struct RoadChoice {
  Road road = Road::generic;
  std::string reason;  // why road = auto could not take the faster one; empty where it did, or was not asked to
};

// What config.road means on this device. Error where it asks for a road that cannot run the configuration.
RoadChoice choose_road(const TrainConfig& config, Device device);

const char* road_name(Road road);  // "fused", "generic"

}  // namespace hotloop
