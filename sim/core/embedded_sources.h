// The headers that kernels compiled at run time include, as text, by the names they are included by; written by
// cmake/EmbedSources.cmake when the program is built.
#pragma once
#include <vector>

namespace hotloop {

struct EmbeddedSource {
  const char *name, *text;
};
const std::vector<EmbeddedSource>& embedded_sources();

}  // namespace hotloop
