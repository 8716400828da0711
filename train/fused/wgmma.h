// Hopper's own instructions (compute capability 9.0, compiled for sm_90a): products of a warpgroup whose operands lie
// in shared memory, bulk copies, and the barriers that these report to. The formats are those of the PTX ISA, "Matrix
// multiply-accumulate for warpgroups".
#pragma once
#include <cstdint>
#include <type_traits>

#include "sim/core/hd.h"
#include "train/fused/number.h"
#include "train/fused/panel.h"

namespace hotloop {

// How a product finds an operand of panels that begins at `address`. across: bytes from one panel to the next, of an
// operand wider than one whose sums run down its columns; others do not read it.
__device__ __forceinline__ std::uint64_t operand_at(unsigned address, int across = 16) {
  constexpr std::uint64_t kEightRows = 8 * kPanelRowBytes / 16, kExchanged = 1;
  return static_cast<std::uint64_t>((address & 0x3ffff) / 16) | static_cast<std::uint64_t>(across / 16) << 16 |
         kEightRows << 32 | kExchanged << 62;
}

// Registers of accumulators may be read after wait_products and used by products after open_products.
__device__ __forceinline__ void open_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void close_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until all but the last kOpen groups are done.
template <int kOpen>
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kOpen) : "memory");
}

#define HOTLOOP_SUMS_16 "{%0, %1, %2, %3, %4, %5, %6, %7}, "

#define HOTLOOP_SUMS_32 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "

#define HOTLOOP_SUMS_64                                                                                   \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "

#define HOTLOOP_SUMS_128                                                                                  \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "  \
  "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "  \
  "%62, %63}, "

#define HOTLOOP_BIND_4(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3])
#define HOTLOOP_BIND_8(i) HOTLOOP_BIND_4(i), HOTLOOP_BIND_4(i + 4)
#define HOTLOOP_BIND_16(i) HOTLOOP_BIND_8(i), HOTLOOP_BIND_8(i + 8)
#define HOTLOOP_BIND_32(i) HOTLOOP_BIND_16(i), HOTLOOP_BIND_16(i + 16)
#define HOTLOOP_BIND_64(i) HOTLOOP_BIND_32(i), HOTLOOP_BIND_32(i + 32)

// The product of a warpgroup, M = 64: c += left * right, or c = ... unless `add`.
#define HOTLOOP_PRODUCT(kN, kType, kLeft, kRight, kAdd, kTurnLeft, kTurnRight, kBind)                                  \
  asm volatile("{.reg .pred add; setp.ne.b32 add, " kAdd ", 0; wgmma.mma_async.sync.aligned.m64n" #kN "k16.f32." kType \
               "." kType " " HOTLOOP_SUMS_##kN kLeft ", " kRight ", add, 1, 1, " kTurnLeft ", " kTurnRight ";}"        \
               : kBind                                                                                                 \
               : "l"(left), "l"(right), "r"(static_cast<int>(add)), "n"(int{kLeftDown}), "n"(int{kRightDown}))

#define HOTLOOP_PRODUCTS(kType)                                                                              \
  if constexpr (kN == 16) HOTLOOP_PRODUCT(16, kType, "%8", "%9", "%10", "%11", "%12", HOTLOOP_BIND_8(0));    \
  if constexpr (kN == 32) HOTLOOP_PRODUCT(32, kType, "%16", "%17", "%18", "%19", "%20", HOTLOOP_BIND_16(0)); \
  if constexpr (kN == 64) HOTLOOP_PRODUCT(64, kType, "%32", "%33", "%34", "%35", "%36", HOTLOOP_BIND_32(0)); \
  if constexpr (kN == 128) HOTLOOP_PRODUCT(128, kType, "%64", "%65", "%66", "%67", "%68", HOTLOOP_BIND_64(0))

// c (64 x kN) = left * right, plus c if `add`, over 16 numbers of the depth. Thread t of the warpgroup holds of c the
// columns 8 * j + t % 4 * 2 and the next of rows t / 32 * 16 + t % 32 / 4 (c[4 * j], c[4 * j + 1]) and 8 more (c[4 * j
// + 2], c[4 * j + 3]). An operand's sums run along its rows or, if k..Down, down its columns.
template <class T, int kN, bool kLeftDown, bool kRightDown>
__device__ __forceinline__ void group_product(float (&c)[kN / 2], std::uint64_t left, std::uint64_t right, bool add) {
  static_assert(kN == 16 || kN == 32 || kN == 64 || kN == 128);
  if constexpr (std::is_same_v<T, Fp16Bits>) {
    HOTLOOP_PRODUCTS("f16");
  } else {
    HOTLOOP_PRODUCTS("bf16");
  }
}
#undef HOTLOOP_PRODUCTS
#undef HOTLOOP_PRODUCT
#undef HOTLOOP_BIND_4
#undef HOTLOOP_BIND_8
#undef HOTLOOP_BIND_16
#undef HOTLOOP_BIND_32
#undef HOTLOOP_BIND_64
#undef HOTLOOP_SUMS_16
#undef HOTLOOP_SUMS_32
#undef HOTLOOP_SUMS_64
#undef HOTLOOP_SUMS_128

// A barrier in shared memory: a phase ends when so many arrivals and all announced bytes have come.
__device__ __forceinline__ void barrier_init(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Before other threads, and the copies, see barriers that were just made.
__device__ __forceinline__ void barrier_init_done() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void barrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void barrier_expect(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Until the phase of this parity has ended.
__device__ __forceinline__ void barrier_wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{.reg .pred done; again%=: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1; @!done bra again%=;}" ::"r"(
          barrier),
      "r"(parity)
      : "memory");
}

// Bulk copies; all addresses and sizes are multiples of 16 bytes. One thread starts each.
__device__ __forceinline__ void bulk_load(unsigned to, const void* from, int bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
__device__ __forceinline__ void bulk_store(void* to, unsigned from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void close_bulk_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Until shared memory that this thread's stores read may be written again.
__device__ __forceinline__ void wait_bulk_reads() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
// Until this thread's stores have arrived.
__device__ __forceinline__ void wait_bulk_stores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
// Between writes of shared memory by this thread and reads of it by products and bulk stores.
__device__ __forceinline__ void show_to_engines() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
}  // namespace hotloop
