// Draws follow the probabilities, log-probabilities and entropies are those of the distributions, gradients are those
// of finite differences in double.
#include "train/distribution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "train/rollout_ops.h"

namespace hotloop {
namespace {

struct Choices {
  std::vector<std::int32_t> nvec;
  HeadView view() const {
    HeadView h;
    h.dim = static_cast<int>(nvec.size());
    for (const std::int32_t n : nvec) h.head_dim += n;
    h.nvec = nvec.data();
    return h;
  }
};

struct Box {
  std::vector<float> low, high;
  HeadView view(HeadKind kind, bool state_std) const {
    HeadView h;
    h.kind = kind;
    h.dim = static_cast<int>(low.size());
    h.head_dim = h.dim * (state_std ? 2 : 1);
    h.state_std = state_std;
    h.low = low.data();
    h.high = high.data();
    return h;
  }
};

// Probabilities of component c in double.
std::vector<double> probabilities(const Choices& s, const std::vector<float>& head,
                                  const std::vector<std::uint8_t>& mask, std::size_t component) {
  std::size_t first = 0;
  for (std::size_t c = 0; c < component; ++c) first += static_cast<std::size_t>(s.nvec[c]);
  std::vector<double> p;
  double total = 0;
  for (std::size_t k = first; k < first + static_cast<std::size_t>(s.nvec[component]); ++k) {
    p.push_back(mask.empty() || mask[k] ? std::exp(static_cast<double>(head[k])) : 0.0);
    total += p.back();
  }
  for (double& x : p) x /= total;
  return p;
}

void check_frequencies(const Choices& s, const std::vector<float>& head, const std::vector<std::uint8_t>& mask) {
  constexpr std::uint32_t kDraws = 200000;
  const HeadView h = s.view();
  const std::uint8_t* legal = mask.empty() ? nullptr : mask.data();
  std::vector<std::vector<double>> p, count;
  for (std::size_t c = 0; c < s.nvec.size(); ++c) {
    p.push_back(probabilities(s, head, mask, c));
    count.emplace_back(p[c].size(), 0.0);
  }
  for (std::uint32_t w = 0; w < kDraws; ++w) {
    Rng rng(7, RngStream::action, w, 3);
    std::vector<std::int64_t> action(s.nvec.size(), -1);
    const float log_prob = draw_categorical(h, head.data(), legal, false, rng, action.data());
    double expected = 0;
    for (std::size_t c = 0; c < action.size(); ++c) {
      ASSERT_GE(action[c], 0);
      ASSERT_LT(action[c], s.nvec[c]);
      const auto k = static_cast<std::size_t>(action[c]);
      ASSERT_GT(p[c][k], 0.0) << "an illegal choice was drawn";
      expected += std::log(p[c][k]);
      count[c][k] += 1;
    }
    ASSERT_NEAR(log_prob, expected, 5e-5);  // a logit of 500 has steps of 3e-5 in float
    ASSERT_NEAR(log_prob, log_prob_categorical(h, head.data(), legal, action.data()).value, 1e-6);
  }
  for (std::size_t c = 0; c < p.size(); ++c) {
    double chi_square = 0;
    for (std::size_t k = 0; k < p[c].size(); ++k)
      if (p[c][k] > 0)
        chi_square += (count[c][k] - kDraws * p[c][k]) * (count[c][k] - kDraws * p[c][k]) / (kDraws * p[c][k]);
    EXPECT_LT(chi_square, 30.0) << "component " << c;  // at most 6 degrees of freedom: once in 25000 seeds
  }
}

TEST(Distribution, ChoicesAreDrawnAsOftenAsTheirProbabilities) {
  check_frequencies({{2}}, {0.3f, -0.4f}, {});
  check_frequencies({{7}}, {0.3f, -0.4f, 1.0f, 2.0f, -3.0f, 0.0f, 0.5f}, {});
  check_frequencies({{2, 3, 4}}, {1.0f, 0.0f, 500.0f, 499.0f, 498.5f, -1.0f, 0.0f, 1.0f, 2.0f}, {});
}

TEST(Distribution, MaskedChoicesAreNeverDrawn) {
  check_frequencies({{3}}, {5.0f, 0.0f, 0.5f}, {0, 1, 1});
  check_frequencies({{2, 4}}, {3.0f, -30.0f, 0.1f, 9.0f, 0.2f, 9.0f}, {0, 1, 1, 0, 1, 0});
}

TEST(Distribution, DeterministicChoicesAreTheMostProbableLegalOnes) {
  const Choices s{{2, 3, 4}};
  const std::vector<float> head = {1.0f, 0.0f, 5.0f, 7.0f, 7.0f, -1.0f, -2.0f, -3.0f, -0.5f};
  const std::vector<std::uint8_t> mask = {1, 1, 1, 0, 1, 0, 1, 1, 0};
  Rng rng(1, RngStream::action, 0, 0);
  std::int64_t action[3];
  draw_categorical(s.view(), head.data(), nullptr, true, rng, action);
  EXPECT_EQ(std::vector<std::int64_t>(action, action + 3), (std::vector<std::int64_t>{0, 1, 3}));
  const float log_prob = draw_categorical(s.view(), head.data(), mask.data(), true, rng, action);
  EXPECT_EQ(std::vector<std::int64_t>(action, action + 3), (std::vector<std::int64_t>{0, 2, 1}));
  EXPECT_NEAR(log_prob, log_prob_categorical(s.view(), head.data(), mask.data(), action).value, 1e-6);
}

TEST(Distribution, GaussianDrawsHaveMeanDeviationAndLogProbability) {
  const Box box{{-1.0f, -2.0f}, {1.5f, 3.0f}};
  constexpr std::uint32_t kDraws = 200000;
  for (const HeadKind kind : {HeadKind::gaussian, HeadKind::squashed_gaussian})
    for (const bool state_std : {false, true}) {
      const HeadView h = box.view(kind, state_std);
      const std::vector<float> head = {0.4f, -0.7f, -0.5f, 0.3f}, log_std = {-0.5f, 0.3f};
      const float* global = state_std ? nullptr : log_std.data();
      double sum[2] = {}, squares[2] = {};
      for (std::uint32_t w = 0; w < kDraws; ++w) {
        Rng rng(11, RngStream::action, w, 0);
        float sample[2], action[2];
        const float log_prob = draw_gaussian(h, head.data(), global, false, rng, sample, action);
        ASSERT_NEAR(log_prob, log_prob_gaussian(h, head.data(), global, sample).value, 1e-4);
        for (int k = 0; k < 2; ++k) {
          sum[k] += sample[k];
          squares[k] += (sample[k] - head[k]) * (sample[k] - head[k]);
          ASSERT_GE(action[k], box.low[k]);
          ASSERT_LE(action[k], box.high[k]);
          const float half = 0.5f * (box.high[k] - box.low[k]);
          const float expected = kind == HeadKind::gaussian ? std::clamp(sample[k], box.low[k], box.high[k])
                                                            : box.low[k] + half * (std::tanh(sample[k]) + 1.0f);
          ASSERT_NEAR(action[k], expected, 1e-6);
        }
      }
      for (int k = 0; k < 2; ++k) {
        const double deviation = std::exp(log_std[k]);
        EXPECT_NEAR(sum[k] / kDraws, head[k], 5 * deviation / std::sqrt(kDraws));
        EXPECT_NEAR(squares[k] / kDraws, deviation * deviation, 5 * deviation * deviation * std::sqrt(2.0 / kDraws));
      }
    }
}

TEST(Distribution, DeterministicBoxActionsAreTheMode) {
  const Box box{{-1.0f, -2.0f}, {1.5f, 3.0f}};
  const std::vector<float> head = {0.4f, -2.5f}, log_std = {0.2f, 0.1f};
  Rng rng(1, RngStream::action, 0, 0);
  float action[2];
  draw_gaussian(box.view(HeadKind::gaussian, false), head.data(), log_std.data(), true, rng, nullptr, action);
  EXPECT_FLOAT_EQ(action[0], 0.4f);
  EXPECT_FLOAT_EQ(action[1], -2.0f);
  draw_gaussian(box.view(HeadKind::squashed_gaussian, false), head.data(), log_std.data(), true, rng, nullptr, action);
  EXPECT_NEAR(action[0], 0.25 + 1.25 * std::tanh(0.4), 1e-6);
  EXPECT_NEAR(action[1], 0.5 + 2.5 * std::tanh(-2.5), 1e-6);
}

// The density of the squashed action integrates to one over the action's range.
TEST(Distribution, SquashedDensityIntegratesToOne) {
  const Box box{{-1.0f}, {3.0f}};
  const HeadView h = box.view(HeadKind::squashed_gaussian, false);
  const double head[] = {0.3}, log_std[] = {-0.2};
  double total = 0, previous_action = -1, previous_density = 0;
  for (double x = -8; x <= 8; x += 1e-3) {
    const double action = 1.0 + 2.0 * std::tanh(x);
    const double density = std::exp(log_prob_gaussian(h, head, log_std, &x).value);
    total += 0.5 * (density + previous_density) * (action - previous_action);
    previous_action = action;
    previous_density = density;
  }
  EXPECT_NEAR(total, 1.0, 1e-4);
}

TEST(Distribution, ChoiceGradientsAreThoseOfFiniteDifferences) {
  const Choices s{{2, 3, 4}};
  const HeadView h = s.view();
  const std::vector<std::uint8_t> mask = {1, 1, 1, 0, 1, 0, 1, 1, 1};
  const std::int64_t action[] = {1, 2, 1};
  std::vector<double> head = {0.3, -0.4, 1.0, 2.0, -0.7, 0.0, 0.5, 1.5, -1.0};
  for (const std::uint8_t* legal : {static_cast<const std::uint8_t*>(nullptr), mask.data()}) {
    std::vector<double> d(head.size());
    backward_categorical(h, head.data(), legal, action, 1.3, -0.8, d.data());
    for (std::size_t k = 0; k < head.size(); ++k) {
      const auto at = [&](double shift) {
        std::vector<double> moved = head;
        moved[k] += shift;
        const LogProb<double> p = log_prob_categorical(h, moved.data(), legal, action);
        return 1.3 * p.value - 0.8 * p.entropy;
      };
      EXPECT_NEAR(d[k], (at(1e-5) - at(-1e-5)) / 2e-5, 1e-9) << k;
    }
  }
}

TEST(Distribution, GaussianGradientsAreThoseOfFiniteDifferences) {
  const Box box{{-1.0f, -2.0f, 0.0f}, {1.5f, 3.0f, 1.0f}};
  const double sample[] = {0.7, -1.1, 0.2};
  // the last deviation of the state-dependent case lies beyond the clamp: no gradient there
  const std::vector<double> head = {0.3, -0.4, 0.1, -0.6, 0.2, 2.5}, log_std = {-0.6, 0.2, 0.4};
  for (const HeadKind kind : {HeadKind::gaussian, HeadKind::squashed_gaussian})
    for (const bool state_std : {false, true}) {
      const HeadView h = box.view(kind, state_std);
      std::vector<double> d(6), d_log_std(3);
      backward_gaussian(h, head.data(), log_std.data(), sample, 1.3, -0.8, d.data(),
                        state_std ? nullptr : d_log_std.data());
      const auto value = [&](const std::vector<double>& x, const std::vector<double>& s) {
        const LogProb<double> p = log_prob_gaussian(h, x.data(), s.data(), sample);
        return 1.3 * p.value - 0.8 * p.entropy;
      };
      for (std::size_t k = 0; k < static_cast<std::size_t>(h.head_dim); ++k) {
        std::vector<double> up = head, down = head;
        up[k] += 1e-5, down[k] -= 1e-5;
        EXPECT_NEAR(d[k], (value(up, log_std) - value(down, log_std)) / 2e-5, 1e-8) << k;
      }
      for (std::size_t k = 0; !state_std && k < 3; ++k) {
        std::vector<double> up = log_std, down = log_std;
        up[k] += 1e-5, down[k] -= 1e-5;
        EXPECT_NEAR(d_log_std[k], (value(head, up) - value(head, down)) / 2e-5, 1e-8) << k;
      }
    }
}

// Entropy by its definition, the mean of -log p over draws.
TEST(Distribution, EntropiesAreThoseOfTheDefinition) {
  const Choices s{{3, 2}};
  const std::vector<double> head = {0.3, -0.4, 1.0, 0.2, 0.9};
  double entropy = 0;
  std::int64_t action[2];
  for (action[0] = 0; action[0] < 3; ++action[0])
    for (action[1] = 0; action[1] < 2; ++action[1]) {
      const double log_prob = log_prob_categorical(s.view(), head.data(), nullptr, action).value;
      entropy -= std::exp(log_prob) * log_prob;
    }
  action[0] = action[1] = 0;
  EXPECT_NEAR(log_prob_categorical(s.view(), head.data(), nullptr, action).entropy, entropy, 1e-12);
  const Box box{{-1.0f}, {1.0f}};
  const double mean[] = {0.2}, log_std[] = {-0.3}, sample[] = {0.0};
  EXPECT_NEAR(log_prob_gaussian(box.view(HeadKind::gaussian, false), mean, log_std, sample).entropy,
              0.5 * std::log(2 * kPi * std::exp(1.0)) - 0.3, 1e-12);
}

// The key decides the draws: another step, stream or seed gives others, the number of worlds does not matter.
TEST(Distribution, DrawsAreKeyed) {
  const Choices s{{5}};
  const std::vector<float> head(5 * 64, 0.0f);
  const auto draw = [&](std::int64_t worlds, DrawKey key) {
    std::vector<std::int64_t> action(static_cast<std::size_t>(worlds));
    SampleIo io;
    io.head = head.data();
    io.action = action.data();
    sample_actions({}, worlds, s.view(), key, false, io);
    return action;
  };
  DrawKey key;
  key.seed = 3;
  key.t = 2;
  key.num_steps = 10;
  const std::vector<std::int64_t> first = draw(64, key);
  EXPECT_EQ(draw(64, key), first);
  EXPECT_EQ(draw(20, key), std::vector<std::int64_t>(first.begin(), first.begin() + 20));
  DrawKey other = key;
  other.seed = 4;
  EXPECT_NE(draw(64, other), first);
  other = key;
  other.stream += kEvaluationStreams;
  EXPECT_NE(draw(64, other), first);
  other = key;
  other.t = 3;
  const std::vector<std::int64_t> next = draw(64, other);
  EXPECT_NE(next, first);
  Control control;  // step 13 is t = 3 of iteration 1
  control.iteration = 1;
  other.control = &control;
  EXPECT_NE(draw(64, other), next);
  other.t = 2;
  other.num_steps = 1;
  EXPECT_EQ(draw(64, other), next);
}

}  // namespace
}  // namespace hotloop
