// Random models within what we step: trees of bodies with any joints, geoms, tendons, actuators and options.
#pragma once
#include <string>

namespace hotloop {

// The same text for the same seed, on every machine.
std::string random_mjcf(unsigned seed);

}  // namespace hotloop
