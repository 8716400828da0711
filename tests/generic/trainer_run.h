// What the tests of whole trainings share: small configurations, and everything that a training leaves behind as bytes.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sim/core/registry.h"
#include "train/ppo.h"

namespace hotloop {

inline TrainConfig small_config(const std::string& task) {
  TrainConfig c;
  c.task = task;
  c.num_envs = 8;
  c.num_steps = 32;
  c.num_minibatches = 4;
  c.update_epochs = 2;
  c.hidden_sizes = {16, 16};
  c.total_timesteps = c.num_envs * c.num_steps * 60;
  c.num_threads = 2;
  c.random_episode_start = true;
  return c;
}

// Bits of every iteration's metrics, and the tensors of a checkpoint by name.
struct Trace {
  std::vector<IterationMetrics> metrics;
  std::map<std::string, std::vector<std::byte>> state;
};

inline void run_iterations(Trainer& trainer, int iterations, std::vector<IterationMetrics>& metrics) {
  for (int i = 0; i < iterations; ++i) {
    trainer.enqueue();
    if (trainer.in_flight() == MetricsRing::kDepth) metrics.push_back(trainer.wait());
  }
  while (trainer.in_flight() > 0) metrics.push_back(trainer.wait());
}

inline std::map<std::string, std::vector<std::byte>> state_of(Trainer& trainer, std::int64_t member = 0) {
  std::map<std::string, std::vector<std::byte>> state;
  const Snapshot snapshot = trainer.save(member);
  for (const NamedTensor& t : snapshot.tensors) state[t.name].assign(t.bytes.begin(), t.bytes.end());
  return state;
}

inline Trace train(const TrainConfig& config, Device device, int iterations) {
  PpoTrainer trainer(config, find_environment(config.task), device);
  Trace trace;
  run_iterations(trainer, iterations, trace.metrics);
  trace.state = state_of(trainer);
  return trace;
}

// Mean return of the episodes that ended in iterations from `first` on.
inline double mean_return(const Trace& trace, std::size_t first) {
  double sum = 0, episodes = 0;
  for (std::size_t i = first; i < trace.metrics.size(); ++i)
    sum += trace.metrics[i].episodes.return_sum, episodes += static_cast<double>(trace.metrics[i].episodes.episodes);
  return sum / episodes;
}

inline std::vector<double> numbers(const IterationMetrics& m) {
  return {static_cast<double>(m.iteration),
          static_cast<double>(m.updates),
          static_cast<double>(m.skipped_updates),
          m.learning_rate,
          m.grad_norm,
          m.explained_variance,
          m.std,
          m.loss.policy_loss,
          m.loss.value_loss,
          m.loss.entropy,
          m.loss.old_approx_kl,
          m.loss.approx_kl,
          m.loss.clipfrac,
          m.episodes.return_sum,
          m.episodes.length_sum,
          static_cast<double>(m.episodes.episodes),
          static_cast<double>(m.episodes.nonfinite)};
}

inline void expect_same_bits(const Trace& a, const Trace& b) {
  ASSERT_EQ(a.metrics.size(), b.metrics.size());
  for (std::size_t i = 0; i < a.metrics.size(); ++i) {
    const std::vector<double> x = numbers(a.metrics[i]), y = numbers(b.metrics[i]);
    for (std::size_t k = 0; k < x.size(); ++k)
      ASSERT_EQ(std::memcmp(&x[k], &y[k], sizeof(double)), 0)
          << "iteration " << i << ", metric " << k << ": " << x[k] << " and " << y[k];
  }
  ASSERT_EQ(a.state.size(), b.state.size());
  for (const auto& [name, bytes] : a.state) EXPECT_EQ(bytes, b.state.at(name)) << name;
}

}  // namespace hotloop
