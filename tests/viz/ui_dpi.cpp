// The resource from which GLFW takes a monitor's scale. A file of its own: Xlib's macros fit nowhere else.
#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <dlfcn.h>

#include <string>

namespace hotloop {

bool set_dpi(int dpi) {
  void* library = ::dlopen("libX11.so.6", RTLD_NOW);
  if (!library) return false;
  const auto open = reinterpret_cast<decltype(&XOpenDisplay)>(::dlsym(library, "XOpenDisplay"));
  const auto change = reinterpret_cast<decltype(&XChangeProperty)>(::dlsym(library, "XChangeProperty"));
  const auto close = reinterpret_cast<decltype(&XCloseDisplay)>(::dlsym(library, "XCloseDisplay"));
  ::Display* display = open(nullptr);
  if (!display) return false;
  const std::string text = "Xft.dpi: " + std::to_string(dpi) + "\n";
  change(display, DefaultRootWindow(display), XA_RESOURCE_MANAGER, XA_STRING, 8, PropModeReplace,
         reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  close(display);
  return true;
}

}  // namespace hotloop
