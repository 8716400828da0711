#include "sim/core/batch.h"

#include <algorithm>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/launch.h"

namespace hotloop {
namespace {

struct EpisodeTerm {
  WorldBook book;
  SIM_HD EpisodeStats operator()(std::int64_t w) const {
    const EpisodeStats stats = {book.stat_return[w], static_cast<double>(book.stat_length[w]), book.stat_episodes[w],
                                book.stat_nonfinite[w], book.stat_overflow[w]};
    return stats;
  }
};

struct ClearStats {
  WorldBook book;
  SIM_HD void operator()(std::int64_t w) const {
    book.stat_return[w] = 0.0f;
    book.stat_length[w] = book.stat_episodes[w] = 0;
    book.stat_nonfinite[w] = book.stat_overflow[w] = 0;
  }
};

struct TermsOfWorld {
  const float* stat;
  int num_terms;
  SIM_HD RewardTermSums operator()(std::int64_t w) const {
    RewardTermSums sums;
    for (int k = 0; k < num_terms; ++k) sums.term[k] = stat[w * num_terms + k];
    return sums;
  }
};

// Places one array after another in a block, each aligned to 256 bytes; with a null base it only measures.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}
  template <class T>
  void take(T*& pointer, std::int64_t count) {
    if (base_ != nullptr) pointer = reinterpret_cast<T*>(base_ + used_);
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 255) / 256 * 256;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* base_;
  std::size_t used_ = 0;
};

std::size_t carve(std::byte* base, std::int64_t num_envs, std::size_t state_bytes, std::int64_t num_terms,
                  std::uint32_t*& words, WorldBook& book, TermBook& terms) {
  Carver carver(base);
  carver.take(words, num_envs * static_cast<std::int64_t>(state_bytes / 4));
  carver.take(book.step, num_envs);
  for (std::int32_t** p : {&book.elapsed, &book.length, &book.stat_length, &book.stat_episodes, &book.first_length})
    carver.take(*p, num_envs);
  for (float** p : {&book.episode_return, &book.stat_return, &book.first_return}) carver.take(*p, num_envs);
  for (std::uint32_t** p : {&book.stat_nonfinite, &book.stat_overflow}) carver.take(*p, num_envs);
  if (num_terms > 0)
    for (float** p : {&terms.episode, &terms.stat, &terms.first}) carver.take(*p, num_envs * num_terms);
  return carver.used();
}

// The step that keys the draws, known to the host or kept on the device (captured graphs).
struct HostStep {
  std::uint64_t value;
  SIM_HD std::uint64_t operator()() const { return value; }
};
struct DeviceStep {
  const std::uint64_t* value;
  SIM_HD std::uint64_t operator()() const { return *value; }
};

// Action is float (box) or int64 (discrete); kDim 0: any number of components.
template <class Action, class Step, int kDim>
struct RandomActionOp {
  std::int64_t dim;
  std::uint64_t seed;
  Step step;
  const float *low, *span;
  Action* action;

  SIM_HD void operator()(std::int64_t w) const {
    Rng rng(seed, RngStream::action, static_cast<std::uint32_t>(w), step());
    const auto draw = [&](std::int64_t k) {
      const float value = low[k] + span[k] * rng.uniform();
      if constexpr (std::is_same_v<Action, float>)
        action[w * dim + k] = value;
      else
        action[w * dim + k] = static_cast<std::int32_t>(value);
    };
    if constexpr (kDim > 0) {
      unrolled<kDim>(draw);
    } else {
      for (std::int64_t k = 0; k < dim; ++k) draw(k);
    }
  }
};

struct IncrementOp {
  std::uint64_t* value;
  SIM_HD void operator()(std::int64_t) const { *value += 1; }
};

}  // namespace

StepBuffers::StepBuffers(const EnvSpec& spec, std::int64_t num_envs, Device device) {
  const auto size = [&](std::int64_t each) { return static_cast<std::size_t>(num_envs * each); };
  action = Memory(device, size(spec.action.dim()) * sizeof(std::int64_t));
  observation = Buffer<float>(device, size(spec.obs_dim()));
  reward = Buffer<float>(device, size(1));
  final_observation = Buffer<float>(device, size(spec.obs_dim()));
  terminated = Buffer<std::uint8_t>(device, size(1));
  truncated = Buffer<std::uint8_t>(device, size(1));
  reward_terms = Buffer<float>(device, size(static_cast<std::int64_t>(spec.reward_terms.size())));
  if (spec.has_action_mask) action_mask = Buffer<std::uint8_t>(device, size(spec.action.num_choices()));
}

StepIo StepBuffers::io() const {
  StepIo io;
  io.action = action.data();
  io.observation = observation.data();
  io.reward = reward.data();
  io.terminated = terminated.data();
  io.truncated = truncated.data();
  io.final_observation = final_observation.data();
  io.action_mask = action_mask.data();
  io.reward_terms = reward_terms.data();
  return io;
}

Batch::Batch(EnvSpec spec, const BatchConfig& config, std::size_t state_bytes)
    : spec_(std::move(spec)),
      config_(config),
      max_episode_steps_(config.max_episode_steps > 0 ? config.max_episode_steps : spec_.max_episode_steps) {
  if (config.num_envs < 1 || config.num_envs > (std::int64_t{1} << 31))
    throw Error("num_envs " + std::to_string(config.num_envs) + ": must be in [1, 2147483648]");
  const auto carved = [&](std::byte* base) {
    return carve(base, config.num_envs, state_bytes, num_terms(), words_, book_, terms_);
  };
  memory_ = Memory(config.device, carved(nullptr));
  carved(memory_.data());
  const auto scratch = static_cast<std::size_t>(tree_sum_scratch(config.num_envs));
  scratch_ = Buffer<EpisodeStats>(config.device, scratch);
  if (num_terms() > 0) term_scratch_ = Buffer<RewardTermSums>(config.device, scratch);
}

void Batch::collect(const Exec& exec, EpisodeStats* out, RewardTermSums* terms) {
  tree_sum(exec, num_envs(), EpisodeTerm{book_}, scratch_.data(), out);
  parallel_for(exec, num_envs(), ClearStats{book_});
  if (num_terms() == 0) return;
  if (terms != nullptr)
    tree_sum(exec, num_envs(), TermsOfWorld{terms_.stat, static_cast<int>(num_terms())}, term_scratch_.data(), terms);
  fill_async(exec, terms_.stat, 0, term_bytes());
}

void Batch::clear_terms(const Exec& exec) {
  for (float* sums : {terms_.episode, terms_.stat, terms_.first}) fill_async(exec, sums, 0, term_bytes());
}

RandomActions::RandomActions(const ActionSpace& space, std::int64_t num_envs, Device device, std::uint64_t seed)
    : box_(space.is_box()),
      num_envs_(num_envs),
      dim_(space.dim()),
      seed_(seed),
      low_(device, static_cast<std::size_t>(dim_)),
      span_(device, static_cast<std::size_t>(dim_)) {
  std::vector<float> low(static_cast<std::size_t>(dim_)), span(low);
  for (std::size_t k = 0; k < low.size(); ++k) {
    const bool bounded = box_ && std::isfinite(space.low[k]) && std::isfinite(space.high[k]);
    low[k] = !box_ ? 0.0f : (bounded ? space.low[k] : -1.0f);
    span[k] = !box_ ? static_cast<float>(space.nvec[k]) : (bounded ? space.high[k] - space.low[k] : 2.0f);
  }
  const Exec exec{device};
  copy_async(exec, low_.data(), device, low.data(), {}, low_.bytes());
  copy_async(exec, span_.data(), device, span.data(), {}, span_.bytes());
  synchronize(exec);
}

template <class Action, class Step>
void RandomActions::fill_as(const Exec& exec, Step step, void* out) {
  const auto action = static_cast<Action*>(out);
  if (dim_ == 1)
    parallel_for(exec, num_envs_, RandomActionOp<Action, Step, 1>{1, seed_, step, low_.data(), span_.data(), action});
  else
    parallel_for(exec, num_envs_,
                 RandomActionOp<Action, Step, 0>{dim_, seed_, step, low_.data(), span_.data(), action});
}

void RandomActions::fill(const Exec& exec, std::uint64_t step, void* action) {
  box_ ? fill_as<float>(exec, HostStep{step}, action) : fill_as<std::int64_t>(exec, HostStep{step}, action);
}

void RandomActions::fill(const Exec& exec, std::uint64_t* step, void* action) {
  if (!exec.device.is_cuda()) {
    fill(exec, *step, action);
    *step += 1;
    return;
  }
  box_ ? fill_as<float>(exec, DeviceStep{step}, action) : fill_as<std::int64_t>(exec, DeviceStep{step}, action);
  parallel_for(exec, 1, IncrementOp{step});
}

}  // namespace hotloop
