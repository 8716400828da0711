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

// How a product finds an operand that begins at `address` of a matrix with so many rows (panel.h). Its sums run along
// the rows or, if kDown, down the columns.
template <bool kDown>
__device__ __forceinline__ std::uint64_t operand_at(unsigned address, int rows) {
  const std::uint64_t eight_rows = 8, eight_columns = static_cast<std::uint64_t>(rows);  // [16 bytes]
  return static_cast<std::uint64_t>((address & 0x3ffff) / 16) | (kDown ? eight_rows : eight_columns) << 16 |
         (kDown ? eight_columns : eight_rows) << 32;
}

// The same operand so many bytes further on.
__device__ __forceinline__ constexpr std::uint64_t operand_after(std::uint64_t operand, int bytes) {
  return operand + static_cast<std::uint64_t>(bytes / 16);
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

#define HOTLOOP_SUMS_128                                                                                 \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "     \
  "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, " \
  "%41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, " \
  "%61, %62, %63}, "

#define HOTLOOP_SUMS_256                                                                                 \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "     \
  "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, " \
  "%41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, " \
  "%61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, " \
  "%81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, "      \
  "%100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, "     \
  "%116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "

#define HOTLOOP_BIND_4(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3])
#define HOTLOOP_BIND_8(i) HOTLOOP_BIND_4(i), HOTLOOP_BIND_4(i + 4)
#define HOTLOOP_BIND_16(i) HOTLOOP_BIND_8(i), HOTLOOP_BIND_8(i + 8)
#define HOTLOOP_BIND_32(i) HOTLOOP_BIND_16(i), HOTLOOP_BIND_16(i + 16)
#define HOTLOOP_BIND_64(i) HOTLOOP_BIND_32(i), HOTLOOP_BIND_32(i + 32)
#define HOTLOOP_BIND_128(i) HOTLOOP_BIND_64(i), HOTLOOP_BIND_64(i + 64)

// The product of a warpgroup, M = 64: c += left * right, or c = ... unless `add`. _SHARED: both operands lie in shared
// memory; _HELD: the left one in registers.
#define HOTLOOP_PRODUCT_SHARED(kN, kType, kLeft, kRight, kAdd, kTurnLeft, kTurnRight, kBind)                           \
  asm volatile("{.reg .pred add; setp.ne.b32 add, " kAdd ", 0; wgmma.mma_async.sync.aligned.m64n" #kN "k16.f32." kType \
               "." kType " " HOTLOOP_SUMS_##kN kLeft ", " kRight ", add, 1, 1, " kTurnLeft ", " kTurnRight ";}"        \
               : kBind                                                                                                 \
               : "l"(left), "l"(right), "r"(static_cast<int>(add)), "n"(int{kLeftDown}), "n"(int{kRightDown}))
#define HOTLOOP_PRODUCT_HELD(kN, kType, kLeft, kRight, kAdd, kTurnRight, kBind)                                        \
  asm volatile("{.reg .pred add; setp.ne.b32 add, " kAdd ", 0; wgmma.mma_async.sync.aligned.m64n" #kN "k16.f32." kType \
               "." kType " " HOTLOOP_SUMS_##kN "{" kLeft "}, " kRight ", add, 1, 1, " kTurnRight ";}"                  \
               : kBind                                                                                                 \
               : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right), "r"(static_cast<int>(add)),       \
                 "n"(int{kRightDown}))

#define HOTLOOP_PRODUCTS_SHARED(kType)                                                                                \
  if constexpr (kN == 16) HOTLOOP_PRODUCT_SHARED(16, kType, "%8", "%9", "%10", "%11", "%12", HOTLOOP_BIND_8(0));      \
  if constexpr (kN == 128) HOTLOOP_PRODUCT_SHARED(128, kType, "%64", "%65", "%66", "%67", "%68", HOTLOOP_BIND_64(0)); \
  if constexpr (kN == 256)                                                                                            \
  HOTLOOP_PRODUCT_SHARED(256, kType, "%128", "%129", "%130", "%131", "%132", HOTLOOP_BIND_128(0))
#define HOTLOOP_PRODUCTS_HELD(kType)                                                                                   \
  if constexpr (kN == 16) HOTLOOP_PRODUCT_HELD(16, kType, "%8, %9, %10, %11", "%12", "%13", "%14", HOTLOOP_BIND_8(0)); \
  if constexpr (kN == 32)                                                                                              \
    HOTLOOP_PRODUCT_HELD(32, kType, "%16, %17, %18, %19", "%20", "%21", "%22", HOTLOOP_BIND_16(0));                    \
  if constexpr (kN == 128)                                                                                             \
    HOTLOOP_PRODUCT_HELD(128, kType, "%64, %65, %66, %67", "%68", "%69", "%70", HOTLOOP_BIND_64(0));                   \
  if constexpr (kN == 256)                                                                                             \
  HOTLOOP_PRODUCT_HELD(256, kType, "%128, %129, %130, %131", "%132", "%133", "%134", HOTLOOP_BIND_128(0))

// c (64 x kN) = left * right, plus c if `add`, over 16 numbers of the depth. Thread t of the warpgroup holds of c the
// columns 8 * j + t % 4 * 2 and the next of rows t / 32 * 16 + t % 32 / 4 (c[4 * j], c[4 * j + 1]) and 8 more (c[4 * j
// + 2], c[4 * j + 3]).
template <class T, int kN, bool kLeftDown, bool kRightDown>
__device__ __forceinline__ void group_product(float (&c)[kN / 2], std::uint64_t left, std::uint64_t right, bool add) {
  static_assert(kN == 16 || kN == 128 || kN == 256);
  if constexpr (std::is_same_v<T, Fp16Bits>) {
    HOTLOOP_PRODUCTS_SHARED("f16");
  } else {
    HOTLOOP_PRODUCTS_SHARED("bf16");
  }
}
// The same of a left operand that threads hold: of its rows as of those of c, of its columns the pairs t % 4 * 2
// (left[0] and, 8 rows further down, left[1]) and 8 more (left[2], left[3]). So the pairs of two eights of columns as
// products leave them are the next product's operand.
template <class T, int kN, bool kRightDown>
__device__ __forceinline__ void held_product(float (&c)[kN / 2], const std::uint32_t* left, std::uint64_t right,
                                             bool add) {
  static_assert(kN == 16 || kN == 32 || kN == 128 || kN == 256);
  if constexpr (std::is_same_v<T, Fp16Bits>) {
    HOTLOOP_PRODUCTS_HELD("f16");
  } else {
    HOTLOOP_PRODUCTS_HELD("bf16");
  }
}
#undef HOTLOOP_PRODUCTS_SHARED
#undef HOTLOOP_PRODUCTS_HELD
#undef HOTLOOP_PRODUCT_SHARED
#undef HOTLOOP_PRODUCT_HELD
#undef HOTLOOP_BIND_4
#undef HOTLOOP_BIND_8
#undef HOTLOOP_BIND_16
#undef HOTLOOP_BIND_32
#undef HOTLOOP_BIND_64
#undef HOTLOOP_BIND_128
#undef HOTLOOP_SUMS_16
#undef HOTLOOP_SUMS_32
#undef HOTLOOP_SUMS_128
#undef HOTLOOP_SUMS_256

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
// Between writes of shared memory by this thread and reads of it by products and bulk stores.
__device__ __forceinline__ void show_to_engines() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
}  // namespace hotloop
