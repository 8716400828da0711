#include "viz/ui/window.h"

#define GLFW_INCLUDE_NONE  // OpenGL is libepoxy's
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <epoxy/gl.h>
#include <imgui.h>
#include <implot.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "sim/core/error.h"
#include "sim/core/shell.h"
#include "sim/core/value.h"
#include "viz/gl/context.h"
#include "viz/ui/display_loss.h"
#include "viz/ui/theme.h"

namespace hotloop {
namespace {

std::string glfw_error() {
  const char* text = nullptr;
  glfwGetError(&text);
  return text ? one_line(text) : "no reason given";
}

[[noreturn]] void throw_no_display() {
  const std::string reason = glfw_error();
  const char* display = std::getenv("DISPLAY");
  const std::string found = display && *display ? "DISPLAY=" + shown(display) : std::string("DISPLAY is not set");
  throw Error("no window: " + found + " (" + reason + "); pictures without one: " + program_name() +
              " view TASK --headless --out DIR");
}

// What OpenGL the window system offers, for a message: asks for no version.
std::string offered_gl() {
  glfwDefaultWindowHints();
  glfwWindowHint(GLFW_VISIBLE, GLFW_FALSE);
  GLFWwindow* window = glfwCreateWindow(16, 16, "", nullptr, nullptr);
  if (!window) return "none (" + glfw_error() + ")";
  glfwMakeContextCurrent(window);
  const auto* version = reinterpret_cast<const char*>(glGetString(GL_VERSION));
  const std::string text = version ? one_line(version) : "none";
  glfwDestroyWindow(window);
  return text;
}

GLFWwindow* open_window(const WindowOptions& options) {
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 4);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 5);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_OPENGL_DEBUG_CONTEXT, std::getenv("HOTLOOP_GL_DEBUG") ? GLFW_TRUE : GLFW_FALSE);
  glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
  glfwWindowHintString(GLFW_X11_CLASS_NAME, "hotloop");
  GLFWwindow* window = glfwCreateWindow(options.width, options.height, options.title.c_str(), nullptr, nullptr);
  if (window) return window;
  const std::string reason = glfw_error(), found = offered_gl();
  throw Error("no window with OpenGL 4.5 core: found " + found + " (" + reason +
              "); --headless may find another driver through EGL");
}

}  // namespace

struct Window::State {
  GLFWwindow* window = nullptr;
  bool imgui = false, full_screen = false;
  int x = 0, y = 0, width = 0, height = 0;  // before full screen

  ~State() {
    if (display_lost()) return;  // every call to what is left of it would fail or hang
    if (imgui) {
      ImGui_ImplOpenGL3_Shutdown();
      ImGui_ImplGlfw_Shutdown();
    }
    if (ImPlot::GetCurrentContext()) ImPlot::DestroyContext();
    if (ImGui::GetCurrentContext()) ImGui::DestroyContext();
    if (window) glfwDestroyWindow(window);
    glfwTerminate();
  }
};

Window::Window(const WindowOptions& options) {
  require_library("libGL.so.1");
  glfwInitHint(GLFW_PLATFORM, GLFW_PLATFORM_X11);
  if (!glfwInit()) throw_no_display();
  state_ = std::make_unique<State>();
  state_->window = open_window(options);
  glfwMakeContextCurrent(state_->window);
  check_gl_features();
  watch_display();
  set_vsync(options.vsync);

  ImGui::CreateContext();
  ImPlot::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.ConfigFlags |= ImGuiConfigFlags_DockingEnable;
  io.ConfigWindowsMoveFromTitleBarOnly = true;
  io.IniFilename = nullptr;  // viz/ui/layout.cpp keeps it, atomically
  io.LogFilename = nullptr;
  load_font();
  ImGui_ImplGlfw_InitForOpenGL(state_->window, true);
  ImGui_ImplOpenGL3_Init("#version 450 core");
  state_->imgui = true;
}

Window::~Window() = default;

void Window::check_display() const {
  if (display_lost()) throw Error("lost the display: the connection to the X server broke");
}

bool Window::begin() {
  glfwPollEvents();
  check_display();
  if (glfwWindowShouldClose(state_->window)) return false;
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  ImGui::NewFrame();
  return true;
}

void Window::draw() {
  ImGui::Render();
  check_display();
  int width = 0, height = 0;
  framebuffer_size(width, height);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  glViewport(0, 0, width, height);
  const ImVec4& back = ImGui::GetStyle().Colors[ImGuiCol_WindowBg];
  glClearColor(back.x, back.y, back.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

void Window::show() {
  if (visible())
    glfwSwapBuffers(state_->window);
  else
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  check_display();
}

void Window::set_full_screen(bool on) {
  State& s = *state_;
  if (on == s.full_screen) return;
  GLFWmonitor* monitor = glfwGetPrimaryMonitor();
  const GLFWvidmode* mode = monitor ? glfwGetVideoMode(monitor) : nullptr;
  if (!mode) return;
  s.full_screen = on;
  if (on) {
    glfwGetWindowPos(s.window, &s.x, &s.y);
    glfwGetWindowSize(s.window, &s.width, &s.height);
    glfwSetWindowMonitor(s.window, monitor, 0, 0, mode->width, mode->height, mode->refreshRate);
  } else {
    glfwSetWindowMonitor(s.window, nullptr, s.x, s.y, s.width, s.height, GLFW_DONT_CARE);
  }
}

void Window::set_vsync(bool on) { glfwSwapInterval(on ? 1 : 0); }
void Window::set_title(const std::string& title) { glfwSetWindowTitle(state_->window, title.c_str()); }
void Window::close() { glfwSetWindowShouldClose(state_->window, GLFW_TRUE); }

bool Window::visible() const {
  int width = 0, height = 0;
  framebuffer_size(width, height);
  return width > 0 && height > 0 && !glfwGetWindowAttrib(state_->window, GLFW_ICONIFIED);
}

float Window::monitor_scale() const {
  float x = 1, y = 1;
  glfwGetWindowContentScale(state_->window, &x, &y);
  return x > 0.1f && x < 10 ? x : 1;
}

void Window::framebuffer_size(int& width, int& height) const {
  glfwGetFramebufferSize(state_->window, &width, &height);
}

void* Window::handle() const { return state_->window; }

}  // namespace hotloop
