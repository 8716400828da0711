#include "sim/core/thread_pool.h"

#include <sched.h>

#include <algorithm>

namespace hotloop {
namespace {

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

ThreadPool::ThreadPool(int num_threads) {
  const int total = num_threads > 0 ? num_threads : usable_cores();
  for (int i = 1; i < total; ++i) threads_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void ThreadPool::drain(std::unique_lock<std::mutex>& lock) {
  while (next_ < count_) {
    const int k = next_++;
    ++running_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      (*task_)(k);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    --running_;
    if (failure && !failure_) failure_ = failure;
  }
}

void ThreadPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || next_ < count_; });
    if (stop_) return;
    drain(lock);
    if (running_ == 0) done_.notify_one();
  }
}

void ThreadPool::run(int count, const std::function<void(int)>& task) {
  if (threads_.empty() || count <= 1) {
    for (int k = 0; k < count; ++k) task(k);
    return;
  }
  std::unique_lock lock(mutex_);
  task_ = &task;
  next_ = 0;
  count_ = count;
  failure_ = nullptr;
  wake_.notify_all();
  drain(lock);
  done_.wait(lock, [this] { return running_ == 0; });
  count_ = next_ = 0;
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace hotloop
