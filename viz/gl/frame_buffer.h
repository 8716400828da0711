// Frames of the shown worlds in a GL buffer. Where CUDA and OpenGL run on the same card the worlds' kernel writes there
// (interop); elsewhere the frames are copied through host memory.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "viz/source/world_source.h"

namespace hotloop {

class FrameBuffer {
 public:
  // A GL context must be current. allow_interop false: copies, for comparison and tests.
  FrameBuffer(int num_frames, std::int64_t max_worlds, Device device, bool allow_interop = true);
  ~FrameBuffer();

  // Takes over worlds [first, first + count).
  void update(WorldSource& source, std::int64_t first, std::int64_t count);

  unsigned gl_buffer() const;
  std::int64_t count() const;
  int num_frames() const;
  // "interop", "copy (no interop: ...)" or "host"
  const std::string& path() const;
  // The frames of one shown world on the host, as of the last update: [num_frames].
  const std::vector<Frame>& world(std::int64_t index) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hotloop
