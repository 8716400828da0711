// One program a target: HOTLOOP_FUZZ_TARGET is its function.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hotloop::HOTLOOP_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
