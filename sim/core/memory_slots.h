// Memory of things that exist many times over. While fill() calls a function, plain Memory that it makes on the device
// is a part of slot 0, one after the other; the same part of slot k lies k * stride() bytes further on.
#pragma once
#include "sim/core/device.h"

namespace hotloop {

class MemorySlots {
 public:
  explicit MemorySlots(Device device) : device_(device) {}  // only measures: stride() is what fill's functions took
  MemorySlots(Device device, std::int64_t count, std::size_t stride);
  // What f makes must not outlive the slots.
  template <class F>
  void fill(F f) {
    const Open open(this);
    f();
  }
  std::size_t stride() const { return stride_; }

  // Of the slots that this thread fills, a part of so many bytes; null where memory is to be made as ever. For Memory.
  static std::byte* take(Device device, std::size_t bytes);

 private:
  struct Open {
    explicit Open(MemorySlots* slots);
    ~Open();
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
  };

  Device device_;
  Memory memory_;
  std::size_t stride_ = 0, used_ = 0;
};

}  // namespace hotloop
