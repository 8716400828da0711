#include "viz/source/model_source.h"

#include <filesystem>

#include "sim/core/error.h"
#include "sim/mujoco/visual.h"
#include "viz/source/host_copy.h"
#include "viz/source/open_parts.h"

namespace hotloop {

// The generic kernel: ready at once, and its options may change.
ModelSource::ModelSource(std::shared_ptr<const LoadedModel> model, const Config& config)
    : LiveSource(config.device),
      model_(std::move(model)),
      random_(config.random),
      batch_(model_, config.worlds, config.device, false, {"gravity", kExternalForces}, true),
      options_(batch_),
      energy_(*model_) {
  const ModelData& m = model_->data();
  info_.kind = SourceKind::model;
  info_.name = std::filesystem::path(m.path).filename().string();
  info_.path = m.path;
  info_.num_worlds = config.worlds;
  info_.control_period = m.timestep;
  info_.seed = config.seed;
  info_.can_perturb = info_.can_pose = true;
  for (int u = 0; u < m.nu; ++u) {
    const std::string& name = m.actuator_names[static_cast<std::size_t>(u)];
    ControlInfo control{.name = name.empty() ? "actuator " + std::to_string(u) : name};
    if (m.actuator_ctrllimited[static_cast<std::size_t>(u)] != 0) {
      control.low = static_cast<float>(m.actuator_ctrlrange[static_cast<std::size_t>(2 * u)]);
      control.high = static_cast<float>(m.actuator_ctrlrange[static_cast<std::size_t>(2 * u + 1)]);
    }
    info_.controls.push_back(std::move(control));
  }
  visual_ = model_visual(*model_);
  reset();
}

void ModelSource::reset() {
  end_push();
  options_.undo(exec_);
  info_.control_period = static_cast<double>(batch_.fields().options().timestep);
  batch_.reset(exec_);
  const auto bytes = [&](int numbers) { return sizeof(float) * static_cast<std::size_t>(info_.num_worlds * numbers); };
  const ModelData& m = model_->data();
  begin_history({{batch_.ctrl(), bytes(m.nu)}, {batch_.qpos(), bytes(m.nq + 2 * m.nv)}, {batch_.qacc(), bytes(m.nv)}});
}

void ModelSource::restart(std::int64_t seed) {
  info_.seed = seed;
  reset();
}

void ModelSource::write_frames(std::int64_t first, std::int64_t count, Frame* out) {
  batch_.write_frames(exec_, first, count, out);
}

void ModelSource::step() {
  // draws of one seed lie 2^32 steps before those of the next
  if (random_) batch_.random_controls(exec_, static_cast<std::uint64_t>(position() + (info_.seed << 32)));
  for (const auto& [world, action] : hands_)
    to_device(exec_, batch_.ctrl() + world * static_cast<std::int64_t>(action.size()), action);
  batch_.step(exec_, 1);
  advance();
}

void ModelSource::release() {
  for (const auto& [world, action] : hands_)
    to_device(exec_, batch_.ctrl() + world * static_cast<std::int64_t>(action.size()),
              std::vector<float>(action.size()));
  LiveSource::release();
}

WorldReport ModelSource::report(std::int64_t world) {
  check_world(world);
  const ModelData& m = model_->data();
  WorldReport r;
  r.qpos = to_host(exec_, batch_.qpos() + world * m.nq, m.nq);
  r.qvel = to_host(exec_, batch_.qvel() + world * m.nv, m.nv);
  r.action = to_host(exec_, batch_.ctrl() + world * m.nu, m.nu);
  r.energy = energy_.of(r.qpos, r.qvel);
  return r;
}

void ModelSource::set_qpos(std::int64_t world, std::span<const float> qpos) {
  check_world(world);
  const auto nq = static_cast<std::size_t>(model_->data().nq);
  if (qpos.size() != nq)
    throw Error("qpos of " + std::to_string(qpos.size()) + " numbers: " + info_.name + " has " + std::to_string(nq));
  to_device(exec_, batch_.qpos() + world * static_cast<std::int64_t>(nq), std::vector<float>(qpos.begin(), qpos.end()));
  changed();
}

void ModelSource::set_keyframe(std::int64_t world, int index) {
  const ModelData& m = model_->data();
  if (index < 0 || index >= static_cast<int>(m.key_qpos.size())) return;
  check_world(world);
  const auto write = [&](float* to, const std::vector<double>& from) {
    to_device(exec_, to + world * static_cast<std::int64_t>(from.size()), std::vector<float>(from.begin(), from.end()));
  };
  write(batch_.qpos(), m.key_qpos[static_cast<std::size_t>(index)]);
  write(batch_.qvel(), m.key_qvel[static_cast<std::size_t>(index)]);
  changed();
}

void ModelSource::set_physics_option(const std::string& name, double value) {
  options_.set(exec_, name, value);
  info_.control_period = static_cast<double>(batch_.fields().options().timestep);
}

void ModelSource::read_actions(std::vector<float>& out) {
  out = to_host(exec_, batch_.ctrl(), info_.num_worlds * model_->data().nu);
}

std::unique_ptr<WorldSource> open_model_source(const SourceOptions& options) {
  if (!options.env_options.empty())
    throw Error("--" + options.env_options[0] + ": " + options.what + " is a model; options are for tasks");
  auto model = load_model(options.what);
  if (options.warn)
    for (const std::string& line : model->warnings()) options.warn(line);
  ModelSource::Config config{.seed = options.seed, .device = parse_device(options.device)};
  if (options.worlds > 0) config.worlds = options.worlds;
  config.random = options.actions == "random";
  return std::make_unique<ModelSource>(std::move(model), config);
}

}  // namespace hotloop
