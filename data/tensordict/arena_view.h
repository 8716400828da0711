// The arena of a rollout (data/arena.h) as a TensorDict, without a copy: leaves are views of the arena's memory on its
// device. The arena must outlive every tensor taken from here.
//
//   Arena arena({}, {{"observation", DType::f32, {9, 4, 3}}, {"next/reward", DType::f32, {8, 4, 1}}});
//   TensorDict rollout = view(arena, {8, 4});
//   at::Tensor observation = rollout["observation"];
//   at::Tensor next_observation = rollout["next/observation"];
//
// A leaf "x" with one step more than the batch, [T + 1, N, ...] for batch size [T, N], appears twice: as "x", rows 0 to
// T - 1, and as "next/x", rows 1 to T of the same memory.
#pragma once
#include "data/arena.h"
#include "data/tensordict/tensordict.h"

namespace hotloop {

// Leaves named in `skip` (side tables, counters) are left out; any other that fits neither form is an Error.
TensorDict view(const Arena& arena, const Shape& batch_size, const std::vector<std::string>& skip = {});

// Element types of the two sides. Error for a LibTorch type that the arena has not.
at::ScalarType scalar_type(DType dtype);
DType dtype_of(at::ScalarType type);
at::Device torch_device(Device device);

}  // namespace hotloop
