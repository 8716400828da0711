#include "viz/scene/frame_stats.h"

#include "viz/scene/scene.h"

namespace hotloop {

struct FrameStats::Slot {
  GLuint queries[2] = {0, 0};  // times of begin and end
  GlBuffer commands;
  std::size_t count = 0, first_count = 0;
  const DrawList::Command* mapped = nullptr;
  GLsync fence = nullptr;

  Slot() { glCreateQueries(GL_TIMESTAMP, 2, queries); }
  ~Slot() {
    glDeleteQueries(2, queries);
    if (fence != nullptr) glDeleteSync(fence);
  }
  void reserve(std::size_t bytes) {
    if (commands.bytes() >= bytes && mapped != nullptr) return;
    constexpr GLbitfield access = GL_MAP_READ_BIT | GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT;
    commands = GlBuffer(bytes, access | GL_CLIENT_STORAGE_BIT);
    mapped = static_cast<const DrawList::Command*>(
        glMapNamedBufferRange(commands.get(), 0, static_cast<GLsizeiptr>(bytes), access));
  }
};

FrameStats::FrameStats() {
  for (int i = 0; i < 4; ++i) slots_.push_back(std::make_unique<Slot>());
}

FrameStats::~FrameStats() = default;

void FrameStats::begin() {
  measuring_ = slots_[next_]->fence == nullptr;  // else this frame is not counted
  if (measuring_) glQueryCounter(slots_[next_]->queries[0], GL_TIMESTAMP);
}

void FrameStats::end(std::span<const DrawList* const> lists) {
  if (!measuring_) return;
  Slot& slot = *slots_[next_];
  glQueryCounter(slot.queries[1], GL_TIMESTAMP);
  slot.count = 0;
  for (const DrawList* list : lists) slot.count += list->num_commands();
  slot.reserve(slot.count * sizeof(DrawList::Command));
  slot.first_count = lists[0]->num_commands();
  std::size_t at = 0;
  for (const DrawList* list : lists) {
    const std::size_t bytes = list->num_commands() * sizeof(DrawList::Command);
    if (bytes == 0) continue;
    glCopyNamedBufferSubData(list->command_buffer(), slot.commands.get(), 0, static_cast<GLintptr>(at),
                             static_cast<GLsizeiptr>(bytes));
    at += bytes;
  }
  glMemoryBarrier(GL_CLIENT_MAPPED_BUFFER_BARRIER_BIT);
  slot.fence = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
  next_ = (next_ + 1) % slots_.size();
}

bool FrameStats::update(SceneStats& stats) {
  bool any = false;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = *slots_[(next_ + i) % slots_.size()];  // the oldest first
    if (slot.fence == nullptr) continue;
    if (glClientWaitSync(slot.fence, 0, 0) == GL_TIMEOUT_EXPIRED) return any;
    glDeleteSync(slot.fence);
    slot.fence = nullptr;
    GLuint64 times[2] = {0, 0};
    for (int k = 0; k < 2; ++k) glGetQueryObjectui64v(slot.queries[k], GL_QUERY_RESULT, &times[k]);
    stats.gpu_milliseconds = static_cast<double>(times[1] - times[0]) * 1e-6;
    any = true;
    stats.drawn = stats.triangles = 0;
    for (std::size_t c = 0; c < slot.count; ++c) {
      if (c < slot.first_count) stats.drawn += slot.mapped[c].instance_count;
      stats.triangles += static_cast<std::int64_t>(slot.mapped[c].instance_count) * (slot.mapped[c].count / 3);
    }
  }
  return any;
}

}  // namespace hotloop
