// The only list of built-in environments: a new one is its header and one line here.
#pragma once
#include "sim/envs/acrobot.h"
#include "sim/envs/cartpole.h"
#include "sim/envs/mountain_car.h"
#include "sim/envs/mountain_car_continuous.h"
#include "sim/envs/pendulum.h"
#include "sim/envs/spring_chain.h"

namespace hotloop {

template <class... E>
struct EnvTypes {};

// The environment at place I of the list.
template <int I, class List>
struct EnvAt;
template <class First, class... Rest>
struct EnvAt<0, EnvTypes<First, Rest...>> {
  using type = First;
};
template <int I, class First, class... Rest>
struct EnvAt<I, EnvTypes<First, Rest...>> : EnvAt<I - 1, EnvTypes<Rest...>> {};

using BuiltInEnvs = EnvTypes<CartPole<float>,               //
                             MountainCar<float>,            //
                             MountainCarContinuous<float>,  //
                             Pendulum<float>,               //
                             Acrobot<float>,                //
                             SpringChain<float>>;

}  // namespace hotloop
