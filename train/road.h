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
  // On a GPU the fused road has two forms: the whole iteration as one kernel (false), or, for what does not fit that, a
  // kernel for each layer of the networks and each step of the worlds (true), see train/fused/layered_network.h.
  bool layered = false;
  std::string reason;  // why road = auto could not take the faster one; empty where it did, or was not asked to
};

// What config.road means on this device. Error where it asks for a road that cannot run the configuration.
RoadChoice choose_road(const TrainConfig& config, Device device);

// Why these settings cannot be members of one population, as in "<flag>: <reason>"; empty where they can.
std::string why_no_population(const TrainConfig& config, Device device);

const char* road_name(Road road);  // "fused", "generic"

}  // namespace hotloop
