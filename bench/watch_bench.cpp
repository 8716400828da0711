#include "bench/watch_bench.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>

#include "bench/bench.h"
#include "train/trainer.h"
#include "viz/gl/context.h"
#include "viz/gl/frame_buffer.h"
#include "viz/gl/objects.h"
#include "viz/headless.h"
#include "viz/source/training_source.h"
#include "viz/watch.h"

namespace hotloop {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kWindows = 5;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Draws the worlds of a training until it is stopped, on a thread of its own.
class Drawing {
 public:
  Drawing(TrainingSource& source, bool leaves) : source_(source), leaves_(leaves), thread_([this] { run(); }) {}
  ~Drawing() {
    stop_ = true;
    thread_.join();
  }
  Drawing(const Drawing&) = delete;
  Drawing& operator=(const Drawing&) = delete;

  // Its programs are made. Error where it could not draw.
  bool ready() const {
    if (failed_) std::rethrow_exception(failure_);
    return ready_;
  }
  std::int64_t frames() const { return frames_; }

 private:
  void run() {
    try {
      draw();
    } catch (...) {
      failure_ = std::current_exception();
      failed_ = true;
    }
  }
  void draw() {
    const Device device = source_.info().device;
    const HeadlessContext context(device.is_cuda() ? device.index : -1);
    const std::int64_t worlds = source_.info().num_worlds;
    FrameBuffer buffer(source_.visual().num_frames(), worlds, device);
    Scene scene(source_.visual(), scene_quality(Quality::automatic));
    RenderTarget picture(1);
    const int width = is_software_gl() ? 1280 : 1920, height = is_software_gl() ? 720 : 1080;
    picture.resize(width, height);
    WorldGrid grid;
    grid.count = worlds;
    const Camera camera = grid_camera(source_.visual(), grid);
    std::vector<float> numbers;
    auto start = Clock::now();
    while (!stop_) {
      source_.pass(seconds_since(start));
      start = Clock::now();
      if (leaves_) source_.read_observations(numbers);
      buffer.update(source_, 0, worlds);
      scene.draw(buffer, grid, camera, {}, {}, {picture.framebuffer(), width, height});
      glFlush();
      ++frames_;
      ready_ = frames_ > 3;
      const double period = picture_period(1e-3 * scene.stats().gpu_milliseconds, device.is_cuda());
      while (!stop_ && seconds_since(start) < std::max(period, 1.0 / 60))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    glFinish();
  }

  TrainingSource& source_;
  bool leaves_;
  std::atomic<bool> stop_ = false, ready_ = false, failed_ = false;
  std::atomic<std::int64_t> frames_ = 0;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses the others
};

// Steps/s of a training over one window.
double rate_of(Trainer& trainer, TrainObserver* observer, std::int64_t steps, double seconds) {
  std::int64_t iterations = 0;
  const auto start = Clock::now();
  while (iterations == 0 || seconds_since(start) < seconds) {
    const std::int64_t at_once = trainer.most_at_once();  // less from the first look at a rollout on
    trainer.enqueue(at_once);
    iterations += at_once;
    if (observer != nullptr) observer->queued();
    while (trainer.poll()) {
    }
    while (trainer.in_flight() + at_once > trainer.depth()) trainer.wait();
  }
  while (trainer.in_flight() > 0) trainer.wait();
  return static_cast<double>(iterations * steps) / seconds_since(start);
}

}  // namespace

std::vector<BenchResult> bench_watch(const TrainConfig& config, double seconds) {
  const EnvEntry& env = find_environment(config.task);
  const Device device = parse_device(config.device);
  const std::int64_t steps = config.num_envs * config.num_steps;
  const std::unique_ptr<Trainer> plain = make_trainer(config, env, device);
  rate_of(*plain, nullptr, steps, seconds / 2);
  const std::string name = fmt::format("watch.{}.{}x{}.{}.{}", config.task, config.num_envs, config.num_steps,
                                       config.precision, road_name(plain->road()));
  std::vector<BenchResult> results;
  for (const bool leaves : {false, true}) {
    const std::unique_ptr<Trainer> shown = make_trainer(config, env, device);
    TrainingSource source(config, device);
    source.started({config, *shown, {}, 1});
    rate_of(*shown, &source, steps, seconds / 2);
    std::vector<double> alone, watched, ratios, pictures;
    for (int window = 0; window < kWindows; ++window) {
      alone.push_back(rate_of(*plain, nullptr, steps, seconds));
      Drawing drawing(source, leaves);
      do rate_of(*shown, &source, steps, seconds / 4);
      while (!drawing.ready());
      const std::int64_t before = drawing.frames();
      const auto start = Clock::now();
      watched.push_back(rate_of(*shown, &source, steps, seconds));
      pictures.push_back(static_cast<double>(drawing.frames() - before) / seconds_since(start));
      ratios.push_back(watched.back() / alone.back());
    }
    source.ended();
    const std::string what = name + (leaves ? ".worlds_and_observations" : ".worlds");
    results.push_back(summary(what + ".alone", "steps/s", alone));
    results.push_back(summary(what + ".watched", "steps/s", watched));
    results.push_back(summary(what + ".ratio", "of 1", ratios));
    results.push_back(summary(what + ".drawn", "frames/s", pictures));
  }
  return results;
}

}  // namespace hotloop
