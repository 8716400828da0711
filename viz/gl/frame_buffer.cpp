#include "viz/gl/frame_buffer.h"

#include <epoxy/gl.h>

#include <stdexcept>

#include "viz/gl/interop.h"
#include "viz/gl/objects.h"

namespace hotloop {

struct FrameBuffer::State {
  int num_frames;
  std::int64_t max_worlds, count = 0;
  Device device;
  GlBuffer buffer;
  std::unique_ptr<InteropBuffer> interop;
  Buffer<Frame> on_device;  // copy path of a card: the kernel writes here
  Buffer<Frame> on_host;    // all paths but interop: what was copied into the GL buffer
  std::string path;
  std::vector<Frame> one;
};

FrameBuffer::FrameBuffer(int num_frames, std::int64_t max_worlds, Device device, bool allow_interop)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.num_frames = num_frames;
  s.max_worlds = max_worlds;
  s.device = device;
  const std::size_t frames = static_cast<std::size_t>(num_frames) * static_cast<std::size_t>(max_worlds);
  s.buffer = GlBuffer(frames * sizeof(Frame), GL_DYNAMIC_STORAGE_BIT);
  if (!device.is_cuda()) {
    s.path = "host";
    s.on_host = Buffer<Frame>(device, frames);
    return;
  }
  std::string reason = "switched off";
  if (allow_interop) s.interop = InteropBuffer::open(s.buffer.get(), device, reason);
  s.path = s.interop ? "interop" : "copy (no interop: " + reason + ")";
  if (s.interop) return;
  s.on_device = Buffer<Frame>(device, frames);
  s.on_host = Buffer<Frame>(device, frames, Memory::Kind::pinned);
}

FrameBuffer::~FrameBuffer() = default;

void FrameBuffer::update(WorldSource& source, std::int64_t first, std::int64_t count) {
  State& s = *state_;
  if (count > s.max_worlds) throw std::invalid_argument("FrameBuffer: more worlds than it has room for");
  s.count = count;
  s.one.clear();
  const Exec& exec = source.exec();
  if (s.interop) {
    auto* frames = static_cast<Frame*>(s.interop->map(exec));
    try {
      source.write_frames(first, count, frames);
    } catch (...) {
      s.interop->unmap(exec);
      throw;
    }
    s.interop->unmap(exec);
    return;
  }
  const std::size_t bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(s.num_frames) * sizeof(Frame);
  source.write_frames(first, count, s.device.is_cuda() ? s.on_device.data() : s.on_host.data());
  if (s.device.is_cuda()) copy_async(exec, s.on_host.data(), Device{}, s.on_device.data(), s.device, bytes);
  synchronize(exec);
  glNamedBufferSubData(s.buffer.get(), 0, static_cast<GLsizeiptr>(bytes), s.on_host.data());
}

unsigned FrameBuffer::gl_buffer() const { return state_->buffer.get(); }
std::int64_t FrameBuffer::count() const { return state_->count; }
int FrameBuffer::num_frames() const { return state_->num_frames; }
const std::string& FrameBuffer::path() const { return state_->path; }

const std::vector<Frame>& FrameBuffer::world(std::int64_t index) const {
  State& s = *state_;
  const std::size_t frames = static_cast<std::size_t>(s.num_frames), start = static_cast<std::size_t>(index) * frames;
  s.one.resize(frames);
  if (s.interop) {
    glGetNamedBufferSubData(s.buffer.get(), static_cast<GLintptr>(start * sizeof(Frame)),
                            static_cast<GLsizeiptr>(frames * sizeof(Frame)), s.one.data());
  } else {
    std::copy_n(s.on_host.data() + start, frames, s.one.begin());
  }
  return s.one;
}

}  // namespace hotloop
