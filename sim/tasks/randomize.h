// Options randomize.FIELD of every task on a model: the field's value in each world is the model's, times a uniform
// draw from the range (body_ipos: plus one). A world is drawn once, by (seed, world), and keeps its values for all its
// episodes, as in Isaac Lab's start-up events and MuJoCo Playground's randomization functions: so a training sees as
// many different robots as it has worlds, a resumed one the same, and an evaluation others.
#pragma once
#include <string>
#include <vector>

#include "sim/core/env.h"
#include "sim/core/value.h"
#include "sim/mujoco/world_fields.h"

namespace hotloop {

struct FieldRange {
  const FieldInfo* field;
  Interval range;
};

std::vector<EnvOptionInfo> randomize_infos();

// The range of every field, as text; those not given leave the model as it is. Other options are passed over. Error
// for an unknown field, and for a range that it does not take.
EnvOptions resolve_randomize(const EnvOptions& given);

// The fields that are randomised. Error also where the model has nothing that the field's range could change.
std::vector<FieldRange> read_randomize(const EnvOptions& given, const ModelData& model);

// Draws every world's values on the device, and waits.
void randomize(WorldFields& fields, const std::vector<FieldRange>& ranges, Device device, std::uint64_t seed,
               std::uint32_t stream);

}  // namespace hotloop
