// A client of the X server beside the viewer's own: the monitor's scale, and what a user does to the window of another
// process. A file of its own: Xlib's macros fit nowhere else.
#include "tests/viz/ui_x11.h"

#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <dlfcn.h>

#include <chrono>
#include <memory>
#include <thread>

#include "sim/core/error.h"

namespace hotloop {
namespace {

template <class F>
F* xlib(F*, const char* name) {
  static void* const library = ::dlopen("libX11.so.6", RTLD_NOW);
  auto* const function = library ? reinterpret_cast<F*>(::dlsym(library, name)) : nullptr;
  if (!function) throw Error(std::string("no ") + name + " in libX11.so.6");
  return function;
}
#define XLIB(name) xlib(static_cast<decltype(&(name))>(nullptr), #name)

struct Connection {
  ::Display* display = XLIB(XOpenDisplay)(nullptr);
  Connection() {
    if (!display) throw Error("no X server answers");
    XLIB(XSetErrorHandler)([](::Display*, XErrorEvent*) { return 0; });  // a window may be gone by now
  }
  ~Connection() { XLIB(XCloseDisplay)(display); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
};

void send_key(const Connection& x, ::Window window, int type, unsigned long symbol, unsigned state) {
  // the viewer's window takes an event for a repetition where its time is none after the last one's
  static ::Time time = 1000;
  XEvent event = {};
  event.xkey.type = type;
  event.xkey.display = x.display;
  event.xkey.window = window;
  event.xkey.root = DefaultRootWindow(x.display);
  event.xkey.time = time += 50;
  event.xkey.same_screen = True;
  event.xkey.state = state;
  event.xkey.keycode = XLIB(XKeysymToKeycode)(x.display, symbol);
  XLIB(XSendEvent)(x.display, window, True, type == KeyPress ? KeyPressMask : KeyReleaseMask, &event);
  XLIB(XFlush)(x.display);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // for some pictures
}

}  // namespace

void set_dpi(int dpi) {
  const Connection x;
  const std::string text = "Xft.dpi: " + std::to_string(dpi) + "\n";
  XLIB(XChangeProperty)
  (x.display, DefaultRootWindow(x.display), XA_RESOURCE_MANAGER, XA_STRING, 8, PropModeReplace,
   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
}

unsigned long find_window(const std::string& title, double seconds, const std::function<bool()>& given_up) {
  const Connection x;
  for (double waited = 0; waited < seconds && !given_up(); waited += 0.05) {
    ::Window root = 0, parent = 0, *children = nullptr;
    unsigned count = 0;
    XLIB(XQueryTree)(x.display, DefaultRootWindow(x.display), &root, &parent, &children, &count);
    ::Window found = 0;
    for (unsigned i = 0; i < count; ++i) {
      char* name = nullptr;
      XWindowAttributes attributes = {};
      if (!XLIB(XFetchName)(x.display, children[i], &name)) continue;
      XLIB(XGetWindowAttributes)(x.display, children[i], &attributes);
      if (name == title && attributes.map_state == IsViewable) found = children[i];
      XLIB(XFree)(name);
    }
    if (children) XLIB(XFree)(children);
    if (found) return found;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return 0;
}

void press_key(unsigned long window, unsigned long symbol, bool ctrl) {
  constexpr unsigned long kControl = 0xffe3;
  const Connection x;
  if (ctrl) send_key(x, window, KeyPress, kControl, 0);
  send_key(x, window, KeyPress, symbol, ctrl ? ControlMask : 0);
  send_key(x, window, KeyRelease, symbol, ctrl ? ControlMask : 0);
  if (ctrl) send_key(x, window, KeyRelease, kControl, ControlMask);
}

void close_window(unsigned long window) {
  const Connection x;
  XEvent event = {};
  event.xclient.type = ClientMessage;
  event.xclient.window = window;
  event.xclient.message_type = XLIB(XInternAtom)(x.display, "WM_PROTOCOLS", False);
  event.xclient.format = 32;
  event.xclient.data.l[0] = static_cast<long>(XLIB(XInternAtom)(x.display, "WM_DELETE_WINDOW", False));
  XLIB(XSendEvent)(x.display, window, False, NoEventMask, &event);
}

}  // namespace hotloop
