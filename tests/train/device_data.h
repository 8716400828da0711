// Buffers filled from and read back to the host, for tests that run on either device.
#pragma once
#include <vector>

#include "sim/core/device.h"

namespace hotloop {

template <class T>
Buffer<T> upload(Device device, const std::vector<T>& values) {
  Buffer<T> buffer(device, values.size());
  const Exec exec{device};
  copy_async(exec, buffer.data(), device, values.data(), {}, buffer.bytes());
  synchronize(exec);
  return buffer;
}

template <class T>
std::vector<T> download(Device device, const T* data, std::size_t count) {
  std::vector<T> values(count);
  const Exec exec{device};
  copy_async(exec, values.data(), {}, data, device, count * sizeof(T));
  synchronize(exec);
  return values;
}

template <class T>
std::vector<T> download(const Buffer<T>& buffer) {
  return download(buffer.device(), buffer.data(), buffer.size());
}

}  // namespace hotloop
