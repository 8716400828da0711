#include "viz/headless.h"

#include <epoxy/gl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>

#include "data/file.h"
#include "sim/core/error.h"
#include "viz/gl/context.h"
#include "viz/gl/frame_buffer.h"
#include "viz/gl/objects.h"
#include "viz/gl/pixel_reader.h"
#include "viz/png.h"
#include "viz/video.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kMaxSide = 16384;  // [pixels] as OpenGL 4.5 promises

// Where the frames go: PNG files in a folder, or ffmpeg.
class Sink {
 public:
  Sink(const HeadlessOptions& options, double frames_per_second) : width_(options.width), height_(options.height) {
    if (!options.out.empty()) open_folder(options.out);
    if (options.video.empty()) return;
    check_video(options.video);
    if (has_ffmpeg()) {
      video_ = std::make_unique<VideoWriter>(options.video, width_, height_, frames_per_second);
      written = options.video;
    } else if (options.out.empty()) {
      const fs::path file(options.video);
      open_folder(file.parent_path() / (file.stem().string() + "_frames"));
      if (options.warn)
        options.warn("ffmpeg is not on PATH: frames as PNG files in '" + folder_.string() + "' instead");
    } else if (options.warn) {
      options.warn("ffmpeg is not on PATH: no video, only frames as PNG files in '" + folder_.string() + "'");
    }
  }

  void write(const std::vector<std::uint8_t>& rgb) {
    if (!folder_.empty()) write_png(folder_ / fmt::format("frame_{:06}.png", count_), width_, height_, rgb);
    if (video_) video_->write(rgb);
    ++count_;
  }

  void finish() {
    if (video_) video_->finish();
  }

  std::string written;

 private:
  void open_folder(const fs::path& folder) {
    std::error_code error;
    if (fs::exists(folder, error) && !fs::is_directory(folder, error))
      throw Error("'" + folder.string() + "': is not a folder");
    make_folder(folder);
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
      if (entry.path().filename().string().starts_with("frame_"))
        throw Error("'" + folder.string() + "': holds frames already (" + entry.path().filename().string() +
                    "); name another folder");
    folder_ = folder;
    written = folder.string();
  }

  int width_, height_;
  std::int64_t count_ = 0;
  fs::path folder_;
  std::unique_ptr<VideoWriter> video_;
};

void check(const HeadlessOptions& o) {
  if (o.frames < 1) throw Error(fmt::format("frames {}: must be at least 1", o.frames));
  if (std::min(o.width, o.height) < 1 || std::max(o.width, o.height) > kMaxSide)
    throw Error(fmt::format("size {}x{}: sides must be 1 to {} pixels", o.width, o.height, kMaxSide));
  if (!(o.speed > 0) || !std::isfinite(o.speed)) throw Error(fmt::format("speed {}: must be above 0", o.speed));
  if (!(o.frames_per_second >= 0) || !std::isfinite(o.frames_per_second))
    throw Error(fmt::format("frames per second {}: must be above 0, or 0 to choose", o.frames_per_second));
}

double rate_of(const HeadlessOptions& options, double control_period) {
  if (options.frames_per_second > 0) return options.frames_per_second;
  return std::clamp(options.speed / control_period, 1.0, 60.0);
}

std::string with_unit(double count) {
  if (count >= 1e6) return fmt::format("{:.1f} M", count * 1e-6);
  return count >= 1e4 ? fmt::format("{:.1f} k", count * 1e-3) : fmt::format("{:.0f}", count);
}

}  // namespace

std::string HeadlessReport::line() const {
  return fmt::format(
      "{} frame{} in {:.2f} s ({:.1f} frames/s), {} of {} shapes, {} triangles, {:.2f} ms of the GPU; {}; {}", frames,
      frames == 1 ? "" : "s", seconds, static_cast<double>(frames) / std::max(seconds, 1e-9), stats.drawn,
      stats.instances, with_unit(static_cast<double>(stats.triangles)), stats.gpu_milliseconds, path, renderer);
}

Camera grid_camera(const VisualModel& model, const WorldGrid& grid) {
  Camera camera = start_camera(model);
  if (grid.count <= 1) return camera;
  const Float3 first = Scene::world_offset(grid, model, grid.first);
  camera.distance = std::max(camera.distance, 2.6f * std::abs(first[0]) + camera.distance / 2);
  camera.elevation = std::min(camera.elevation, -30.0f);
  return camera;
}

HeadlessReport render_headless(WorldSource& source, const HeadlessOptions& options) {
  check(options);
  const SourceInfo& info = source.info();
  const double rate = rate_of(options, info.control_period);
  Sink sink(options, rate);  // before anything is drawn: what cannot be written is known at once
  const HeadlessContext context(info.device.is_cuda() ? info.device.index : -1);
  const VisualModel& model = source.visual();
  const WorldGrid& grid = options.grid;
  if (const std::int64_t most = Scene::most_worlds(model); grid.count > most)
    throw Error(fmt::format("worlds {}: OpenGL draws at most {} of this model in one picture here", grid.count, most));
  FrameBuffer frames(model.num_frames(), grid.count, info.device);
  Scene scene(model, options.quality);
  RenderTarget picture(1);
  picture.resize(options.width, options.height);
  PixelReader reader(options.width, options.height);
  const PixelReader::Take take = [&](const std::vector<std::uint8_t>& rgb) { sink.write(rgb); };
  Camera camera = options.camera ? *options.camera : grid_camera(model, grid);
  SceneOverlay overlay;
  const Float3 offset = Scene::world_offset(grid, model, grid.selected);

  HeadlessReport report;
  const auto start = Clock::now();
  const double started_at = source.time();
  for (; report.frames < options.frames && !(options.stop && options.stop()); ++report.frames) {
    // half a step early rather than late: sums of periods are not exact
    const double now = started_at + static_cast<double>(report.frames) * options.speed / rate;
    for (std::int64_t before = -1; info.can_step && source.time() + 0.5 * info.control_period < now;) {
      if (source.position() == before) break;  // the end of a log
      before = source.position();
      source.step();
    }
    frames.update(source, grid.first, grid.count);
    if (options.before_frame)
      options.before_frame({report.frames, frames.world(grid.selected - grid.first), offset, camera, overlay});
    scene.draw(frames, grid, camera, options.flags, overlay, {picture.framebuffer(), options.width, options.height});
    reader.request(picture.framebuffer(), take);
  }
  reader.finish(take);
  sink.finish();
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  report.stats = scene.wait_for_stats();
  report.path = frames.path();
  report.renderer = describe_gl();
  report.written = sink.written;
  return report;
}

}  // namespace hotloop
