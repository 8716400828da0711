#include <array>
#include <utility>

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

// Indices in the order of their keys, equal ones in their own, as the GPU's sort leaves them. Keys and indices move
// between a and b; the last pass ends in b.
void sort_on_cpu(std::int64_t n, std::uint32_t* keys_a, std::uint32_t* keys_b, std::int32_t* indices_a,
                 std::int32_t* indices_b) {
  constexpr int kBits = 11, kPasses = 3;  // 33 bits in all
  constexpr std::uint32_t kMask = (1u << kBits) - 1;
  for (int pass = 0; pass < kPasses; ++pass) {
    const int shift = pass * kBits;
    std::array<std::int64_t, kMask + 1> at{};
    for (std::int64_t i = 0; i < n; ++i) ++at[keys_a[i] >> shift & kMask];
    std::int64_t before = 0;
    for (std::int64_t& count : at) before += std::exchange(count, before);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t to = at[keys_a[i] >> shift & kMask]++;
      keys_b[to] = keys_a[i];
      indices_b[to] = pass == 0 ? static_cast<std::int32_t>(i) : indices_a[i];
    }
    std::swap(keys_a, keys_b);
    std::swap(indices_a, indices_b);
  }
}

}  // namespace

Permutation::Permutation(Device device, std::int64_t n, std::uint64_t seed)
    : n_(n),
      seed_(seed),
      keys_(device, static_cast<std::size_t>(n)),
      sorted_keys_(device, static_cast<std::size_t>(n)),
      identity_(device, static_cast<std::size_t>(n)),
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
  // identity_ is only the sort's other buffer here
  sort_on_cpu(n_, keys_.data(), sorted_keys_.data(), identity_.data(), indices_.data());
}

}  // namespace hotloop
