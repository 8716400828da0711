#include "sim/core/version.h"

namespace hotloop {

const char* version() { return HOTLOOP_VERSION; }

}  // namespace hotloop
