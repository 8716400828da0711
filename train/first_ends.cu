#include "train/first_ends.h"

#include "sim/core/launch.h"

namespace hotloop {
namespace {

struct RecordOp {
  const std::uint8_t *terminated, *truncated;
  const std::int32_t* first_length;
  EpisodeEnd* ends;

  SIM_HD void operator()(std::int64_t w) const {
    if (ends[w] != EpisodeEnd::playing || (terminated[w] | truncated[w]) == 0) return;
    // the batch books no episode that turned non-finite, so at its end there is no first one yet
    if (first_length[w] == 0)
      ends[w] = EpisodeEnd::non_finite;
    else
      ends[w] = terminated[w] != 0 ? EpisodeEnd::terminated : EpisodeEnd::truncated;
  }
};

}  // namespace

void FirstEnds::record(const Exec& exec, const Batch& batch, const StepIo& io) {
  parallel_for(exec, batch.num_envs(), RecordOp{io.terminated, io.truncated, batch.first_length(), ends_.data()});
}

}  // namespace hotloop
