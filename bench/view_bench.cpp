#include "bench/view_bench.h"

#include <epoxy/gl.h>
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "bench/bench.h"
#include "viz/gl/context.h"
#include "viz/gl/frame_buffer.h"
#include "viz/gl/objects.h"
#include "viz/headless.h"

namespace hotloop {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kWindows = 5;

// Frames a second of one window.
template <class Frame>
double rate_of(double seconds, const Frame& frame) {
  const auto start = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  int frames = 0;
  for (; frames == 0 || passed() < seconds; ++frames) {
    frame();
    glFlush();
  }
  glFinish();
  return frames / passed();
}

}  // namespace

std::vector<BenchResult> bench_view(const ViewBenchOptions& options) {
  const std::int64_t worlds = options.worlds > 0 ? options.worlds : options.device.is_cuda() ? 4096 : 64;
  const std::unique_ptr<WorldSource> source = open_source({.what = options.task,
                                                           .worlds = worlds,
                                                           .seed = options.seed,
                                                           .device = options.device.str(),
                                                           .actions = "random",
                                                           .env_options = {},
                                                           .warn = {}});
  const HeadlessContext context(options.device.is_cuda() ? options.device.index : -1);
  const int width = is_software_gl() ? 1280 : 1920, height = is_software_gl() ? 720 : 1080;
  FrameBuffer frames(source->visual().num_frames(), worlds, source->info().device);
  Scene scene(source->visual(), scene_quality(Quality::automatic));
  RenderTarget picture(1);
  picture.resize(width, height);
  WorldGrid grid;
  grid.count = worlds;
  const Camera camera = grid_camera(source->visual(), grid);
  const auto draw = [&] {
    frames.update(*source, 0, worlds);
    scene.draw(frames, grid, camera, {}, {}, {picture.framebuffer(), width, height});
  };
  const auto step_and_draw = [&] {
    source->step();
    draw();
  };
  for (int i = 0; i < 5; ++i) step_and_draw();  // programs are made, worlds leave their start
  glFinish();
  std::vector<double> drawn, stepped, milliseconds;
  for (int window = 0; window < kWindows; ++window) {
    drawn.push_back(rate_of(options.seconds, draw));
    milliseconds.push_back(scene.stats().gpu_milliseconds);
    stepped.push_back(rate_of(options.seconds, step_and_draw));
  }
  const std::string name =
      fmt::format("{}/{}/{}x{}/{}/{}/", options.task, worlds, width, height, frames.path(), describe_gl());
  const auto count = [&](const char* what, std::int64_t value) {
    return summary(name + what, what, {static_cast<double>(value)});
  };
  return {summary(name + "draw", "frames/s", drawn), summary(name + "step_and_draw", "frames/s", stepped),
          summary(name + "gpu", "ms", milliseconds), count("instances", scene.stats().drawn),
          count("triangles", scene.stats().triangles)};
}

}  // namespace hotloop
