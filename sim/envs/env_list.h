// The only list of built-in environments: a new one is its header and one line here.
#pragma once
#include "sim/envs/cartpole.h"
#include "sim/envs/spring_chain.h"

namespace hotloop {

template <class... E>
struct EnvTypes {};

using BuiltInEnvs = EnvTypes<CartPole<float>,  //
                             SpringChain<float>>;

}  // namespace hotloop
