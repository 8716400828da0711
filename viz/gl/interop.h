// A GL buffer as memory of a CUDA device: kernels write into it and OpenGL reads it, without a copy.
#pragma once
#include <memory>
#include <string>

#include "sim/core/device.h"

namespace hotloop {

class InteropBuffer {
 public:
  // Null where CUDA and OpenGL do not share the buffer: `reason` says why, in a few words.
  static std::unique_ptr<InteropBuffer> open(unsigned gl_buffer, Device device, std::string& reason);
  ~InteropBuffer();

  // Device memory from here until unmap(), ordered on exec's stream with OpenGL's own use. Its content is undefined.
  void* map(const Exec& exec);
  void unmap(const Exec& exec);

 private:
  InteropBuffer() = default;
  void* resource_ = nullptr;
};

}  // namespace hotloop
