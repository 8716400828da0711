// What a frame took, known some frames later so that nothing waits for the GPU.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "viz/scene/draw_list.h"

namespace hotloop {

struct SceneStats;

class FrameStats {
 public:
  FrameStats();
  ~FrameStats();
  void begin();
  // lists: whose triangles count; the first one's instances are those drawn.
  void end(std::span<const DrawList* const> lists);
  // Takes over what has become known; whether anything has.
  bool update(SceneStats& stats);

 private:
  struct Slot;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::size_t next_ = 0;
  bool measuring_ = false;
};

}  // namespace hotloop
