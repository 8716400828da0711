#include "app/show.h"

#include <fmt/format.h>

#include "train/stop_signal.h"
#include "viz/ui/camera_control.h"

namespace hotloop {

void say(const std::string& line) { fmt::print(stderr, "hotloop: {}\n", line); }

HeadlessReport show_headless(WorldSource& source, HeadlessOptions options, const std::string& camera) {
  options.grid.count = source.info().num_worlds;
  options.warn = say;
  options.stop = [] { return stop_status() != 0; };
  CameraControl control(source.visual());
  if (!camera.empty()) control.set_fixed(camera);
  if (!camera.empty() || options.grid.count == 1)
    options.before_frame = [&control](const HeadlessOptions::Moment& moment) {
      moment.camera = control.camera(moment.world, moment.offset);
    };
  return render_headless(source, options);
}

}  // namespace hotloop
