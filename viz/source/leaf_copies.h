// Leaves of a training's rollout on their way to the viewer: the viewer asks, the training's thread queues a copy after
// an iteration, and the viewer finds it when it has arrived. Neither waits for the other.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/arena.h"
#include "train/trainer.h"

namespace hotloop {

class LeafCopies {
 public:
  // Slices [row, row + rows) of the leaf's first dimension as numbers, as they were when last copied; row -1: the last
  // ones. Empty before the first copy has arrived, and for a leaf that is not there. Wants a newer copy.
  std::vector<float> ask(const std::string& leaf, std::int64_t row, std::int64_t rows);
  // On the training's thread, between iterations: queues what is wanted. A road with a layout of its own shows its
  // rollouts from the first time on that something is; until then they cost it nothing.
  void serve(Trainer& trainer);

 private:
  struct Copy {
    bool wanted = false, under_way = false, arrived = false;
    DType dtype = DType::f32;
    Memory host;
    std::size_t bytes = 0;
    std::unique_ptr<EventHandle> done;
    std::vector<float> values;
  };
  struct Key {
    std::string leaf;
    std::int64_t row, rows;
    auto operator<=>(const Key&) const = default;
  };
  static void queue(Trainer& trainer, const Key& key, Copy& copy);

  std::mutex mutex_;
  std::map<Key, Copy> copies_;
};

// `count` elements of type dtype, each as the nearest float; empty where the type has none.
std::vector<float> as_floats(DType dtype, const std::byte* from, std::size_t count);

}  // namespace hotloop
