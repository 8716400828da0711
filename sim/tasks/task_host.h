// The parts of tasks that never run on a device: options from text, models, specs.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/registry.h"
#include "sim/core/value.h"
#include "sim/mujoco/load.h"
#include "sim/tasks/randomize.h"
#include "sim/tasks/task.h"

namespace hotloop {

struct TaskSizes {
  const char *name, *model;
  int nq, nv, nu, nbody;
  double action_bound;
};
template <class T>
TaskSizes task_sizes() {
  return {T::kName, T::kModel, T::kNq, T::kNv, T::kNu, T::kNbody, T::kActionBound};
}

// The task's model out of assets/mjcf, loaded once. Error if it is not there or is not the one that the task is for.
std::shared_ptr<const LoadedModel> load_task_model(const TaskSizes& task);

// "--env.frame_skip", or whatever the option was given as.
std::string option_label(const EnvOption& option);
[[noreturn]] void refuse_option(const EnvOption& option, const char* task, const std::vector<std::string>& known);
// The number of the body named `text`. Error where the model has no such body.
int find_body(const EnvOption& option, const ModelData& model);

// ---- one option: its text, what it takes, its value ----------------------------------------------------------------

template <class Real>
concept TaskReal = std::is_floating_point_v<Real>;

// A reward of weights beyond this would not fit a float once summed over an episode.
inline KeyRule within_float(KeyRule rule) {
  rule.low = std::max(rule.low, -1e12);
  rule.high = std::min(rule.high, 1e12);
  return rule;
}

template <TaskReal Real>
std::string option_text(const Real& value) {
  return toml_text(static_cast<double>(value));
}
inline std::string option_text(const int& value) { return toml_text(std::int64_t{value}); }
inline std::string option_text(const bool& value) { return toml_text(value); }
inline std::string option_text(const BodyIndex& value) { return toml_text(std::int64_t{value.id}); }
template <class Real>
std::string option_text(const Range<Real>& value) {
  return toml_text(Interval{static_cast<double>(value.low), static_cast<double>(value.high)});
}

template <TaskReal Real>
std::string option_accepts(const KeyRule& rule, const Real&) {
  return accepted(within_float(rule), double{});
}
inline std::string option_accepts(const KeyRule& rule, const int&) { return accepted(rule, std::int64_t{}); }
inline std::string option_accepts(const KeyRule& rule, const bool& value) { return accepted(rule, value); }
inline std::string option_accepts(const KeyRule&, const BodyIndex&) { return "name or number of a body"; }
template <class Real>
std::string option_accepts(const KeyRule& rule, const Range<Real>&) {
  return accepted(rule, Interval{});
}

// Sets a value; the option's text in its canonical form. model: null where only the form is asked for.
template <TaskReal Real>
std::string read_option(const EnvOption& option, const KeyRule& rule, const ModelData*, Real& value) {
  double number = 0;
  parse_value(option_label(option), option.text, within_float(rule), number);
  value = static_cast<Real>(number);
  return toml_text(number);
}
inline std::string read_option(const EnvOption& option, const KeyRule& rule, const ModelData*, int& value) {
  std::int64_t number = 0;
  parse_value(option_label(option), option.text, rule, number);
  value = static_cast<int>(number);
  return toml_text(number);
}
inline std::string read_option(const EnvOption& option, const KeyRule& rule, const ModelData*, bool& value) {
  parse_value(option_label(option), option.text, rule, value);
  return toml_text(value);
}
template <class Real>
std::string read_option(const EnvOption& option, const KeyRule& rule, const ModelData*, Range<Real>& value) {
  Interval interval;
  parse_value(option_label(option), option.text, rule, interval);
  value = {static_cast<Real>(interval.low), static_cast<Real>(interval.high)};
  return toml_text(interval);
}
inline std::string read_option(const EnvOption& option, const KeyRule&, const ModelData* model, BodyIndex& value) {
  if (model != nullptr) value.id = find_body(option, *model);
  return option.text;
}

// ---- all options of a task -----------------------------------------------------------------------------------------

template <class T>
std::vector<std::string> option_keys() {
  std::vector<std::string> keys;
  typename T::Options options;
  T::visit_options(options, [&](const char* key, auto&, const KeyRule&) { keys.emplace_back(key); });
  return keys;
}

// The task's options with `given` laid over the defaults, the last one of a key winning.
template <class T>
typename T::Options read_options(const EnvOptions& given, const ModelData* model) {
  typename T::Options options;
  for (const EnvOption& option : given) {
    if (is_randomize(option.key)) continue;
    bool found = false;
    T::visit_options(options, [&](const char* key, auto& value, const KeyRule& rule) {
      if (option.key != key) return;
      found = true;
      read_option(option, rule, model, value);
    });
    if (!found) refuse_option(option, T::kName, option_keys<T>());
  }
  return options;
}

// T in double precision: texts would show float's rounding.
template <class T>
EnvOptions resolve_task_options(const EnvOptions& given) {
  typename T::Options options = read_options<T>(given, nullptr);
  EnvOptions all;
  T::visit_options(options, [&](const char* key, auto& value, const KeyRule& rule) {
    EnvOption resolved{key, option_text(value)};
    for (const EnvOption& option : given)
      if (option.key == key) resolved.text = read_option(option, rule, nullptr, value);
    all.push_back(std::move(resolved));
  });
  for (EnvOption& option : resolve_randomize(given)) all.push_back(std::move(option));
  return all;
}

template <class T>
std::vector<EnvOptionInfo> task_option_infos() {
  std::vector<EnvOptionInfo> infos;
  typename T::Options options;
  T::visit_options(options, [&](const char* key, auto& value, const KeyRule& rule) {
    infos.push_back({key, option_text(value), option_accepts(rule, value), rule.help});
  });
  for (EnvOptionInfo& info : randomize_infos()) infos.push_back(std::move(info));
  return infos;
}

RobotInfo robot_info(const ModelData& model, int frame_skip);

template <class T>
RobotInfo task_robot(const EnvOptions& given) {
  const ModelData& model = load_task_model(task_sizes<T>())->data();
  return robot_info(model, read_options<T>(given, &model).frame_skip);
}

// The picture of a task's model, seen first from its camera.
VisualModel make_task_visual(const TaskSizes& task, const TaskCamera& camera);

template <class T>
VisualModel task_visual(const EnvOptions&) {
  TaskCamera camera;
  if constexpr (requires { T::kCamera; }) camera = T::kCamera;
  return make_task_visual(task_sizes<T>(), camera);
}

// Observations are unbounded.
EnvSpec make_task_spec(const TaskSizes& task, int obs_dim, int max_episode_steps, double reward_threshold,
                       std::vector<std::string> reward_terms);

template <class T>
EnvSpec task_spec(const EnvOptions& given) {
  return make_task_spec(task_sizes<T>(), T::obs_dim(read_options<T>(given, nullptr)), T::kMaxEpisodeSteps,
                        T::kRewardThreshold, {T::kTermNames, T::kTermNames + T::kTerms});
}

}  // namespace hotloop
