// How much memory this machine can still give.
#pragma once
#include <cstdint>

namespace hotloop {

// Bytes that this process can take without the kernel having to end one: what is free or can be freed on the machine,
// or under the limit of the control group (a container's) where that is nearer. UINT64_MAX where the system does not
// say.
std::uint64_t available_memory();

}  // namespace hotloop
