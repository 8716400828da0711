#include "viz/gl/pixel_reader.h"

#include <epoxy/gl.h>

#include <cstring>

#include "viz/gl/objects.h"

namespace hotloop {

struct PixelReader::Slot {
  GlBuffer buffer;
  const std::uint8_t* pixels = nullptr;  // mapped for the life of the buffer
  GLsync fence = nullptr;
  ~Slot() {
    if (fence != nullptr) glDeleteSync(fence);
  }
};

PixelReader::PixelReader(int width, int height, int depth)
    : width_(width), height_(height), depth_(static_cast<std::size_t>(depth)) {
  const std::size_t bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 4;
  for (std::size_t i = 0; i < depth_; ++i) {
    auto slot = std::make_unique<Slot>();
    constexpr GLbitfield access = GL_MAP_READ_BIT | GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT;
    slot->buffer = GlBuffer(bytes, access | GL_CLIENT_STORAGE_BIT);
    slot->pixels = static_cast<const std::uint8_t*>(
        glMapNamedBufferRange(slot->buffer.get(), 0, static_cast<GLsizeiptr>(bytes), access));
    slots_.push_back(std::move(slot));
  }
  rgb_.resize(bytes / 4 * 3);
}

PixelReader::~PixelReader() = default;

void PixelReader::request(unsigned framebuffer, const Take& take) {
  if (under_way_.size() == depth_) hand_over(take);
  Slot* free = nullptr;
  for (const auto& slot : slots_)
    if (slot->fence == nullptr) free = slot.get();
  glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, free->buffer.get());
  glPixelStorei(GL_PACK_ALIGNMENT, 4);
  glReadPixels(0, 0, width_, height_, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
  free->fence = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
  under_way_.push_back(free);
}

void PixelReader::finish(const Take& take) {
  while (!under_way_.empty()) hand_over(take);
}

void PixelReader::hand_over(const Take& take) {
  Slot& slot = *under_way_.front();
  under_way_.pop_front();
  while (glClientWaitSync(slot.fence, GL_SYNC_FLUSH_COMMANDS_BIT, 1000000000) == GL_TIMEOUT_EXPIRED) {
  }
  glDeleteSync(slot.fence);
  slot.fence = nullptr;
  const std::size_t width = static_cast<std::size_t>(width_), height = static_cast<std::size_t>(height_);
  for (std::size_t y = 0; y < height; ++y) {  // OpenGL's rows go upward
    const std::uint8_t* from = slot.pixels + (height - 1 - y) * width * 4;
    std::uint8_t* to = rgb_.data() + y * width * 3;
    for (std::size_t x = 0; x < width; ++x) std::memcpy(to + 3 * x, from + 4 * x, 3);
  }
  take(rgb_);
}

}  // namespace hotloop
