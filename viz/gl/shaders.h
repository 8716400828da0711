// The shaders of viz/scene/shaders as text, part of the executable; written by cmake/EmbedSources.cmake.
#pragma once
#include "sim/core/embedded_sources.h"

namespace hotloop {

const std::vector<EmbeddedSource>& shader_sources();

}  // namespace hotloop
