// Stand-ins for what an environment's spec() names, for kernels compiled at run time: they have no standard library and
// never ask for a specification.
#pragma once
#include <cstdint>

namespace std {
template <class T>
struct vector {
  template <class... A>
  vector(const A&...) {}
};
template <class T>
struct numeric_limits {
  static T infinity() { return T(1e38f); }
  static T quiet_NaN() { return T(0); }
};
template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;
template <bool, class A, class B>
struct choice {
  using type = A;
};
template <class A, class B>
struct choice<false, A, B> {
  using type = B;
};
template <bool kFirst, class A, class B>
using conditional_t = typename choice<kFirst, A, B>::type;
}  // namespace std

namespace hotloop {

struct BoxSpace {
  std::vector<float> low, high;
};
struct ActionSpace {
  static ActionSpace discrete(std::int64_t) { return {}; }
  static ActionSpace multi_discrete(const std::vector<std::int64_t>&) { return {}; }
  static ActionSpace box(const std::vector<float>&, const std::vector<float>&) { return {}; }
};
struct EnvSpec {
  const char* name;
  BoxSpace observation;
  ActionSpace action;
  int max_episode_steps = 0;
  double reward_threshold = 0;
  double control_period = 0;
};

template <int L>
struct SerialGroup;
template <class E>
concept ThreadEnv = E::kObsDim >
0;
template <class E>
concept LaneEnv = E::kLanes >
0;

}  // namespace hotloop
