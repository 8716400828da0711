// The window: GLFW, an OpenGL 4.5 core context, Dear ImGui and ImPlot in it. One a process.
#pragma once
#include <memory>
#include <string>

namespace hotloop {

struct WindowOptions {
  std::string title = "hotloop";
  int width = 1600, height = 900;
  bool vsync = true;
};

class Window {
 public:
  // Error, one line, where there is no display or no OpenGL 4.5: says what was found and what works without.
  explicit Window(const WindowOptions& options);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  // Takes input and begins ImGui's picture; false once the window was closed. Error where the display went away.
  bool begin();
  // Draws ImGui's picture, then shows it. Waits a little where nothing can be seen (minimised, 0 pixels).
  void draw();
  void show();

  void set_full_screen(bool on);
  void set_vsync(bool on);
  void set_title(const std::string& title);
  void close();
  bool visible() const;         // false: minimised or without a pixel
  float monitor_scale() const;  // 2 on a HiDPI screen
  void framebuffer_size(int& width, int& height) const;
  void* handle() const;  // GLFWwindow*

 private:
  struct State;
  void check_display() const;
  std::unique_ptr<State> state_;
};

}  // namespace hotloop
