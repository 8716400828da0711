#pragma once

namespace hotloop {

const char* version();  // "0.1.0"

}  // namespace hotloop
