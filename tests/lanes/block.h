// Plays the lanes of a block of CUDA threads on one CPU thread: every lane is a fiber that runs until it meets others
// at an intrinsic. A lane that waits for one that never comes is an error; so is a race between lanes wherever its
// outcome depends on the order in which they run.
#pragma once
#include <cstdint>
#include <functional>
#include <stdexcept>

namespace hotloop {

// Which of the lanes that can run is next.
enum class LaneOrder { ascending, descending, shuffled };
inline constexpr LaneOrder kLaneOrders[] = {LaneOrder::ascending, LaneOrder::descending, LaneOrder::shuffled};

// Lanes that cannot go on: the message names a lane, its intrinsic, and the lane that it waits for.
struct LaneError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Calls body() on each of `threads` lanes (whole warps, at most kMostLanes). Throws LaneError.
inline constexpr int kMostLanes = 256;
void run_block(int threads, LaneOrder order, const std::function<void()>& body);

// ---- for the intrinsics --------------------------------------------------------------------------------------------

enum class Intrinsic { syncthreads, syncwarp, shfl, shfl_xor, ballot, any, kCount };

// The number of the lane that runs.
int running_lane();

// Waits until all lanes of `mask` (of the lane's warp; syncthreads: all lanes of the block that have not returned) are
// at this intrinsic. Shuffles return the value of lane `source` of the warp, the others one bit for each lane of the
// mask whose value is not zero.
std::uint64_t meet_lanes(Intrinsic intrinsic, unsigned mask, std::uint64_t value = 0, int source = 0);

}  // namespace hotloop
