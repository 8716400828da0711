// What one iteration of the fused kernel has to do, phase by phase: the operations of its networks, and the bytes that
// blocks read and write outside their multiprocessors. Counted from sizes, without padding, not measured.
#pragma once
#include <array>

#include "train/fused/args.h"
#include "train/fused/specialize.h"

namespace hotloop {

struct PhaseWork {
  double flops = 0;  // a multiply-add counts as two
  double bytes = 0;
};
std::array<PhaseWork, static_cast<std::size_t>(FusedPhase::count)> fused_work(const TrainConfig& config,
                                                                              const PolicySpec& policy,
                                                                              const FusedShape& shape);

// The most that the card can do in a second, at its highest clock; 0 where that is not known.
struct CardLimits {
  double flops = 0;  // of the precision's multiply-adds: on tensor cores, or in fp32
  double bytes = 0;  // of its memory; what stays in the cache may be more
};
CardLimits card_limits(Device device, const std::string& precision);

}  // namespace hotloop
