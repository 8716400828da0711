// register_env<E>(): what a program outside this tree calls to add an environment. .cu files only (batch_impl.h).
#pragma once
#include "sim/core/batch_impl.h"
#include "sim/core/registry.h"

namespace hotloop {

template <class E>
EnvEntry make_entry() {
  static_assert(ThreadEnv<E> || LaneEnv<E>, "the type does not satisfy ThreadEnv or LaneEnv: see sim/core/env.h");
  EnvEntry entry{E::spec(), &make_batch<E>};
  entry.spec.has_action_mask = HasActionMask<E>;
  entry.per_lane = LaneEnv<E>;
  return entry;
}

template <class E>
void register_env() {
  register_environment(make_entry<E>());
}

}  // namespace hotloop
