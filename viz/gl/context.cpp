#include "viz/gl/context.h"

#include <dlfcn.h>
#include <epoxy/egl.h>
#include <epoxy/gl.h>

#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/error.h"

namespace hotloop {
namespace {

bool has_word(const char* words, std::string_view word) {
  const std::string padded = " " + std::string(words == nullptr ? "" : words) + " ";
  return padded.find(" " + std::string(word) + " ") != std::string::npos;
}

bool debug_wanted() {
  const char* text = std::getenv("HOTLOOP_GL_DEBUG");
  return text != nullptr && *text != '\0';
}

std::string& first_gl_error() {
  static std::string text;
  return text;
}

void GLAPIENTRY on_message(GLenum, GLenum type, GLuint, GLenum, GLsizei, const GLchar* message, const void*) {
  if (type == GL_DEBUG_TYPE_ERROR && first_gl_error().empty()) first_gl_error() = message;
}

// A display that may give OpenGL 4.5, and what it is for messages.
struct Candidate {
  EGLenum platform;
  void* native;
  std::string name;
};

// EGL's devices, the wanted CUDA device first, software last; Mesa's platform without a device before software.
std::vector<Candidate> candidates(int cuda_device) {
  const char* client = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  std::vector<Candidate> first, middle, last;
  if (has_word(client, "EGL_EXT_device_enumeration") && has_word(client, "EGL_EXT_platform_device")) {
    EGLDeviceEXT devices[64];
    EGLint count = 0;
    if (eglQueryDevicesEXT(64, devices, &count) == EGL_FALSE) count = 0;
    for (EGLint i = 0; i < count; ++i) {
      const Candidate device{EGL_PLATFORM_DEVICE_EXT, devices[i], "EGL device " + std::to_string(i)};
      const char* words = eglQueryDeviceStringEXT(devices[i], EGL_EXTENSIONS);
      EGLAttrib cuda = -1;
      if (!has_word(words, "EGL_NV_device_cuda") ||
          eglQueryDeviceAttribEXT(devices[i], EGL_CUDA_DEVICE_NV, &cuda) == EGL_FALSE)
        cuda = -1;
      if (cuda_device >= 0 && cuda == cuda_device) {
        first.push_back(device);
      } else {
        (has_word(words, "EGL_MESA_device_software") ? last : middle).push_back(device);
      }
    }
  }
  if (has_word(client, "EGL_MESA_platform_surfaceless"))
    middle.push_back({EGL_PLATFORM_SURFACELESS_MESA, nullptr, "surfaceless EGL"});
  first.insert(first.end(), middle.begin(), middle.end());
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

}  // namespace

struct HeadlessContext::State {
  EGLDisplay display = EGL_NO_DISPLAY;
  EGLContext context = EGL_NO_CONTEXT;
  EGLDisplay earlier_display = EGL_NO_DISPLAY;  // what was current before
  EGLContext earlier = EGL_NO_CONTEXT;

  ~State() {
    if (display == EGL_NO_DISPLAY) return;
    eglMakeCurrent(earlier != EGL_NO_CONTEXT ? earlier_display : display, EGL_NO_SURFACE, EGL_NO_SURFACE, earlier);
    if (context != EGL_NO_CONTEXT) eglDestroyContext(display, context);
    // not eglTerminate: displays are shared by all contexts of the process
  }
};

void require_library(const char* soname) {
  // kept open: libepoxy opens it again
  if (dlopen(soname, RTLD_LAZY | RTLD_LOCAL) == nullptr)
    throw Error(std::string("OpenGL: ") + soname + " is not on this machine; install a graphics driver or Mesa");
}

HeadlessContext::HeadlessContext(int cuda_device) : state_(std::make_unique<State>()) {
  require_library("libEGL.so.1");
  require_library("libGL.so.1");
  const char* client = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  if (!has_word(client, "EGL_EXT_platform_base")) throw Error("EGL: has no platforms without a display");
  state_->earlier_display = eglGetCurrentDisplay();
  state_->earlier = eglGetCurrentContext();
  std::string tried;
  for (const Candidate& candidate : candidates(cuda_device)) {
    State attempt;
    attempt.display = eglGetPlatformDisplayEXT(candidate.platform, candidate.native, nullptr);
    std::string reason = "no display";
    EGLint major = 0, minor = 0;
    if (attempt.display != EGL_NO_DISPLAY && eglInitialize(attempt.display, &major, &minor) == EGL_TRUE) {
      eglBindAPI(EGL_OPENGL_API);
      const EGLint wanted[] = {EGL_CONTEXT_MAJOR_VERSION,
                               4,
                               EGL_CONTEXT_MINOR_VERSION,
                               5,
                               EGL_CONTEXT_OPENGL_PROFILE_MASK,
                               EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                               EGL_CONTEXT_OPENGL_DEBUG,
                               debug_wanted() ? EGL_TRUE : EGL_FALSE,
                               EGL_NONE};
      attempt.context = eglCreateContext(attempt.display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, wanted);
      reason = "no OpenGL 4.5 core context";
      if (attempt.context != EGL_NO_CONTEXT &&
          eglMakeCurrent(attempt.display, EGL_NO_SURFACE, EGL_NO_SURFACE, attempt.context) == EGL_TRUE) {
        std::swap(attempt.display, state_->display);  // not ended with the attempt
        std::swap(attempt.context, state_->context);
        check_gl_features();
        return;
      }
    }
    tried += (tried.empty() ? "" : "; ") + candidate.name + ": " + reason;
  }
  throw Error("OpenGL: no 4.5 core context without a display (" + (tried.empty() ? "EGL has no device" : tried) + ")");
}

HeadlessContext::~HeadlessContext() = default;

void check_gl_features() {
  const int version = epoxy_gl_version();
  if (version < 45)
    throw Error("OpenGL: version 4.5 is needed; '" +
                std::string(reinterpret_cast<const char*>(glGetString(GL_RENDERER))) + "' has " +
                std::to_string(version / 10) + "." + std::to_string(version % 10));
  // core 4.5 promises 8 storage blocks for compute and fragment shaders, but none for vertex shaders
  GLint blocks = 0;
  glGetIntegerv(GL_MAX_VERTEX_SHADER_STORAGE_BLOCKS, &blocks);
  if (blocks < 4)
    throw Error("OpenGL: 4 storage blocks in vertex shaders are needed; this driver has " + std::to_string(blocks));
  if (!debug_wanted()) return;
  glEnable(GL_DEBUG_OUTPUT);
  glEnable(GL_DEBUG_OUTPUT_SYNCHRONOUS);
  glDebugMessageCallback(on_message, nullptr);
}

std::string describe_gl() {
  const int version = epoxy_gl_version();
  return "OpenGL " + std::to_string(version / 10) + "." + std::to_string(version % 10) + ", " +
         reinterpret_cast<const char*>(glGetString(GL_RENDERER)) + (is_software_gl() ? ", software" : "");
}

bool is_software_gl() {
  const std::string_view renderer = reinterpret_cast<const char*>(glGetString(GL_RENDERER));
  for (const char* name : {"llvmpipe", "softpipe", "swrast", "Software"})
    if (renderer.find(name) != std::string_view::npos) return true;
  return false;
}

std::string take_gl_error() {
  std::string text = std::exchange(first_gl_error(), "");
  for (GLenum code = glGetError(); code != GL_NO_ERROR; code = glGetError())
    if (text.empty()) text = "error " + std::to_string(code);
  return text;
}

}  // namespace hotloop
