// register_env<E>(): what a program outside this tree calls to add an environment. .cu files only (batch_impl.h).
#pragma once
#include "sim/core/batch_impl.h"
#include "sim/core/registry.h"
#include "sim/core/visual_builder.h"

namespace hotloop {

template <class E>
VisualModel env_visual(const EnvOptions&) {
  VisualBuilder shapes(E::spec().name);
  E::visual(typename E::Params{}, shapes);
  return shapes.finish(E::kFrames);
}

template <class E>
EnvEntry make_entry() {
  static_assert(ThreadEnv<E> || LaneEnv<E>, "the type does not satisfy ThreadEnv or LaneEnv: see sim/core/env.h");
  EnvEntry entry{E::spec(), &make_batch<E>};
  entry.spec.has_action_mask = HasActionMask<E>;
  entry.per_lane = LaneEnv<E>;
  if constexpr (HasFrames<E>) entry.visual = &env_visual<E>;
  return entry;
}

template <class E>
void register_env() {
  register_environment(make_entry<E>());
}

}  // namespace hotloop
