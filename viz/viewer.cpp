#include "viz/viewer.h"

#include <imgui.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "train/stop_signal.h"
#include "viz/ui/display_loss.h"
#include "viz/ui/keys.h"
#include "viz/ui/layout.h"
#include "viz/ui/panel.h"
#include "viz/ui/scene_view.h"
#include "viz/ui/shot.h"
#include "viz/ui/theme.h"
#include "viz/ui/window.h"

namespace hotloop {
namespace {

constexpr double kStepBudget = 0.012;    // [s] of a picture for the worlds
constexpr double kLongestPicture = 0.1;  // [s] that time may move in one picture, whatever held it up
constexpr double kLongestWait = 1;       // [s] the same where a training has most of the machine

std::string window_title(const View& view) {
  return (view.notice.empty() ? "" : view.notice + " - ") + view.source.info().name + " - hotloop";
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

struct Viewer::Parts {
  ViewerOptions options;
  View view;
  Window window;
  std::unique_ptr<SceneView> scene;
  std::string layout;
  double last = now(), simulated = 0;  // [s] of the clock; of the worlds since the last picture
  float scale = 0, font_scale = 0;     // as the theme was made for
  bool light = false, vsync = true;
  std::string notice;  // that the title has

  Parts(WorldSource& source, const ViewerOptions& o)
      : options(o), view(source), window({window_title(view), o.width, o.height, true}) {}
};

Viewer::Viewer(WorldSource& source, const ViewerOptions& options) : parts_(std::make_unique<Parts>(source, options)) {
  Parts& p = *parts_;
  p.scene = std::make_unique<SceneView>(p.view, scene_quality(options.quality));
  p.view.pacer.paused = options.paused;
  if (!options.camera.empty()) p.view.camera.set_fixed(options.camera);
  if (options.keep_layout) p.layout = options.layout_file.empty() ? layout_file() : options.layout_file;
  load_layout(p.layout, p.view);
  p.view.say("drawing with " + p.view.renderer + (p.view.quality.empty() ? "" : "; " + p.view.quality));
}

Viewer::~Viewer() {
  if (display_lost()) {
    parts_->scene.release();  // its OpenGL is gone, and nothing of it may be called
    return;
  }
  ImGui::GetIO().WantSaveIniSettings = true;  // else what was changed in the last seconds would be lost
  save_layout(parts_->layout, parts_->view);
}
View& Viewer::view() { return parts_->view; }
Window& Viewer::window() { return parts_->window; }

void Viewer::apply_settings() {
  Parts& p = *parts_;
  const ViewSettings& wanted = p.view.settings;
  const float scale = p.window.monitor_scale();
  if (scale != p.scale || wanted.font_scale != p.font_scale || wanted.light != p.light) {
    apply_theme(wanted.light, scale, wanted.font_scale);
    p.scale = scale;
    p.font_scale = wanted.font_scale;
    p.light = wanted.light;
  }
  if (wanted.vsync != p.vsync) p.window.set_vsync(p.vsync = wanted.vsync);
  if (p.view.notice != p.notice) {
    p.notice = p.view.notice;
    p.window.set_title(window_title(p.view));
  }
  p.window.set_full_screen(p.view.full_screen);
}

void Viewer::move_time(double elapsed) {
  Parts& p = *parts_;
  WorldSource& source = p.view.source;
  const double before = source.time(), start = now();
  p.view.pacer.advance(source, std::min(elapsed, kLongestPicture), kStepBudget);
  if (!source.info().can_step && !p.view.pacer.paused)
    source.pass(std::min(elapsed, kLongestWait) * p.view.pacer.speed());
  p.view.step_seconds = now() - start;
  p.simulated = std::max(0.0, source.time() - before);
  p.view.recorder.update(source, p.view.selected);
  if (const std::int64_t other = source.partner(p.view.selected); other >= 0) p.view.partner.update(source, other);
  p.view.frame_seconds = elapsed;
  if (elapsed > 0) p.view.picture_rate += 0.1 * (1 / elapsed - p.view.picture_rate);
}

void Viewer::take_shot() {
  Parts& p = *parts_;
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
  if (p.view.shot == ShotKind::scene) rgb = p.scene->pixels(width, height);
  if (p.view.shot == ShotKind::window) {
    p.window.framebuffer_size(width, height);
    rgb = read_pixels(0, width, height);
  }
  if (!rgb.empty()) p.view.say(save_shot(p.options.picture_folder, p.view.source.info().name, width, height, rgb));
  p.view.shot = ShotKind::none;
}

bool Viewer::picture() {
  Parts& p = *parts_;
  const double start = now();
  if (!p.window.begin() || p.view.quit) return false;
  if (p.options.in_picture) p.options.in_picture();
  apply_settings();
  dispatch_keys(p.view);
  move_time(start - p.last);
  p.last = start;
  draw_menus(p.view);
  draw_dockspace(p.view);
  draw_panels(p.view);
  p.scene->draw(p.view, p.simulated);
  draw_help(p.view);
  p.window.draw();
  take_shot();
  p.window.show();
  save_layout(p.layout, p.view);
  const double limit = std::min(p.options.most_pictures, p.view.drawing ? 1e9 : 20);
  if (limit > 0) std::this_thread::sleep_for(std::chrono::duration<double>(1 / limit - (now() - start)));
  return true;
}

int run_viewer(WorldSource& source, const ViewerOptions& options) {
  Viewer viewer(source, options);
  while (viewer.picture() && stop_status() == 0) {
  }
  return stop_status();
}

}  // namespace hotloop
