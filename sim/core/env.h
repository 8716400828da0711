// The environment contract. An environment is a struct of pure static functions over a trivially copyable State: it
// owns no memory, launches nothing and has no #ifdef; sim/core/batch.h runs it over many worlds on either backend.
//
// Two kinds. Per-thread (ThreadEnv): one thread steps one world. Lane group (LaneEnv): kLanes lanes step one world
// whose State lies in shared memory; the functions get the group as first argument and a Scratch as last.
//
// The environment says what it wants to be true after one step: reward and `terminated`. The batch owns the time limit
// and `truncated`, automatic reset, the terminal observation, episode statistics and the containment of non-finite
// worlds.
//
// Environments are templates over Real: float is what runs, double is the oracle of the tests.
#pragma once
#ifdef __CUDACC_RTC__
#include "sim/core/env_rtc.h"
#else
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>
#endif

#include "sim/core/frame.h"
#include "sim/core/hd.h"
#include "sim/core/math.h"
#include "sim/core/rng.h"

namespace hotloop {

#ifndef __CUDACC_RTC__

struct BoxSpace {
  std::vector<float> low, high;  // infinite where unbounded
};

struct ActionSpace {
  enum class Kind : std::uint8_t { discrete, multi_discrete, box };
  Kind kind = Kind::discrete;
  std::vector<std::int64_t> nvec;  // choices of each component: one for discrete
  std::vector<float> low, high;    // box only

  static ActionSpace discrete(std::int64_t n) { return {Kind::discrete, {n}, {}, {}}; }
  static ActionSpace multi_discrete(std::vector<std::int64_t> nvec) {
    return {Kind::multi_discrete, std::move(nvec), {}, {}};
  }
  static ActionSpace box(std::vector<float> low, std::vector<float> high) {
    return {Kind::box, {}, std::move(low), std::move(high)};
  }
  bool is_box() const { return kind == Kind::box; }
  // Numbers in one action: components of a box, or of a (multi-)discrete action.
  std::int64_t dim() const { return static_cast<std::int64_t>(is_box() ? low.size() : nvec.size()); }
  // Choices of all components together: the length of an action mask and of the logits.
  std::int64_t num_choices() const {
    std::int64_t total = 0;
    for (const std::int64_t n : nvec) total += n;
    return total;
  }
};

struct EnvSpec {
  std::string name;
  BoxSpace observation;
  ActionSpace action;
  int max_episode_steps = 1000;
  double reward_threshold = std::numeric_limits<double>::quiet_NaN();  // NaN: the task names none
  bool has_action_mask = false;                                        // filled in by the registry
  std::vector<std::string> reward_terms = {};  // parts of the reward, as Gymnasium's info names them; may be empty
  double control_period = 0;  // [s] from one action to the next, for exported policies; 0: the task does not say
  std::int64_t obs_dim() const { return static_cast<std::int64_t>(observation.low.size()); }
};

// One option of an environment as it was given; `label` starts messages about it ("--env.frame_skip"). Keys that begin
// with "randomize." name fields of a task's model in which its worlds differ.
struct EnvOption {
  std::string key, text, label = {};
  friend bool operator==(const EnvOption& a, const EnvOption& b) { return a.key == b.key && a.text == b.text; }
};
using EnvOptions = std::vector<EnvOption>;
inline constexpr std::string_view kRandomizePrefix = "randomize.";
inline bool is_randomize(std::string_view key) { return key.starts_with(kRandomizePrefix); }
// The key as configurations spell it: "env.frame_skip", "randomize.body_mass".
inline std::string option_spelling(const std::string& key) { return is_randomize(key) ? key : "env." + key; }

// An option that an environment has: key, default, what it takes, what it does.
struct EnvOptionInfo {
  std::string key, preset, accepted, help;
};

#endif

template <class Real>
struct StepResult {
  Real reward;
  std::int32_t terminated;  // 0 or 1; a whole word, as compilers keep a bool in a returned struct in memory
};

#ifndef __CUDACC_RTC__

// What both kinds have in common. Action is int for discrete environments (one entry a component), Real for boxes.
template <class E>
concept EnvBase = std::is_trivially_copyable_v<typename E::State> && sizeof(typename E::State) % 4 == 0 &&
                  (std::same_as<typename E::Action, int> ||
                   std::same_as<typename E::Action, typename E::Real>)&&E::kObsDim
                      > 0 &&
                  E::kActionDim > 0 && std::default_initializable<typename E::Params>&& requires {
  { E::spec() } -> std::same_as<EnvSpec>;
};

template <class E>
concept ThreadEnv = EnvBase<E> && requires(const typename E::Params& p, typename E::State& s,
                                           const typename E::Action* action, Rng& rng, typename E::Real* obs) {
  { E::reset(p, s, rng) } -> std::same_as<void>;
  { E::step(p, s, action, rng) } -> std::same_as<StepResult<typename E::Real>>;
  { E::observe(p, s, obs) } -> std::same_as<void>;
};

template <int L>
struct SerialGroup;

// step's result must be the same on every lane. Every function ends with all lanes synchronised.
template <class E>
concept LaneEnv = EnvBase<E> &&
    requires(const SerialGroup<E::kLanes>& group, const typename E::Params& p, typename E::State& s,
             const typename E::Action* action, Rng& rng, typename E::Real* obs, typename E::Scratch& scratch) {
  { E::reset(group, p, s, rng, scratch) } -> std::same_as<void>;
  { E::step(group, p, s, action, rng, scratch) } -> std::same_as<StepResult<typename E::Real>>;
  { E::observe(group, p, s, obs, scratch) } -> std::same_as<void>;
};

#endif

// Optional: which choices are legal now. mask holds num_choices() bytes, 1 = legal; every component has a legal choice.
template <class E>
concept HasActionMask = requires(const typename E::Params& p, const typename E::State& s, std::uint8_t* mask) {
  E::action_mask(p, s, mask);
};

// Optional: a picture. visual() lists the shapes once (host only; `shapes` is a VisualBuilder), frames() says where the
// frames of one world are: out holds kFrames, all at the origin; out[0] is the world itself and stays there.
template <class E>
concept HasFrames = E::kFrames >
0 && requires(const typename E::Params& p, const typename E::State& s, Frame* out) { E::frames(p, s, out); };

}  // namespace hotloop
