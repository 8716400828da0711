#include "train/episode_player.h"

#include <algorithm>
#include <memory>

namespace hotloop {
namespace {

constexpr std::int64_t kRoundBytes = 64 << 20;
constexpr std::int64_t kBlockSteps = 16;  // between copies from the device

std::size_t step_bytes(const EnvSpec& spec) {
  const auto numbers = static_cast<std::size_t>(spec.obs_dim()) + spec.reward_terms.size() + 1;
  return numbers * sizeof(float) + action_bytes(spec.action) + 2;
}

// An array on the device with room for it here.
template <class T>
struct Mirrored {
  Mirrored(Device device, std::int64_t count)
      : there(device, static_cast<std::size_t>(count)), here(static_cast<std::size_t>(count)) {}
  void fetch(const Exec& exec) { copy_async(exec, here.data(), {}, there.data(), exec.device, there.bytes()); }
  Buffer<T> there;
  std::vector<T> here;
};

template <class T>
void append(std::vector<T>& to, const T* from, std::size_t count) {
  to.insert(to.end(), from, from + count);
}

}  // namespace

std::int64_t worlds_of_a_round(const EnvSpec& spec, int max_episode_steps, std::int64_t wanted) {
  const std::int64_t episode_bytes = static_cast<std::int64_t>(step_bytes(spec)) * (max_episode_steps + 1);
  return std::clamp<std::int64_t>(kRoundBytes / episode_bytes, 1, wanted);
}

std::int64_t round_seed(std::uint64_t seed, std::int64_t round) {
  // Knuth's multiplicative step, as evaluation takes its rounds
  const std::uint64_t mixed = seed + static_cast<std::uint64_t>(round) * 0x9E3779B97F4A7C15u;
  return static_cast<std::int64_t>(mixed & (~std::uint64_t{0} >> 1));
}

// Time-major; row 0 of the observations is the one before the block's first action.
struct EpisodePlayer::Block {
  Block(const EnvSpec& spec, std::int64_t num_worlds, Device device)
      : worlds(num_worlds),
        width(spec.obs_dim()),
        terms(static_cast<std::int64_t>(spec.reward_terms.size())),
        action_size(action_bytes(spec.action)),
        observation(device, (kBlockSteps + 1) * worlds * width),
        final_observation(device, kBlockSteps * worlds * width),
        reward(device, kBlockSteps * worlds),
        reward_terms(device, kBlockSteps * worlds * terms),
        terminated(device, kBlockSteps * worlds),
        truncated(device, kBlockSteps * worlds),
        mask(device, spec.has_action_mask ? worlds * spec.action.num_choices() : 0),
        action(device, kBlockSteps * worlds * static_cast<std::int64_t>(action_size)),
        first_length(static_cast<std::size_t>(worlds)),
        first_return(static_cast<std::size_t>(worlds)) {}

  StepIo io(std::int64_t t) const {
    return {action_at(t),
            observation.there.data() + (t + 1) * worlds * width,
            reward.there.data() + t * worlds,
            terminated.there.data() + t * worlds,
            truncated.there.data() + t * worlds,
            final_observation.there.data() + t * worlds * width,
            mask.there.data(),
            terms > 0 ? reward_terms.there.data() + t * worlds * terms : nullptr};
  }
  std::byte* action_at(std::int64_t t) const {
    return action.there.data() + static_cast<std::size_t>(t * worlds) * action_size;
  }
  void fetch(const Exec& exec, const Batch& batch) {
    observation.fetch(exec);
    final_observation.fetch(exec);
    reward.fetch(exec);
    reward_terms.fetch(exec);
    terminated.fetch(exec);
    truncated.fetch(exec);
    action.fetch(exec);
    copy_async(exec, first_length.data(), {}, batch.first_length(), exec.device, first_length.size() * 4);
    copy_async(exec, first_return.data(), {}, batch.first_return(), exec.device, first_return.size() * 4);
    synchronize(exec);
  }

  std::int64_t worlds, width, terms;
  std::size_t action_size;
  Mirrored<float> observation, final_observation, reward, reward_terms;
  Mirrored<std::uint8_t> terminated, truncated, mask;
  Mirrored<std::byte> action;
  std::vector<std::int32_t> first_length;
  std::vector<float> first_return;
};

struct EpisodePlayer::Books {
  explicit Books(std::size_t worlds) : episodes(worlds), returns(worlds, 0.0f), ended(worlds, false), finite(worlds) {}
  std::vector<Episode> episodes;
  std::vector<float> returns;  // summed as the batch does, so that the two are the same bits
  std::vector<bool> ended, finite;
  std::int64_t num_ended = 0;
};

EpisodePlayer::EpisodePlayer(const PlayerConfig& config, const Exec& exec) : config_(config), exec_(exec) {}

void EpisodePlayer::take_block(const Block& b, std::int64_t steps, Books& books) const {
  const auto width = static_cast<std::size_t>(b.width), terms = static_cast<std::size_t>(b.terms);
  for (std::size_t w = 0; w < books.episodes.size(); ++w) {
    if (books.ended[w]) continue;
    Episode& episode = books.episodes[w];
    if (episode.observations.empty()) append(episode.observations, b.observation.here.data() + w * width, width);
    for (std::int64_t t = 0; t < steps && !books.ended[w]; ++t) {
      const std::size_t at = static_cast<std::size_t>(t * b.worlds) + w, next = at + books.episodes.size();
      append(episode.actions, b.action.here.data() + at * b.action_size, b.action_size);
      episode.rewards.push_back(b.reward.here[at]);
      episode.terminated.push_back(b.terminated.here[at]);
      episode.truncated.push_back(b.truncated.here[at]);
      append(episode.reward_terms, b.reward_terms.here.data() + at * terms, terms);
      ++episode.length;
      books.returns[w] += b.reward.here[at];
      books.ended[w] = b.terminated.here[at] || b.truncated.here[at];
      const float* after = books.ended[w] ? &b.final_observation.here[at * width] : &b.observation.here[next * width];
      append(episode.observations, after, width);
    }
    if (!books.ended[w]) continue;
    ++books.num_ended;
    // the batch books no episode that turned non-finite; the world's next one hardly has its length and its return
    books.finite[w] = b.first_length[w] == episode.length && b.first_return[w] == books.returns[w];
  }
}

EpisodePlayer::Round EpisodePlayer::play(std::int64_t seed, std::int64_t worlds,
                                         const std::function<void(std::int64_t)>& progress) {
  BatchConfig batch_config;
  batch_config.num_envs = worlds;
  batch_config.seed = static_cast<std::uint64_t>(seed);
  batch_config.device = exec_.device;
  batch_config.max_episode_steps = config_.max_episode_steps;
  batch_config.evaluation = true;
  batch_config.options = config_.options;
  const std::unique_ptr<Batch> batch = config_.env->make(batch_config);
  RandomActions random(config_.spec.action, worlds, exec_.device, batch_config.seed);
  Block block(config_.spec, worlds, exec_.device);
  Books books(static_cast<std::size_t>(worlds));
  DrawKey key;
  key.seed = batch_config.seed;
  key.stream += kEvaluationStreams;
  float* const first = block.observation.there.data();
  const std::size_t row_bytes = static_cast<std::size_t>(worlds * block.width) * sizeof(float);
  batch->reset(exec_, first, block.mask.there.data());
  for (key.t = 0; books.num_ended < worlds;) {
    for (std::int64_t t = 0; t < kBlockSteps; ++t, ++key.t) {
      const float* const observation = first + t * worlds * block.width;
      if (config_.net)
        config_.net->act(exec_, worlds, observation, block.mask.there.data(), !config_.stochastic, key,
                         block.action_at(t));
      else
        random.fill(exec_, static_cast<std::uint64_t>(key.t), block.action_at(t));
      batch->step(exec_, block.io(t));
    }
    block.fetch(exec_, *batch);
    take_block(block, kBlockSteps, books);
    progress(books.num_ended);
    copy_async(exec_, first, exec_.device, first + kBlockSteps * worlds * block.width, exec_.device, row_bytes);
  }
  Round round;
  for (std::size_t w = 0; w < books.episodes.size(); ++w) {
    books.episodes[w].seed = seed;
    books.episodes[w].world = static_cast<std::int64_t>(w);
    if (books.finite[w])
      round.episodes.push_back(std::move(books.episodes[w]));
    else
      ++round.non_finite;
  }
  return round;
}

}  // namespace hotloop
