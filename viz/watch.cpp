#include "viz/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <thread>

#include "sim/core/error.h"
#include "train/progress.h"
#include "viz/source/training_source.h"
#include "viz/ui/view.h"

namespace hotloop {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr double kCardShare = 0.04;   // of its time, below the promised 5 % as measurements of short pictures scatter
constexpr double kHostShare = 0.25;   // of the time where the same processors train and draw
constexpr double kHostSlowest = 0.5;  // [s] a window that never answers helps nobody

// The training's thread: how it ended, once it has.
class Training {
 public:
  Training(const TrainConfig& config, const TrainOptions& options)
      : thread_([this, config, options] {
          try {
            status_ = train_command(config, options);
          } catch (...) {
            failure_ = std::current_exception();
          }
          ended_ = true;
        }) {}
  ~Training() {
    if (thread_.joinable()) thread_.join();
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  bool ended() const { return ended_; }
  bool ended_well() const { return ended_ && status_ == 0 && !failure_; }
  int wait() {
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
    return status_;
  }

 private:
  int status_ = 0;
  std::exception_ptr failure_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;  // last: it uses the others
};

void say_finished(View& view) {
  if (!view.notice.empty()) return;
  view.notice = kTrainingFinished;
  view.say(view.notice);
  fmt::print("{}\n", view.notice);
  std::fflush(stdout);
}

void show(Viewer& viewer, const Training& training, bool on_card) {
  while (!training.ended() || training.ended_well()) {
    const auto start = std::chrono::steady_clock::now();
    if (!viewer.picture()) return;
    if (training.ended()) {
      if (training.ended_well()) say_finished(viewer.view());
      continue;
    }
    const double period = picture_period(1e-3 * viewer.view().stats.gpu_milliseconds, on_card);
    // in small pieces: the end of the training is seen soon
    while (!training.ended() && Seconds(std::chrono::steady_clock::now() - start).count() < period)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace

double picture_period(double gpu_seconds, bool on_card) {
  if (on_card) return gpu_seconds / kCardShare;
  return std::min(gpu_seconds / kHostShare, kHostSlowest);
}

int watch_training(const TrainConfig& config, TrainOptions options, const ViewerOptions& window) {
  if (config.algo == "bc") throw Error("--watch: algo bc learns from a dataset and has no worlds to look at");
  const Device device = parse_device(config.device);
  TrainingSource source(config, device);
  std::optional<Viewer> viewer;
  viewer.emplace(source, window);
  options.observer = &source;
  Training training(config, options);
  // the viewer's trouble is not the training's
  const auto lost = [&](const std::string& why) {
    viewer.reset();
    ProgressLine().message(why +
                           (training.ended() ? "; the window is closed" : "; the training goes on without its window"));
  };
  try {
    show(*viewer, training, device.is_cuda());
    viewer.reset();
    if (!training.ended())
      ProgressLine().message("the window is closed, the training goes on; Ctrl-C stops and saves it");
  } catch (const std::bad_alloc&) {
    lost("no memory for the window");
  } catch (const std::exception& e) {
    lost(e.what());
  }
  return training.wait();
}

}  // namespace hotloop
