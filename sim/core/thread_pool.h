// A fixed set of threads that split index ranges. The split never reaches a result: every index is computed alone, and
// sums have their own fixed trees, so any number of threads gives the same bits.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "sim/core/device.h"

namespace hotloop {

class ThreadPool {
 public:
  // num_threads counts the calling thread; 0 = one per core this process may use.
  explicit ThreadPool(int num_threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  // Calls task(k) once for each k in [0, count) on any thread and returns when all are done. The first exception thrown
  // by a task is rethrown here. Not reentrant.
  void run(int count, const std::function<void(int)>& task);

 private:
  void work();
  void drain(std::unique_lock<std::mutex>& lock);

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int)>* task_ = nullptr;
  int count_ = 0, next_ = 0, running_ = 0;
  std::exception_ptr failure_;
  bool stop_ = false;
};

// Splits [0, n) into ranges of at least `grain` indices and calls f(begin, end) for each, on the CPU.
template <class F>
void for_ranges(const Exec& exec, std::int64_t n, std::int64_t grain, F f) {
  const std::int64_t threads = exec.pool == nullptr ? 1 : exec.pool->size();
  const std::int64_t parts = std::min<std::int64_t>(threads, std::max<std::int64_t>(1, n / grain));
  if (parts <= 1) {
    if (n > 0) f(std::int64_t{0}, n);
    return;
  }
  exec.pool->run(static_cast<int>(parts), [&](int part) { f(n * part / parts, n * (part + 1) / parts); });
}

// Calls f(i, memory) for each i in [0, n) on the CPU; memory: `bytes` bytes of the calling thread's, 64-byte aligned,
// zero at first. grain: as in for_ranges.
template <class F>
void serial_worlds(const Exec& exec, std::int64_t n, std::size_t bytes, F f, std::int64_t grain = 4) {
  for_ranges(exec, n, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::size_t size = (bytes + 63) / 64 * 64;
    const std::unique_ptr<std::byte, decltype(&std::free)> memory(static_cast<std::byte*>(std::aligned_alloc(64, size)),
                                                                  &std::free);
    if (!memory) throw std::bad_alloc();
    std::memset(memory.get(), 0, size);
    for (std::int64_t i = begin; i < end; ++i) f(i, memory.get());
  });
}

}  // namespace hotloop
