// The kinds of activation and of action distribution that a PolicySpec names. Kernels compiled at run time use this
// file.
#pragma once
#include <cstdint>

namespace hotloop {

enum class Activation : std::uint8_t { none, tanh, relu, elu, silu };
enum class HeadKind : std::uint8_t { categorical, gaussian, squashed_gaussian };

}  // namespace hotloop
