#include "sim/tasks/task_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <mutex>

#include "sim/core/assets.h"
#include "sim/core/error.h"
#include "sim/mujoco/visual.h"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

fs::path model_path(const TaskSizes& task) {
  const std::optional<fs::path> assets = assets_dir();
  if (!assets)
    throw Error(std::string(task.name) + ": its model " + task.model +
                " was not found; HOTLOOP_ASSETS must name the folder that holds mjcf/");
  return *assets / "mjcf" / task.model;
}

void check_model(const TaskSizes& task, const ModelData& m) {
  const auto check = [&](const char* what, int has, int needs) {
    if (has != needs) throw Error(fmt::format("{}: {} is {}, {} needs {}", m.path, what, has, task.name, needs));
  };
  check("nq", m.nq, task.nq);
  check("nv", m.nv, task.nv);
  check("nu", m.nu, task.nu);
  check("nbody", m.nbody, task.nbody);
  for (int u = 0; u < m.nu; ++u) {
    const double low = m.actuator_ctrlrange[2 * u], high = m.actuator_ctrlrange[2 * u + 1];
    if (m.actuator_ctrllimited[u] == 0 || low != -task.action_bound || high != task.action_bound)
      throw Error(fmt::format("{}: ctrlrange of actuator {} is [{}, {}], {} needs [{}, {}]", m.path, u, low, high,
                              task.name, -task.action_bound, task.action_bound));
  }
}

}  // namespace

std::shared_ptr<const LoadedModel> load_task_model(const TaskSizes& task) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const LoadedModel>> loaded;
  const std::string path = model_path(task).string();
  const std::lock_guard lock(mutex);
  std::shared_ptr<const LoadedModel>& model = loaded[path];
  if (!model) {
    auto fresh = load_model(path);
    check_model(task, fresh->data());
    model = std::move(fresh);
  }
  return model;
}

std::string option_label(const EnvOption& option) {
  return option.label.empty() ? option_spelling(option.key) : option.label;
}

void refuse_option(const EnvOption& option, const char* task, const std::vector<std::string>& known) {
  const std::string near = nearest(option.key, known);
  throw Error(option_label(option) + ": " + task + " has no such option" +
              (near.empty() ? std::string("; see hotloop list ") + task : " (did you mean 'env." + near + "'?)"));
}

int find_body(const EnvOption& option, const ModelData& model) {
  const std::string& text = option.text;
  int id = -1;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (failure != std::errc() || end != text.data() + text.size()) {
    const auto at = std::find(model.body_names.begin(), model.body_names.end(), text);
    id = at == model.body_names.end() || text.empty() ? -1 : static_cast<int>(at - model.body_names.begin());
  }
  if (id < 0 || id >= model.nbody)
    throw Error(fmt::format("{} {}: must be the name of a body or a number in [0, {}]{}", option_label(option),
                            shown(text), model.nbody - 1, suggestion(text, model.body_names)));
  return id;
}

RobotInfo robot_info(const ModelData& model, int frame_skip) {
  RobotInfo robot;
  robot.control_period = model.timestep * frame_skip;
  for (int j = 0; j < model.njnt; ++j) {
    const auto type = static_cast<JointType>(model.jnt_type[j]);
    if (type != JointType::hinge && type != JointType::slide) continue;
    robot.joint_names.push_back(model.jnt_names[j]);
    robot.default_joint_positions.push_back(model.qpos0[model.jnt_qposadr[j]]);
  }
  robot.actuator_names = model.actuator_names;
  for (int u = 0; u < model.nu; ++u) {
    const bool tendon = static_cast<Transmission>(model.actuator_trntype[u]) == Transmission::tendon;
    robot.actuator_joints.push_back(tendon ? "" : model.jnt_names[model.actuator_trnid[u]]);
    robot.actuator_gear.push_back(model.actuator_gear[6 * u]);
  }
  return robot;
}

VisualModel make_task_visual(const TaskSizes& task, const TaskCamera& camera) {
  const std::shared_ptr<const LoadedModel> model = load_task_model(task);
  VisualModel visual = model_visual(*model);
  look_at_bodies(*model, visual);
  visual.track = camera.track;
  visual.elevation = static_cast<float>(camera.elevation);
  if (camera.distance > 0) visual.distance = static_cast<float>(camera.distance) / visual.extent;
  return visual;
}

EnvSpec make_task_spec(const TaskSizes& task, int obs_dim, int max_episode_steps, double reward_threshold,
                       std::vector<std::string> reward_terms) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto bound = static_cast<float>(task.action_bound);
  const auto nu = static_cast<std::size_t>(task.nu), obs = static_cast<std::size_t>(obs_dim);
  return {.name = task.name,
          .observation = {std::vector<float>(obs, -kInfinity), std::vector<float>(obs, kInfinity)},
          .action = ActionSpace::box(std::vector<float>(nu, -bound), std::vector<float>(nu, bound)),
          .max_episode_steps = max_episode_steps,
          .reward_threshold = reward_threshold,
          .reward_terms = std::move(reward_terms)};
}

}  // namespace hotloop
