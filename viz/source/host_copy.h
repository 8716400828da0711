// Numbers of worlds between their device and the host; both calls wait for exec.
#pragma once
#include <vector>

#include "sim/core/device.h"

namespace hotloop {

template <class T>
std::vector<T> to_host(const Exec& exec, const T* from, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  copy_async(exec, values.data(), Device{}, from, exec.device, values.size() * sizeof(T));
  synchronize(exec);
  return values;
}

template <class T>
void to_device(const Exec& exec, T* to, const std::vector<T>& values) {
  copy_async(exec, to, exec.device, values.data(), Device{}, values.size() * sizeof(T));
  synchronize(exec);
}

}  // namespace hotloop
