#include "tests/app/reference_episodes.h"

#include <sys/wait.h>

#include <cstdlib>
#include <deque>
#include <memory>

#include "data/safetensors.h"
#include "sim/core/registry.h"
#include "tests/test_python.h"

namespace hotloop {

namespace fs = std::filesystem;

std::vector<Episode> random_episodes(const std::string& task, std::int64_t worlds, std::int64_t seed) {
  const EnvEntry& env = find_environment(task);
  BatchConfig config;
  config.num_envs = worlds;
  config.seed = static_cast<std::uint64_t>(seed);
  config.evaluation = true;
  const std::unique_ptr<Batch> batch = env.make(config);
  StepBuffers io(env.spec, worlds, {});
  RandomActions random(env.spec.action, worlds, {}, config.seed);
  const auto width = static_cast<std::size_t>(env.spec.obs_dim());
  const std::size_t bytes = action_bytes(env.spec.action), terms = env.spec.reward_terms.size();
  std::vector<Episode> episodes(static_cast<std::size_t>(worlds));
  const auto observe = [&](Episode& e, const float* row) {
    e.observations.insert(e.observations.end(), row, row + width);
  };
  batch->reset({}, io.observation.data(), io.action_mask.data());
  for (std::size_t w = 0; w < episodes.size(); ++w) observe(episodes[w], io.observation.data() + w * width);
  for (int t = 0; t < env.spec.max_episode_steps; ++t) {
    random.fill({}, static_cast<std::uint64_t>(t), io.action.data());
    batch->step({}, io.io());
    for (std::size_t w = 0; w < episodes.size(); ++w) {
      Episode& e = episodes[w];
      if (e.length > 0 && (e.terminated.back() || e.truncated.back())) continue;
      const std::byte* const action = io.action.data() + w * bytes;
      e.actions.insert(e.actions.end(), action, action + bytes);
      e.rewards.push_back(io.reward.data()[w]);
      e.terminated.push_back(io.terminated.data()[w]);
      e.truncated.push_back(io.truncated.data()[w]);
      const float* const term = io.reward_terms.data() + w * terms;
      e.reward_terms.insert(e.reward_terms.end(), term, term + terms);
      const bool ended = e.terminated.back() || e.truncated.back();
      observe(e, (ended ? io.final_observation : io.observation).data() + w * width);
      ++e.length;
    }
  }
  return episodes;
}

void write_expected(const fs::path& file, const std::string& task, const std::vector<Episode>& episodes) {
  const EnvSpec& spec = find_environment(task).spec;
  std::vector<NamedTensor> tensors;
  std::deque<std::vector<float>> terms;  // that the tensors refer to
  for (std::size_t i = 0; i < episodes.size(); ++i) {
    const Episode& e = episodes[i];
    const auto add = [&](const std::string& name, DType dtype, std::vector<std::int64_t> shape, const auto& values) {
      tensors.push_back({std::to_string(i) + "." + name, dtype, std::move(shape), std::as_bytes(std::span(values))});
    };
    add("observations", DType::f32, {e.length + 1, spec.obs_dim()}, e.observations);
    add("actions", spec.action.is_box() ? DType::f32 : DType::i64, {e.length, spec.action.dim()}, e.actions);
    add("rewards", DType::f32, {e.length}, e.rewards);
    add("terminated", DType::u8, {e.length}, e.terminated);
    add("truncated", DType::u8, {e.length}, e.truncated);
    for (std::size_t k = 0; k < spec.reward_terms.size() && !e.reward_terms.empty(); ++k)
      add("terms." + spec.reward_terms[k], DType::f32, {e.length},
          terms.emplace_back(e.reward_term(k, spec.reward_terms.size())));
  }
  write_safetensors(file, tensors);
}

int check_datasets(const std::vector<DatasetToCheck>& datasets, const fs::path& log) {
  std::string command = test_python() + " " HOTLOOP_SOURCE_DIR "/tests/python/check_dataset.py";
  for (const DatasetToCheck& d : datasets)
    command += " " + d.format + " '" + d.dataset.string() + "' '" + d.expected.string() + "' " + d.task;
  const int status = std::system((command + " >'" + log.string() + "' 2>&1").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace hotloop
