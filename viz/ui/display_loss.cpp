#include "viz/ui/display_loss.h"

#include <dlfcn.h>
#define GLFW_INCLUDE_NONE
#define GLFW_EXPOSE_NATIVE_X11
#include <GLFW/glfw3.h>
#include <GLFW/glfw3native.h>

#include <atomic>

namespace hotloop {
namespace {

std::atomic<bool> lost{false};

int on_io_error(Display*) {
  lost = true;
  return 0;
}

// Instead of Xlib's own, which calls exit(): after it the failed call returns.
void on_io_exit(Display*, void*) { lost = true; }

using IoErrorHandler = int (*)(Display*);
using IoExitHandler = void (*)(Display*, void*);

}  // namespace

void watch_display() {
  lost = false;
  if (glfwGetPlatform() != GLFW_PLATFORM_X11) return;
  // GLFW has loaded it, without giving out its names
  void* library = ::dlopen("libX11.so.6", RTLD_LAZY | RTLD_LOCAL);
  if (!library) return;
  const auto set_error = reinterpret_cast<IoErrorHandler (*)(IoErrorHandler)>(::dlsym(library, "XSetIOErrorHandler"));
  const auto set_exit = reinterpret_cast<void (*)(Display*, IoExitHandler, void*)>(
      ::dlsym(library, "XSetIOErrorExitHandler"));  // libX11 1.7
  if (!set_error || !set_exit) return;
  set_error(on_io_error);
  set_exit(glfwGetX11Display(), on_io_exit, nullptr);
}

bool display_lost() { return lost; }

}  // namespace hotloop
