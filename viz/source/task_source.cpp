#include "viz/source/task_source.h"

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "sim/mujoco/load.h"
#include "viz/source/control_infos.h"
#include "viz/source/host_copy.h"
#include "viz/source/open_parts.h"

namespace hotloop {
namespace {

// Ends of episodes that nobody asked for.
constexpr std::size_t kMostEnds = 1u << 16;

BatchConfig open_config(BatchConfig config) {
  config.external_forces = config.contact_tap = true;
  return config;
}

EnvSpec spec_of(const EnvEntry& env, const BatchConfig& config) { return spec_with_options(env, config.options); }

}  // namespace

TaskSource::TaskSource(const EnvEntry& env, const BatchConfig& config, Actions actions)
    : LiveSource(config.device),
      env_(env),
      config_(open_config(config)),
      actions_(actions),
      batch_(env.make(config_)),
      buffers_(spec_of(env, config), config.num_envs, config.device) {
  const EnvSpec& spec = batch_->spec();
  const auto worlds = static_cast<std::size_t>(config.num_envs);
  info_.kind = SourceKind::task;
  info_.name = spec.name;
  info_.num_worlds = config.num_envs;
  info_.control_period = control_period(env, config.options);
  info_.controls = control_infos(env, config.options);
  info_.observation_dim = spec.obs_dim();
  info_.reward_terms = spec.reward_terms;
  info_.can_perturb = forces() != nullptr;
  info_.can_pose = batch_->model_state().nq > 0;
  if (env.visual != nullptr)
    visual_ = env.visual(config.options);
  else
    visual_.frames.emplace_back();  // the world, with nothing in it
  returns_before_ = Buffer<float>(config.device, worlds);
  lengths_before_ = Buffer<std::int32_t>(config.device, worlds);
  terms_before_ = Buffer<float>(config.device, worlds * num_terms());
  start();
}

void TaskSource::start() {
  info_.seed = static_cast<std::int64_t>(config_.seed);
  random_ = std::make_unique<RandomActions>(batch_->spec().action, info_.num_worlds, config_.device, config_.seed);
  reset();
}

void TaskSource::keep_also(const History::Part& part) {
  more_.push_back(part);
  reset();
}

void TaskSource::reset() {
  end_push();
  ends_.clear();
  const StepIo io = buffers_.io();
  const auto clear = [&](void* data, std::size_t bytes) { fill_async(exec_, data, 0, bytes); };
  clear(buffers_.action.data(), buffers_.action.bytes());
  clear(io.reward, buffers_.reward.bytes());
  clear(io.terminated, buffers_.terminated.bytes());
  clear(io.truncated, buffers_.truncated.bytes());
  clear(terms_before_.data(), terms_before_.bytes());
  batch_->reset(exec_, io.observation, io.action_mask);
  std::vector<History::Part> parts = {
      {buffers_.action.data(), buffers_.action.bytes()}, {batch_->raw_state(), batch_->raw_state_bytes()},
      {io.observation, buffers_.observation.bytes()},    {io.reward, buffers_.reward.bytes()},
      {io.terminated, buffers_.terminated.bytes()},      {io.truncated, buffers_.truncated.bytes()},
      {io.action_mask, buffers_.action_mask.bytes()},    {terms_before_.data(), terms_before_.bytes()}};
  parts.insert(parts.end(), more_.begin(), more_.end());
  begin_history(std::move(parts));
}

void TaskSource::restart(std::int64_t seed) {
  end_push();  // whose memory is the old batch's
  config_.seed = static_cast<std::uint64_t>(seed);
  batch_ = env_.make(config_);
  start();
}

void TaskSource::write_frames(std::int64_t first, std::int64_t count, Frame* out) {
  if (env_.visual != nullptr) return batch_->write_frames(exec_, first, count, out);
  to_device(exec_, out, std::vector<Frame>(static_cast<std::size_t>(count)));
}

void TaskSource::choose_actions() {
  if (actions_ == Actions::random)
    random_->fill(exec_, static_cast<std::uint64_t>(position()), buffers_.action.data());
  else
    fill_async(exec_, buffers_.action.data(), 0, buffers_.action.bytes());
}

// Actions by hand over those that were chosen.
void TaskSource::write_hands() {
  const auto dim = static_cast<std::int64_t>(info_.controls.size());
  for (const auto& [world, action] : hands_) {
    if (batch_->spec().action.is_box()) {
      to_device(exec_, reinterpret_cast<float*>(buffers_.action.data()) + world * dim, action);
      continue;
    }
    std::vector<std::int64_t> choices;
    for (std::size_t k = 0; k < action.size(); ++k)
      choices.push_back(std::clamp<std::int64_t>(std::llround(action[k]), 0, info_.controls[k].choices - 1));
    to_device(exec_, reinterpret_cast<std::int64_t*>(buffers_.action.data()) + world * dim, choices);
  }
}

void TaskSource::step() {
  const WorldBook& book = batch_->book_view().book;
  const auto copy = [&](void* to, const void* from, std::size_t bytes) {
    copy_async(exec_, to, exec_.device, from, exec_.device, bytes);
  };
  choose_actions();
  write_hands();
  copy(returns_before_.data(), book.episode_return, returns_before_.bytes());
  copy(lengths_before_.data(), book.length, lengths_before_.bytes());
  if (num_terms() > 0) copy(terms_before_.data(), batch_->episode_terms(), terms_before_.bytes());
  batch_->step(exec_, buffers_.io());
  note_ends();
  advance();
}

void TaskSource::note_ends() {
  const std::int64_t n = info_.num_worlds;
  const std::vector<std::uint8_t> terminated = to_host(exec_, buffers_.terminated.data(), n);
  const std::vector<std::uint8_t> truncated = to_host(exec_, buffers_.truncated.data(), n);
  std::vector<float> returns, rewards;
  std::vector<std::int32_t> lengths;
  for (std::size_t w = 0; w < terminated.size(); ++w) {
    if (terminated[w] == 0 && truncated[w] == 0) continue;
    if (returns.empty()) {
      returns = to_host(exec_, returns_before_.data(), n);
      rewards = to_host(exec_, buffers_.reward.data(), n);
      lengths = to_host(exec_, lengths_before_.data(), n);
    }
    if (ends_.size() == kMostEnds) ends_.erase(ends_.begin(), ends_.begin() + kMostEnds / 2);
    ends_.push_back({static_cast<std::int64_t>(w), static_cast<double>(returns[w] + rewards[w]), lengths[w] + 1,
                     terminated[w] != 0});
  }
}

void TaskSource::take_episode_ends(std::vector<EpisodeEnd>& out) {
  out.insert(out.end(), ends_.begin(), ends_.end());
  ends_.clear();
}

WorldReport TaskSource::report(std::int64_t world) {
  check_world(world);
  const WorldBook& book = batch_->book_view().book;
  const auto row = [&](const float* from, std::size_t size) {
    const auto n = static_cast<std::int64_t>(size);
    return to_host(exec_, from + world * n, n);
  };
  const auto one = [&](const auto* from) { return to_host(exec_, from + world, 1)[0]; };
  WorldReport r;
  r.reward = one(buffers_.reward.data());
  r.episode_return = one(book.episode_return);
  r.episode_length = one(book.length);
  r.episodes = one(book.stat_episodes);
  r.terminated = one(buffers_.terminated.data()) != 0;
  r.truncated = one(buffers_.truncated.data()) != 0;
  r.observation = row(buffers_.observation.data(), static_cast<std::size_t>(info_.observation_dim));
  if (batch_->spec().action.is_box()) {
    r.action = row(reinterpret_cast<const float*>(buffers_.action.data()), info_.controls.size());
  } else {
    const auto dim = static_cast<std::int64_t>(info_.controls.size());
    for (const std::int64_t c :
         to_host(exec_, reinterpret_cast<const std::int64_t*>(buffers_.action.data()) + world * dim, dim))
      r.action.push_back(static_cast<float>(c));
  }
  if (num_terms() > 0) {  // of the latest step; unknown where it ended the episode, whose sums are gone
    r.reward_terms = row(batch_->episode_terms(), num_terms());
    const std::vector<float> before = row(terms_before_.data(), num_terms());
    for (std::size_t k = 0; k < before.size(); ++k)
      r.reward_terms[k] = r.episode_length == 0 ? 0.0f : r.reward_terms[k] - before[k];
  }
  if (const ModelState state = batch_->model_state(); state.nq > 0) {
    r.qpos = to_host(exec_, state.qpos + world * state.stride, state.nq);
    r.qvel = to_host(exec_, state.qvel + world * state.stride, state.nv);
    if (!energy_) energy_ = std::make_unique<EnergyMeter>(*batch_->model());
    r.energy = energy_->of(r.qpos, r.qvel);
  }
  return r;
}

void TaskSource::set_qpos(std::int64_t world, std::span<const float> qpos) {
  const ModelState state = batch_->model_state();
  if (state.nq == 0) return;
  check_world(world);
  if (qpos.size() != static_cast<std::size_t>(state.nq))
    throw Error("qpos of " + std::to_string(qpos.size()) + " numbers: " + info_.name + " has " +
                std::to_string(state.nq));
  to_device(exec_, state.qpos + world * state.stride, std::vector<float>(qpos.begin(), qpos.end()));
  changed();
}

std::vector<std::string> TaskSource::keyframes() {
  return batch_->model() != nullptr ? batch_->model()->data().key_names : std::vector<std::string>{};
}

void TaskSource::set_keyframe(std::int64_t world, int index) {
  if (index < 0 || index >= static_cast<int>(keyframes().size())) return;
  check_world(world);
  const ModelState state = batch_->model_state();
  const auto write = [&](float* to, const std::vector<double>& from) {
    to_device(exec_, to + world * state.stride, std::vector<float>(from.begin(), from.end()));
  };
  const ModelData& data = batch_->model()->data();
  write(state.qpos, data.key_qpos[static_cast<std::size_t>(index)]);
  write(state.qvel, data.key_qvel[static_cast<std::size_t>(index)]);
  changed();
}

void TaskSource::read_returns(std::vector<float>& out) {
  out = to_host(exec_, batch_->book_view().book.episode_return, info_.num_worlds);
}

void TaskSource::read_observations(std::vector<float>& out) {
  out = to_host(exec_, buffers_.observation.data(), info_.num_worlds * info_.observation_dim);
}

void TaskSource::read_actions(std::vector<float>& out) {
  const std::int64_t n = info_.num_worlds * static_cast<std::int64_t>(info_.controls.size());
  if (batch_->spec().action.is_box()) {
    out = to_host(exec_, reinterpret_cast<const float*>(buffers_.action.data()), n);
    return;
  }
  const std::vector<std::int64_t> choices =
      to_host(exec_, reinterpret_cast<const std::int64_t*>(buffers_.action.data()), n);
  out.assign(choices.begin(), choices.end());
}

std::unique_ptr<WorldSource> open_task_source(const SourceOptions& options) {
  const EnvEntry& env = find_environment(options.what);
  BatchConfig config;
  config.device = parse_device(options.device);
  config.num_envs = options.worlds > 0 ? options.worlds : config.device.is_cuda() ? 1024 : 16;
  config.seed = static_cast<std::uint64_t>(options.seed);
  config.options = resolve_options(env, parse_env_options(options.env_options));
  const bool zero = options.actions == "zero";
  return std::make_unique<TaskSource>(env, config, zero ? TaskSource::Actions::zero : TaskSource::Actions::random);
}

}  // namespace hotloop
