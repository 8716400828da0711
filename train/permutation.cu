#include "sim/core/launch.h"
#include "train/update_ops.h"

namespace hotloop {
namespace {

struct FillOp {
  std::uint64_t seed;
  const Control* control;
  std::int64_t epochs, epoch, n;
  std::int32_t* out;
  SIM_HD void operator()(std::int64_t block) const {
    // the key costs more than a row: each block of positions makes it once
    const IndexPermutation order(seed, static_cast<std::uint64_t>(control->iteration * epochs + epoch),
                                 static_cast<std::uint32_t>(n));
    const std::int64_t end = (block + 1) * kPositions < n ? (block + 1) * kPositions : n;
    for (std::int64_t i = block * kPositions; i < end; ++i)
      out[i] = static_cast<std::int32_t>(order.row(static_cast<std::uint32_t>(i)));
  }
  static constexpr std::int64_t kPositions = 16;
};

}  // namespace

Permutation::Permutation(Device device, std::int64_t n, std::uint64_t seed)
    : n_(n), seed_(seed), indices_(device, static_cast<std::size_t>(n)) {}

void Permutation::fill(const Exec& exec, const Control* control, std::int64_t epochs, std::int64_t epoch) {
  parallel_for(exec, (n_ + FillOp::kPositions - 1) / FillOp::kPositions,
               FillOp{seed_, control, epochs, epoch, n_, indices_.data()});
}

}  // namespace hotloop
