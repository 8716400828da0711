// A fixed set of threads that split index ranges. The split never reaches a result: every index is computed alone, and
// sums have their own fixed trees, so any number of threads gives the same bits.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

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

}  // namespace hotloop
