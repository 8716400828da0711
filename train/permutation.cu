#include <algorithm>
#include <vector>

#include "sim/core/launch.h"
#include "train/update_ops.h"

#ifdef HOTLOOP_CUDA
#include <cub/device/device_radix_sort.cuh>
#endif

namespace hotloop {
namespace {

struct KeysOp {
  std::uint64_t seed;
  const Control* control;
  std::int64_t epochs, epoch;
  std::uint32_t* keys;
  SIM_HD void operator()(std::int64_t i) const {
    const std::int64_t step = control->iteration * epochs + epoch;
    keys[i] = Rng(seed, RngStream::permutation, static_cast<std::uint32_t>(i), static_cast<std::uint64_t>(step)).bits();
  }
};

struct IdentityOp {
  std::int32_t* out;
  SIM_HD void operator()(std::int64_t i) const { out[i] = static_cast<std::int32_t>(i); }
};

#ifdef HOTLOOP_CUDA
std::size_t sort_pairs(void* temporary, std::size_t bytes, const std::uint32_t* keys, std::uint32_t* sorted_keys,
                       const std::int32_t* values, std::int32_t* sorted, std::int64_t n, void* stream) {
  SIM_CHECK_CUDA(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, sorted_keys, values, sorted,
                                                 static_cast<int>(n), 0, 32, static_cast<cudaStream_t>(stream)));
  return bytes;
}
#endif

}  // namespace

Permutation::Permutation(Device device, std::int64_t n, std::uint64_t seed)
    : n_(n),
      seed_(seed),
      keys_(device, static_cast<std::size_t>(n)),
      sorted_keys_(device, device.is_cuda() ? static_cast<std::size_t>(n) : 0),
      identity_(device, device.is_cuda() ? static_cast<std::size_t>(n) : 0),
      indices_(device, static_cast<std::size_t>(n)) {
#ifdef HOTLOOP_CUDA
  if (!device.is_cuda()) return;
  const Exec exec{device};
  parallel_for(exec, n, IdentityOp{identity_.data()});
  synchronize(exec);
  temporary_ = Memory(
      device, sort_pairs(nullptr, 0, keys_.data(), sorted_keys_.data(), identity_.data(), indices_.data(), n, nullptr));
#endif
}

void Permutation::fill(const Exec& exec, const Control* control, std::int64_t epochs, std::int64_t epoch) {
  parallel_for(exec, n_, KeysOp{seed_, control, epochs, epoch, keys_.data()});
#ifdef HOTLOOP_CUDA
  if (exec.device.is_cuda()) {
    sort_pairs(temporary_.data(), temporary_.bytes(), keys_.data(), sorted_keys_.data(), identity_.data(),
               indices_.data(), n_, exec.stream);
    return;
  }
#endif
  // equal keys keep the order of their indices, as in the stable radix sort
  std::vector<std::uint64_t> order(static_cast<std::size_t>(n_));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = std::uint64_t{keys_.data()[i]} << 32 | i;
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) indices_.data()[i] = static_cast<std::int32_t>(order[i] & 0xffffffffu);
}

}  // namespace hotloop
