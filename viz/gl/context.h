// An OpenGL 4.5 core context: of a window (viz/ui/window.h), or without a display through EGL (an EGL device, else
// Mesa's surfaceless platform).
#pragma once
#include <memory>
#include <string>

namespace hotloop {

// A current context that is not a window's.
class HeadlessContext {
 public:
  // Error, one line, where EGL or OpenGL 4.5 is missing: says what was found. cuda_device: prefer the EGL device of
  // this CUDA device, so that worlds need no copy; -1: any.
  explicit HeadlessContext(int cuda_device = -1);
  ~HeadlessContext();
  HeadlessContext(const HeadlessContext&) = delete;
  HeadlessContext& operator=(const HeadlessContext&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Error, one line, where this machine has no library of that name ("libEGL.so.1", "libGL.so.1"): libepoxy would end
// the process at the first call.
void require_library(const char* soname);

// After a context was made current: checks version and features (Error names what is missing), installs the debug
// callback where HOTLOOP_GL_DEBUG is set.
void check_gl_features();
// "OpenGL 4.5, llvmpipe (LLVM 15.0.6), software"
std::string describe_gl();
bool is_software_gl();

// What OpenGL has complained about since the last call, "" if nothing: the debug callback's first error, or
// glGetError's.
std::string take_gl_error();

}  // namespace hotloop
