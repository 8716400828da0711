// Work handed to a thread of its own, a few items ahead of it: whoever makes them and whoever writes them go on side by
// side. Items that are done come back to be filled again, so that their memory is asked for once.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace hotloop {

template <class Item>
class WorkQueue {
 public:
  // work: empties an item, on the thread. At most `ahead` items wait for it.
  WorkQueue(std::size_t ahead, std::function<void(Item&)> work)
      : ahead_(ahead), work_(std::move(work)), thread_([this] { run(); }) {}
  // What was not worked on stays so.
  ~WorkQueue() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Takes the item and leaves an empty one. Throws what the work on an earlier one has thrown.
  void push(Item& item) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || queue_.size() < ahead_; });
    if (failure_) std::rethrow_exception(failure_);
    queue_.push_back(std::exchange(item, {}));
    if (!free_.empty()) {
      item = std::move(free_.back());
      free_.pop_back();
    }
    changed_.notify_all();
  }
  // All is done then, or has failed: throws. More may follow.
  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || (queue_.empty() && !busy_); });
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (stop_) return;
      Item item = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      lock.unlock();
      changed_.notify_all();
      std::exception_ptr failure;
      try {
        work_(item);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      busy_ = false;
      free_.push_back(std::move(item));
      failure_ = failure;
      changed_.notify_all();
      if (failure_) return;
    }
  }

  std::size_t ahead_;
  std::function<void(Item&)> work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  std::vector<Item> free_;
  bool stop_ = false, busy_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace hotloop
