#include "app/show.h"

#include <fmt/format.h>

#include "sim/core/value.h"
#include "train/stop_signal.h"
#include "viz/ui/camera_control.h"

namespace hotloop {

void say(const std::string& line) { fmt::print(stderr, "hotloop: {}\n", line); }

void add_quality_flag(CLI::App& command, std::string& text) {
  command
      .add_option("--quality", text,
                  "high, low or auto: low has hard shadows and no antialiasing (default auto: low in a window where "
                  "OpenGL runs on the CPU, and smaller where it takes long)")
      ->type_name("Q");
}

Quality parse_quality(const std::string& text) {
  if (text.empty()) return Quality::automatic;
  std::string name;
  parse_value("--quality", text, {.choices = {"auto", "high", "low"}}, name);
  return name == "high" ? Quality::high : name == "low" ? Quality::low : Quality::automatic;
}

SceneQuality picture_quality(Quality choice) {
  return scene_quality(choice == Quality::low ? Quality::low : Quality::high);
}

HeadlessReport show_headless(WorldSource& source, HeadlessOptions options, const std::string& camera) {
  options.grid.count = source.info().num_worlds;
  options.warn = say;
  options.stop = [] { return stop_status() != 0; };
  CameraControl control(source.visual());
  control.align(grid_camera(source.visual(), options.grid), options.grid.count > 1);
  if (!camera.empty()) control.set_fixed(camera);
  options.before_frame = [&control](const HeadlessOptions::Moment& moment) {
    moment.camera = control.camera(moment.world, moment.offset);
  };
  return render_headless(source, options);
}

}  // namespace hotloop
