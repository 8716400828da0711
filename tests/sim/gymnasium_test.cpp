// The five classic-control environments against Gymnasium 1.4: tests/golden/gymnasium, written by
// make_gymnasium_golden.py beside this file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/core/batch.h"
#include "sim/core/registry.h"
#include "tests/sim/env_probe.h"

namespace hotloop {
namespace {

const char* const kNames[] = {"CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1"};

struct Golden {
  explicit Golden(const std::string& name);
  std::size_t row_of_episode(std::size_t episode) const {
    std::size_t row = random_rows;
    for (std::size_t k = 0; k < episode; ++k) row += lengths[k];
    return row;
  }
  nlohmann::json header;
  std::size_t rows, random_rows, state_dim, obs_dim;
  std::vector<std::size_t> lengths;                 // of the episodes
  std::vector<double> state, next_state, reward;    // [rows][state_dim] twice, [rows]
  std::vector<float> action, observation, margin;   // [rows], [rows][obs_dim], [rows]
  std::vector<std::uint8_t> terminated, truncated;  // [rows]
  std::vector<float> reset;                         // [reset_rows][obs_dim]
};

template <class T>
std::vector<T> read(std::ifstream& file, std::size_t count) {
  std::vector<T> values(count);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
  return values;
}

Golden::Golden(const std::string& name) {
  const std::string base = HOTLOOP_SOURCE_DIR "/tests/golden/gymnasium/" + name;
  header = nlohmann::json::parse(std::ifstream(base + ".json"));
  lengths = header["episode_lengths"].get<std::vector<std::size_t>>();
  random_rows = header["random_rows"];
  state_dim = header["state_dim"];
  obs_dim = header["observation"]["shape"][0];
  rows = row_of_episode(lengths.size());
  std::ifstream file(base + ".bin", std::ios::binary);
  state = read<double>(file, rows * state_dim);
  next_state = read<double>(file, rows * state_dim);
  reward = read<double>(file, rows);
  action = read<float>(file, rows);
  observation = read<float>(file, rows * obs_dim);
  margin = read<float>(file, rows);
  terminated = read<std::uint8_t>(file, rows);
  truncated = read<std::uint8_t>(file, rows);
  reset = read<float>(file, header["reset_rows"].get<std::size_t>() * obs_dim);
  if (!file || file.peek() != std::ifstream::traits_type::eof()) throw std::runtime_error(base + ".bin: wrong size");
}

bool is_angle(const std::string& name, std::size_t entry) {
  return (name == "Pendulum-v1" && entry == 0) || (name == "Acrobot-v1" && entry < 2);
}

double scaled_error(double a, double b) { return std::abs(a - b) / std::max(1.0, std::abs(b)); }

// p99 and maximum of the errors of one quantity.
class Errors {
 public:
  void add(double error) { values_.push_back(std::isnan(error) ? HUGE_VAL : error); }
  double max() { return percentile(1.0); }
  double p99() { return percentile(0.99); }

 private:
  double percentile(double p) {
    std::sort(values_.begin(), values_.end());
    return values_.at(static_cast<std::size_t>(p * static_cast<double>(values_.size() - 1)));
  }
  std::vector<double> values_;
};

Errors state_errors(const std::string& name, const Golden& golden, const std::vector<double>& next_state) {
  Errors errors;
  for (std::size_t i = 0; i < next_state.size(); ++i) {
    double a = next_state[i];
    const double b = golden.next_state[i];
    if (is_angle(name, i % golden.state_dim)) a = b + std::remainder(a - b, 2 * M_PI);
    errors.add(scaled_error(a, b));
  }
  return errors;
}

template <class A, class B>
Errors plain_errors(const std::vector<A>& a, const std::vector<B>& b) {
  Errors errors;
  for (std::size_t i = 0; i < b.size(); ++i) errors.add(scaled_error(a[i], b[i]));
  return errors;
}

void check_steps(Device device) {
  const StreamHandle stream(device);
  const Exec exec{device, stream.get()};
  for (const std::string name : kNames) {
    SCOPED_TRACE(name);
    const Golden golden(name);
    const ProbeResult single = probe_step(exec, name, false, golden.state, golden.action);
    Errors state = state_errors(name, golden, single.next_state);
    Errors seen = plain_errors(single.observation, golden.observation);
    EXPECT_LE(state.p99(), 1e-5);
    EXPECT_LE(state.max(), 5e-4);
    EXPECT_LE(seen.p99(), 1e-5);
    EXPECT_LE(seen.max(), 5e-4);

    const ProbeResult exact = probe_step(exec, name, true, golden.state, golden.action);
    EXPECT_LE(state_errors(name, golden, exact.next_state).max(), 1e-12);
    EXPECT_LE(plain_errors(exact.reward, golden.reward).max(), 1e-12);
    EXPECT_LE(plain_errors(exact.observation, golden.observation).max(), 1e-6) << "the reference's are float32";

    Errors reward;
    for (std::size_t i = 0; i < golden.rows; ++i) {
      EXPECT_TRUE(exact.terminated[i] == golden.terminated[i] || golden.margin[i] < 1e-6f) << "row " << i;
      if (golden.margin[i] < 1e-4f) continue;  // either flag is right, and the reward may hang on it
      EXPECT_EQ(single.terminated[i], golden.terminated[i]) << "row " << i;
      reward.add(scaled_error(single.reward[i], golden.reward[i]));
    }
    EXPECT_LE(reward.max(), 1e-5);
  }
}

// Runs the episodes of one environment as worlds of a batch, each world set to the reference's state before each step.
class Replay {
 public:
  Replay(const std::string& name, const Golden& golden, Device device)
      : name_(name), golden_(golden), n_(golden.lengths.size()), stream_(device), exec_{device, stream_.get()} {
    BatchConfig config;
    config.num_envs = static_cast<std::int64_t>(n_);
    config.device = device;
    batch_ = find_environment(name).make(config);
    observation_ = Buffer<float>(device, n_ * golden.obs_dim);
    final_ = Buffer<float>(device, n_ * golden.obs_dim);
    reward_ = Buffer<float>(device, n_);
    terminated_ = Buffer<std::uint8_t>(device, n_);
    truncated_ = Buffer<std::uint8_t>(device, n_);
    action_ = Memory(device, n_ * 8);
    batch_->reset(exec_, observation_.data(), nullptr);
  }

  void run() {
    const std::size_t longest = *std::max_element(golden_.lengths.begin(), golden_.lengths.end());
    for (std::size_t t = 0; t < longest; ++t) {
      load(t);
      StepIo io;
      io.action = action_.data();
      io.observation = observation_.data();
      io.final_observation = final_.data();
      io.reward = reward_.data();
      io.terminated = terminated_.data();
      io.truncated = truncated_.data();
      batch_->step(exec_, io);
      compare(t);
    }
  }

 private:
  std::size_t row(std::size_t episode, std::size_t t) const {  // the last row stands in for episodes that are over
    return golden_.row_of_episode(episode) + std::min(t, golden_.lengths[episode] - 1);
  }

  void load(std::size_t t) {
    std::vector<float> words(n_ * golden_.state_dim);
    std::vector<std::int64_t> discrete(n_);
    std::vector<float> box(n_);
    for (std::size_t e = 0; e < n_; ++e) {
      for (std::size_t k = 0; k < golden_.state_dim; ++k)
        words[k * n_ + e] = static_cast<float>(golden_.state[row(e, t) * golden_.state_dim + k]);
      box[e] = golden_.action[row(e, t)];
      discrete[e] = static_cast<std::int64_t>(box[e]);
    }
    const Device device = exec_.device;
    const bool is_box = batch_->spec().action.is_box();
    copy_async(exec_, batch_->raw_state(), device, words.data(), {}, words.size() * 4);
    copy_async(exec_, action_.data(), device, is_box ? static_cast<void*>(box.data()) : discrete.data(), {},
               is_box ? n_ * 4 : n_ * 8);
    synchronize(exec_);
  }

  template <class T>
  std::vector<T> host(const Buffer<T>& b) {
    std::vector<T> out(b.size());
    copy_async(exec_, out.data(), {}, b.data(), exec_.device, b.bytes());
    synchronize(exec_);
    return out;
  }

  void compare(std::size_t t) {
    const auto observation = host(observation_), final = host(final_), reward = host(reward_);
    const auto terminated = host(terminated_), truncated = host(truncated_);
    for (std::size_t e = 0; e < n_; ++e) {
      if (t >= golden_.lengths[e]) continue;
      SCOPED_TRACE(name_ + " episode " + std::to_string(e) + " step " + std::to_string(t));
      const std::size_t i = row(e, t);
      const bool last = t + 1 == golden_.lengths[e];
      EXPECT_EQ(last, golden_.terminated[i] || golden_.truncated[i]);
      EXPECT_EQ(truncated[e], golden_.truncated[i]);
      const float* seen = (last ? final : observation).data() + e * golden_.obs_dim;
      for (std::size_t k = 0; k < golden_.obs_dim; ++k)
        EXPECT_LE(scaled_error(seen[k], golden_.observation[i * golden_.obs_dim + k]), 1e-5);
      if (golden_.margin[i] < 1e-4f) continue;
      EXPECT_EQ(terminated[e], golden_.terminated[i]);
      EXPECT_LE(scaled_error(reward[e], golden_.reward[i]), 1e-5);
    }
  }

  std::string name_;
  const Golden& golden_;
  std::size_t n_;
  StreamHandle stream_;
  Exec exec_;
  std::unique_ptr<Batch> batch_;
  Buffer<float> observation_, final_, reward_;
  Buffer<std::uint8_t> terminated_, truncated_;
  Memory action_;
};

void check_episodes(Device device) {
  for (const std::string name : kNames) {
    const Golden golden(name);
    Replay(name, golden, device).run();
  }
}

// Largest distance between the distribution functions of two samples (Kolmogorov and Smirnov).
double ks_distance(std::vector<float> a, std::vector<float> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double distance = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const float x = std::min(a[i], b[j]);
    while (i < a.size() && a[i] <= x) ++i;
    while (j < b.size() && b[j] <= x) ++j;
    distance = std::max(distance, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                           static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return distance;
}

double correlation(const std::vector<float>& a, const std::vector<float>& b) {
  const auto n = static_cast<double>(a.size());
  double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sa += a[i], sb += b[i], saa += double{a[i]} * a[i], sbb += double{b[i]} * b[i], sab += double{a[i]} * b[i];
  const double scale = std::sqrt((saa - sa * sa / n) * (sbb - sb * sb / n));
  return scale > 0 ? (sab - sa * sb / n) / scale : 0;
}

void check_resets(Device device) {
  constexpr std::int64_t kWorlds = 20000;
  const StreamHandle stream(device);
  const Exec exec{device, stream.get()};
  for (const std::string name : kNames) {
    SCOPED_TRACE(name);
    const Golden golden(name);
    BatchConfig config;
    config.num_envs = kWorlds;
    config.seed = 5;
    config.device = device;
    const auto batch = find_environment(name).make(config);
    const Buffer<float> buffer(device, kWorlds * golden.obs_dim);
    batch->reset(exec, buffer.data(), nullptr);
    std::vector<float> ours(buffer.size());
    copy_async(exec, ours.data(), {}, buffer.data(), device, buffer.bytes());
    synchronize(exec);

    const auto column = [&](const std::vector<float>& rows, std::size_t k) {
      std::vector<float> out;
      for (std::size_t i = k; i < rows.size(); i += golden.obs_dim) out.push_back(rows[i]);
      return out;
    };
    for (std::size_t k = 0; k < golden.obs_dim; ++k) {
      const std::vector<float> a = column(ours, k), b = column(golden.reset, k);
      // critical distance at a level of 1e-4 (the seeds are fixed: it passes always or never)
      const double level = std::sqrt(-0.5 * std::log(0.5e-4));
      EXPECT_LE(ks_distance(a, b), level * std::sqrt(1.0 / double(a.size()) + 1.0 / double(b.size()))) << "entry " << k;
      const auto [low, high] = std::minmax_element(b.begin(), b.end());
      const auto [our_low, our_high] = std::minmax_element(a.begin(), a.end());
      const float slack = 0.005f * (*high - *low);
      EXPECT_NEAR(*our_low, *low, slack) << "entry " << k;
      EXPECT_NEAR(*our_high, *high, slack) << "entry " << k;
      for (std::size_t j = 0; j < k; ++j) {
        // the reference shows which entries depend on each other (sine and cosine of one angle)
        const double reference = correlation(b, column(golden.reset, j));
        EXPECT_NEAR(correlation(a, column(ours, j)), reference, 0.1) << "entries " << j << " and " << k;
      }
    }
  }
}

void check_bounds(const nlohmann::json& space, const std::vector<float>& low, const std::vector<float>& high) {
  EXPECT_EQ(space["dtype"], "float32");
  EXPECT_EQ(space["shape"], nlohmann::json::array({low.size()}));
  ASSERT_EQ(space["low"].size(), high.size());
  for (std::size_t k = 0; k < low.size(); ++k) {
    EXPECT_EQ(low[k], std::stof(space["low"][k].get<std::string>())) << k;
    EXPECT_EQ(high[k], std::stof(space["high"][k].get<std::string>())) << k;
  }
}

TEST(Gymnasium, SpacesAndLimitsAreExact) {
  for (const std::string name : kNames) {
    SCOPED_TRACE(name);
    const EnvSpec& spec = find_environment(name).spec;
    const Golden golden(name);
    EXPECT_EQ(golden.header["gymnasium"], "1.4.0");
    EXPECT_EQ(golden.header["max_episode_steps"], spec.max_episode_steps);
    if (golden.header["reward_threshold"].is_null())
      EXPECT_TRUE(std::isnan(spec.reward_threshold));
    else
      EXPECT_EQ(golden.header["reward_threshold"], spec.reward_threshold);
    check_bounds(golden.header["observation"], spec.observation.low, spec.observation.high);
    const nlohmann::json& action = golden.header["action"];
    ASSERT_EQ(spec.action.is_box(), action["type"] == "Box");
    if (spec.action.is_box()) {
      check_bounds(action, spec.action.low, spec.action.high);
    } else {
      EXPECT_EQ(spec.action.kind, ActionSpace::Kind::discrete);
      EXPECT_EQ(action["n"], spec.action.nvec[0]);
      EXPECT_EQ(action["start"], 0);
    }
  }
}

TEST(Gymnasium, OneStepAgrees) { check_steps({}); }
TEST(Gymnasium, EpisodesAgree) { check_episodes({}); }
TEST(Gymnasium, ResetsHaveTheSameDistribution) { check_resets({}); }

constexpr Device kCard{Device::Kind::cuda, 0};
#define SKIP_WITHOUT_CARD() \
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device"

TEST(Gymnasium, GpuOneStepAgrees) {
  SKIP_WITHOUT_CARD();
  check_steps(kCard);
}
TEST(Gymnasium, GpuEpisodesAgree) {
  SKIP_WITHOUT_CARD();
  check_episodes(kCard);
}
TEST(Gymnasium, GpuResetsHaveTheSameDistribution) {
  SKIP_WITHOUT_CARD();
  check_resets(kCard);
}

}  // namespace
}  // namespace hotloop
