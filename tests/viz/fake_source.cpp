#include "tests/viz/fake_source.h"

#include <algorithm>
#include <glm/gtc/quaternion.hpp>

namespace hotloop {
namespace {

VisualModel arm() {
  VisualModel model;
  model.frames = {{.name = "world"},
                  {.name = "base", .mass = 4, .inertia = {0.1f, 0.1f, 0.1f}},
                  {.name = "upper", .parent = 1, .mass = 1, .com = {0, 0, 0.25f}, .inertia = {0.02f, 0.02f, 0.002f}},
                  {.name = "fore", .parent = 2, .mass = 1, .com = {0, 0, 0.25f}, .inertia = {0.02f, 0.02f, 0.002f}}};
  model.shapes = {
      {.kind = ShapeKind::plane, .size = {0, 0, 1}, .rgba = {0.55f, 0.6f, 0.65f, 1}, .name = "floor"},
      {.kind = ShapeKind::box,
       .frame = 1,
       .size = {0.3f, 0.3f, 0.15f},
       .rgba = {0.25f, 0.45f, 0.75f, 1},
       .name = "base"},
      {.kind = ShapeKind::capsule,
       .frame = 2,
       .pos = {0, 0, 0.25f},
       .size = {0.07f, 0.25f, 0},
       .rgba = {0.85f, 0.5f, 0.2f, 1},
       .name = "upper"},
      {.kind = ShapeKind::capsule,
       .frame = 3,
       .pos = {0, 0, 0.25f},
       .size = {0.06f, 0.25f, 0},
       .rgba = {0.8f, 0.75f, 0.3f, 1},
       .group = 1,
       .name = "fore"},
  };
  model.joints = {
      {.kind = VisualJoint::Kind::free, .name = "root", .frame = 1, .qpos = 0},
      {.name = "shoulder", .frame = 2, .qpos = 7, .axis = {0, 1, 0}, .limited = true, .range = {-1.5f, 1.5f}},
      {.name = "elbow", .frame = 3, .qpos = 8, .axis = {0, 1, 0}, .limited = true, .range = {-2, 2}}};
  model.cameras = {
      {.name = "side", .pos = {0, -3, 1}, .quat = {0.7071f, 0.7071f, 0, 0}},
      {.name = "chase", .mode = FollowMode::track, .frame = 1, .pos = {0, -2, 0.5f}, .quat = {0.7071f, 0.7071f, 0, 0}}};
  model.lights = {{.pos = {1, -1, 4}, .dir = {-0.2f, 0.2f, -1}}};
  model.center = {0, 0, 0.7f};
  model.extent = 1.2f;
  model.distance = 2.5f;
  model.track = 1;
  return model;
}

glm::quat about_y(float angle) { return glm::angleAxis(angle, glm::vec3(0, 1, 0)); }

Frame frame(const glm::vec3& p, const glm::quat& q) {
  Frame out;
  out.pos[0] = p.x, out.pos[1] = p.y, out.pos[2] = p.z;
  out.quat[0] = q.w, out.quat[1] = q.x, out.quat[2] = q.y, out.quat[3] = q.z;
  return out;
}

}  // namespace

FakeSource::FakeSource(std::int64_t worlds, SourceKind kind) : model_(arm()) {
  what.kind = kind;
  what.name = "Arm-v0";
  what.num_worlds = worlds;
  what.control_period = 0.01;
  what.controls = {{"shoulder motor", -1, 1, 0}, {"elbow motor", -2, 2, 0}, {"gear", 0, 0, 3}};
  what.observation_dim = 6;
  what.reward_terms = {"forward", "control cost", "alive"};
  what.can_perturb = what.can_pose = true;
}

void FakeSource::write_frames(std::int64_t first, std::int64_t count, Frame* out) {
  for (std::int64_t w = first; w < first + count; ++w) {
    const float swing = 0.4f * std::sin(0.05f * static_cast<float>(position_) + static_cast<float>(w));
    const glm::vec3 base(qpos[0], qpos[1], qpos[2]);
    const glm::quat turn(qpos[3], qpos[4], qpos[5], qpos[6]);
    const glm::quat upper = turn * about_y(qpos[7] + swing), fore = upper * about_y(qpos[8] - swing);
    const glm::vec3 elbow = base + upper * glm::vec3(0, 0, 0.5f);
    *out++ = Frame{};
    *out++ = frame(base, turn);
    *out++ = frame(base, upper);
    *out++ = frame(elbow, fore);
  }
}

void FakeSource::step() {
  ++steps;
  newest_ = ++position_;
  if (position_ % 50 == 0)
    ends_.push_back(
        {position_ / 50 % what.num_worlds, 10.0 + static_cast<double>(position_ % 7), 50, position_ % 100 == 0});
}

void FakeSource::reset() {
  ++resets;
  position_ = newest_ = 0;
}

void FakeSource::restart(std::int64_t seed) {
  restarted_with = seed;
  position_ = newest_ = 0;
}

WorldReport FakeSource::report(std::int64_t world) {
  const auto t = static_cast<float>(position_), w = static_cast<float>(world);
  WorldReport r;
  r.reward_terms = {std::sin(0.1f * t + w), -0.1f, 0.5f};
  r.reward = r.reward_terms[0] + 0.4;
  r.episode_return = w == 4 ? 100 : w == 2 ? -100 : w;
  r.episode_length = position_ % 50;
  r.observation = {t, w, 0.1f * t, std::cos(0.1f * t), 1, 2};
  r.action = taken_world == world ? taken_action : std::vector<float>{0.25f, -0.5f, 1};
  r.qpos = qpos;
  r.qvel = std::vector<float>(8, 0.0f);
  r.energy = 3 + std::sin(0.02 * t);
  return r;
}

std::vector<ShownContact> FakeSource::contacts(std::int64_t) {
  return {
      {.pos = {0.2f, 0.2f, 0}, .normal = {0, 0, 1}, .depth = 0.002f, .force = {0, 3, 40}, .shape1 = 0, .shape2 = 1}};
}

void FakeSource::take_over(std::int64_t world, std::span<const float> action) {
  taken_world = world;
  taken_action.assign(action.begin(), action.end());
}

void FakeSource::set_qpos(std::int64_t world, std::span<const float> values) {
  posed_world = world;
  qpos.assign(values.begin(), values.end());
}

void FakeSource::perturb(std::int64_t world, int frame, const Float3& force, const Float3& torque) {
  pushes.push_back({world, frame, force, torque});
}

void FakeSource::set_physics_option(const std::string& name, double value) {
  for (PhysicsOption& option : options)
    if (option.name == name) option.value = value;
}

void FakeSource::take_episode_ends(std::vector<EpisodeEnd>& out) {
  out.insert(out.end(), ends_.begin(), ends_.end());
  ends_.clear();
}

void FakeSource::read_observations(std::vector<float>& out) {
  out.clear();
  for (std::int64_t w = 0; w < what.num_worlds; ++w) {
    const std::vector<float> one = report(w).observation;
    out.insert(out.end(), one.begin(), one.end());
  }
}

void FakeSource::read_actions(std::vector<float>& out) {
  out.clear();
  for (std::int64_t w = 0; w < what.num_worlds; ++w)
    for (int k = 0; k < 3; ++k) out.push_back(std::sin(static_cast<float>(w * 3 + k)));
}

std::vector<WorldSource::TensorInfo> FakeSource::tensors() {
  if (!has_training) return {};
  return {{"rollout/obs", {16, 6}}, {"rollout/reward", {16, 9}}};
}

std::vector<float> FakeSource::read_tensor(const std::string& key, std::int64_t limit) {
  tensor_read = key;
  std::vector<float> values;
  const int columns = key == "rollout/obs" ? 6 : 9;
  for (int i = 0; i < std::min<std::int64_t>(limit, 16) * columns; ++i)
    values.push_back(std::sin(0.07f * static_cast<float>(i)));
  return values;
}

FakeSource full_source(std::int64_t worlds) {
  FakeSource source(worlds);
  source.options = {{.name = "gravity_z", .help = "Gravity along z [m/s^2]", .value = -9.81, .low = -20, .high = 20},
                    {.name = "integrator", .help = "How time is stepped", .value = 0, .choices = {"Euler", "RK4"}},
                    {.name = "contact", .help = "Whether bodies touch", .value = 1, .is_flag = true}};
  source.has_training = true;
  source.training.iteration = 40;
  source.training.total_iterations = 100;
  source.training.global_step = 40960;
  source.training.steps_per_second = 1.2e6;
  for (const char* name : {"charts/episodic_return", "losses/policy_loss", "losses/value_loss", "losses/approx_kl",
                           "losses/entropy", "charts/learning_rate"}) {
    TelemetryCurve curve{name, {}, {}};
    for (int i = 1; i <= 40; ++i) {
      curve.step.push_back(1024.0 * i);
      curve.value.push_back(std::log(1.0 + i) + 0.3 * std::sin(7.0 * i));
    }
    source.training.curves.push_back(curve);
  }
  source.training.log_lines = {"Arm-v0 on cpu: 9 worlds x 128 steps", "20.5 k steps: return 12.3 +- 0.4, best so far"};
  source.marks = {{0, 0, 49, 12.5, true}, {1, 0, 79, 40.25, false}, {0, 50, 120, -3, true}};
  return source;
}

}  // namespace hotloop
