// How weights and panels come to a block's shared memory ahead of the products that read them.
#pragma once
#include "train/fused/wgmma.h"

namespace hotloop {

// Stages of shared memory that bulk copies fill in turn and warpgroups empty in turn.
struct StageRing {
  unsigned memory, barriers;  // two barriers a stage: full, empty
  int bytes, stages;
  int stage = 0;
  unsigned parity = 0;
  unsigned held = 0;  // `empty` of the stage that products may still read

  __device__ __forceinline__ void init(int readers) const {
    for (int s = 0; s < stages; ++s) {
      barrier_init(barriers + 16 * s, 1);
      barrier_init(barriers + 16 * s + 8, readers);
    }
    barrier_init_done();
  }
  __device__ __forceinline__ unsigned full() const { return barriers + 16 * stage; }
  __device__ __forceinline__ unsigned empty() const { return full() + 8; }
  __device__ __forceinline__ void next() {
    if (++stage == stages) stage = 0, parity ^= 1;
  }
  // copy(to, full): starts copies of `size` bytes in all.
  template <class F>
  __device__ __forceinline__ void fill(int size, const F& copy) {
    barrier_wait(empty(), parity ^ 1);
    barrier_expect(full(), size);
    copy(memory + stage * bytes, full());
    next();
  }
  // multiply(from): queues products that read the next stage.
  template <class F>
  __device__ __forceinline__ void use(const F& multiply) {
    barrier_wait(full(), parity);
    open_products();
    multiply(memory + stage * bytes);
    close_products();
    wait_products<1>();
    give_back();
    held = empty();
    next();
  }
  __device__ __forceinline__ void drain() {
    wait_products<0>();
    give_back();
    held = 0;
  }
  __device__ __forceinline__ void give_back() const {
    if (held != 0 && threadIdx.x % 32 == 0) barrier_arrive(held);
  }
};

}  // namespace hotloop
