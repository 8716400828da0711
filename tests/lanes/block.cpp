// glibc's checked longjmp takes a jump to another stack for a mistake
#undef _FORTIFY_SOURCE
#include "tests/lanes/block.h"

#include <fmt/format.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <array>
#include <bit>
#include <memory>
#include <string>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace hotloop {
namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10, kGuardBytes = std::size_t{64} << 10;
constexpr int kWarp = 32, kWarps = kMostLanes / kWarp, kIntrinsics = static_cast<int>(Intrinsic::kCount);
constexpr const char* kNames[kIntrinsics] = {"__syncthreads",   "__syncwarp",    "__shfl_sync",
                                             "__shfl_xor_sync", "__ballot_sync", "__any_sync"};

// A stack and a place to go on from. Switches between fibers are jumps: swapcontext makes a system call each time.
struct Fiber {
  jmp_buf place;
  std::byte* stack = nullptr;
  std::size_t bytes = 0;
  void* fake_stack = nullptr;  // the address sanitizer's

  void make_stack() {
    void* memory = mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, kGuardBytes, PROT_NONE) != 0) throw std::bad_alloc();
    stack = static_cast<std::byte*>(memory) + kGuardBytes;
    bytes = kStackBytes;
  }
};

void leave(Fiber& from, const Fiber& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.bytes);
#else
  (void)from, (void)to;
#endif
}
void arrive(Fiber& at, Fiber& from) {
#if defined(__SANITIZE_ADDRESS__)
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(at.fake_stack, &bottom, &bytes);
  if (from.stack == nullptr) {  // the thread's own stack, seen for the first time
    from.stack = static_cast<std::byte*>(const_cast<void*>(bottom));
    from.bytes = bytes;
  }
#else
  (void)at, (void)from;
#endif
}

void jump(Fiber& from, Fiber& to) {
  leave(from, to);
  if (_setjmp(from.place) == 0) _longjmp(to.place, 1);
  arrive(from, to);
}

struct Lane {
  Fiber fiber;
  bool started = false, waiting = false, done = false;
  Intrinsic intrinsic = Intrinsic::syncwarp;
  unsigned mask = 0;
  std::uint64_t value = 0, result = 0;
  int source = 0;
};

class Block {
 public:
  void run(int threads, LaneOrder order, const std::function<void()>& body) {
    if (threads % kWarp != 0 || threads > kMostLanes) throw std::invalid_argument("run_block: no such block");
    body_ = &body;
    threads_ = threads;
    live_ = threads;
    at_block_ = 0;
    random_ = 1;
    parked_ = {};
    for (int i = 0; i < threads; ++i) {
      lanes_[i].waiting = lanes_[i].done = false;
      ready_[i / kWarp] |= 1u << i % kWarp;
    }
    try {
      for (int i = next(order); i >= 0; i = next(order)) resume(i);
      if (live_ > 0) throw LaneError(stuck());
    } catch (...) {  // lanes in the middle of things: they start on fresh fibers
      for (Lane& lane : lanes_) lane.started = false;
      ready_ = {};
      throw;
    }
  }

  int running() const { return running_; }

  std::uint64_t meet(Intrinsic intrinsic, unsigned mask, std::uint64_t value, int source) {
    Lane& lane = lanes_[running_];
    lane.intrinsic = intrinsic;
    lane.mask = mask;
    lane.value = value;
    lane.source = source;
    lane.waiting = true;
    jump(lane.fiber, scheduler_);
    return lane.result;
  }

  // What a lane's fiber does, block after block.
  void live() {
    const int own = running_;
    Lane& lane = lanes_[own];
    arrive(lane.fiber, scheduler_);
    while (true) {
      (*body_)();
      lane.done = true;
      jump(lane.fiber, scheduler_);
    }
  }

 private:
  // A lane that can run, or -1.
  int next(LaneOrder order) {
    const int warps = threads_ / kWarp;
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
    const int turn = order == LaneOrder::shuffled ? static_cast<int>(random_ >> 33) : 0;
    for (int k = 0; k < warps; ++k) {
      const int w = order == LaneOrder::descending ? warps - 1 - k : (k + turn / kWarp) % warps;
      if (ready_[w] == 0) continue;
      if (order == LaneOrder::descending) return kWarp * w + 31 - std::countl_zero(ready_[w]);
      const int first = turn % kWarp;
      return kWarp * w + (std::countr_zero(std::rotr(ready_[w], first)) + first) % kWarp;
    }
    return -1;
  }

  void resume(int i) {
    Lane& lane = lanes_[i];
    ready_[i / kWarp] &= ~(1u << i % kWarp);
    running_ = i;
    leave(scheduler_, lane.fiber);
    if (_setjmp(scheduler_.place) == 0) {
      if (lane.started) _longjmp(lane.fiber.place, 1);
      start(lane);
    }
    arrive(scheduler_, lane.fiber);
    if (lane.done)
      --live_;
    else if (lane.intrinsic == Intrinsic::syncthreads)
      ++at_block_;
    else
      park(i);
    if (at_block_ > 0 && at_block_ == live_) release_block();
  }

  void start(Lane& lane) {
    if (lane.fiber.stack == nullptr) lane.fiber.make_stack();
    lane.started = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = lane.fiber.stack;
    context.uc_stack.ss_size = lane.fiber.bytes;
    context.uc_link = nullptr;
    makecontext(&context, &Block::enter, 0);
    setcontext(&context);
  }
  static void enter();

  unsigned& parked(int warp, Intrinsic intrinsic) { return parked_[warp][static_cast<int>(intrinsic)]; }

  // Does lane j of i's mask wait where lane i does?
  bool together(int i, int j) const {
    const Lane &a = lanes_[i], &b = lanes_[j];
    return b.waiting && a.intrinsic == b.intrinsic && a.mask == b.mask;
  }

  void park(int i) {
    const Lane& lane = lanes_[i];
    const int warp = i / kWarp;
    if ((lane.mask >> i % kWarp & 1) == 0) throw LaneError(fmt::format("{}: is not in its own mask", place(i)));
    unsigned& here = parked(warp, lane.intrinsic);
    here |= 1u << i % kWarp;
    if ((here & lane.mask) != lane.mask) return;
    for (unsigned rest = lane.mask; rest != 0; rest &= rest - 1)
      if (!together(i, kWarp * warp + std::countr_zero(rest))) return;
    release(warp, lane.intrinsic, lane.mask);
  }

  void release(int warp, Intrinsic intrinsic, unsigned mask) {
    const bool shuffles = intrinsic == Intrinsic::shfl || intrinsic == Intrinsic::shfl_xor;
    std::uint64_t votes = 0;
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
      const int i = std::countr_zero(rest);
      if (lanes_[kWarp * warp + i].value != 0) votes |= std::uint64_t{1} << i;
    }
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
      const int i = kWarp * warp + std::countr_zero(rest);
      Lane& lane = lanes_[i];
      if (shuffles && (lane.source < 0 || lane.source >= kWarp || (mask >> lane.source & 1) == 0))
        throw LaneError(fmt::format("{}: takes the value of lane {} of the warp", place(i), lane.source));
      lane.result = shuffles ? lanes_[kWarp * warp + lane.source].value : votes;
      lane.waiting = false;
    }
    parked(warp, intrinsic) &= ~mask;
    ready_[warp] |= mask;
  }

  void release_block() {
    at_block_ = 0;
    for (int i = 0; i < threads_; ++i) {
      if (lanes_[i].done) continue;
      lanes_[i].waiting = false;
      ready_[i / kWarp] |= 1u << i % kWarp;
    }
  }

  std::string place(int i) const {
    const Lane& lane = lanes_[i];
    const char* name = kNames[static_cast<int>(lane.intrinsic)];
    if (lane.intrinsic == Intrinsic::syncthreads) return fmt::format("lane {} at {}", i, name);
    return fmt::format("lane {} at {}({:#010x})", i, name, lane.mask);
  }

  // Whom a lane waits for, one at an intrinsic of its warp before one at a barrier of the block.
  std::string stuck() const {
    int i = 0;
    for (int k = threads_ - 1; k >= 0; --k)
      if (!lanes_[k].done && (lanes_[k].intrinsic != Intrinsic::syncthreads || lanes_[i].done)) i = k;
    const bool block = lanes_[i].intrinsic == Intrinsic::syncthreads;
    for (int k = 0; k < threads_; ++k) {
      const bool wanted = block ? !lanes_[k].done : k / kWarp == i / kWarp && (lanes_[i].mask >> k % kWarp & 1) != 0;
      if (!wanted || together(i, k)) continue;
      return place(i) + " waits for " + (lanes_[k].done ? fmt::format("lane {}, which has returned", k) : place(k));
    }
    return place(i) + " waits";
  }

  const std::function<void()>* body_ = nullptr;
  int threads_ = 0, live_ = 0, at_block_ = 0, running_ = 0;
  std::uint64_t random_ = 1;
  Fiber scheduler_;
  std::array<Lane, kMostLanes> lanes_;
  std::array<unsigned, kWarps> ready_ = {};
  std::array<std::array<unsigned, kIntrinsics>, kWarps> parked_ = {};
};

Block& block() {
  static const std::unique_ptr<Block> only = std::make_unique<Block>();
  return *only;
}

void Block::enter() { block().live(); }

}  // namespace

void run_block(int threads, LaneOrder order, const std::function<void()>& body) { block().run(threads, order, body); }
int running_lane() { return block().running(); }
std::uint64_t meet_lanes(Intrinsic intrinsic, unsigned mask, std::uint64_t value, int source) {
  return block().meet(intrinsic, mask, value, source);
}

}  // namespace hotloop
