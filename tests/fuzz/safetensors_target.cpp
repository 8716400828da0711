#include <cstdlib>

#include "data/safetensors.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/targets.h"

namespace hotloop {

void fuzz_safetensors(std::string_view bytes) {
  expect_calm([&] {
    const Safetensors file = Safetensors::parse(std::string(bytes), "fuzz.safetensors", {.require_checksum = false});
    std::size_t sum = 0;
    for (const NamedTensor& tensor : file.tensors()) {
      for (const std::byte byte : tensor.bytes) sum += std::to_integer<std::size_t>(byte);
      if (file.get(tensor.name).bytes.data() != tensor.bytes.data()) std::abort();
    }
    file.get("weight." + std::to_string(sum));
  });
}

}  // namespace hotloop
