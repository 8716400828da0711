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

using BuiltInEnvs = EnvTypes<CartPole<float>,               //
                             MountainCar<float>,            //
                             MountainCarContinuous<float>,  //
                             Pendulum<float>,               //
                             Acrobot<float>,                //
                             SpringChain<float>>;

}  // namespace hotloop
