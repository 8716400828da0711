// A CUDA graph: work queued on a stream once, then replayed with one launch.
#pragma once
#include "sim/core/device.h"

namespace hotloop {

class Graph {
 public:
  Graph() = default;
  ~Graph();
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;

  // From begin to end, work queued on exec's stream by this thread is recorded instead of run; nothing may synchronise
  // or allocate. exec must be a CUDA device with a stream of its own. What was recorded before is dropped.
  void begin(const Exec& exec);
  void end();
  // Runs the recorded work, ordered on exec.
  void replay(const Exec& exec) const;
  bool empty() const { return executable_ == nullptr; }

 private:
  void drop() noexcept;
  void* stream_ = nullptr;      // cudaStream_t while recording
  void* executable_ = nullptr;  // cudaGraphExec_t
};

}  // namespace hotloop
