// Random numbers, elementary functions and threads: what all backends build on.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <numbers>
#include <set>
#include <stdexcept>

#include "sim/core/math.h"
#include "sim/core/rng.h"
#include "sim/core/shell.h"
#include "sim/core/thread_pool.h"

namespace hotloop {
namespace {

void expect_block(PhiloxBlock counter, std::uint32_t k0, std::uint32_t k1, PhiloxBlock expected) {
  const PhiloxBlock block = philox(counter, k0, k1);
  for (int k = 0; k < 4; ++k) EXPECT_EQ(block.word[k], expected.word[k]) << "word " << k;
}

TEST(Shell, QuotesWordsThatAShellWouldTakeApart) {
  EXPECT_EQ(shell_quoted("runs/a-1_b.c"), "runs/a-1_b.c");
  EXPECT_EQ(shell_quoted("my runs"), "'my runs'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
}

// Known answers of philox4x32-10, published with the authors' Random123 library.
TEST(Philox, GivesThePublishedAnswers) {
  const std::uint32_t ones = 0xffffffffu;
  expect_block({{0, 0, 0, 0}}, 0, 0, {{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}});
  expect_block({{ones, ones, ones, ones}}, ones, ones, {{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}});
  expect_block({{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}}, 0xa4093822u, 0x299f31d0u,
               {{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}});
}

TEST(Rng, DrawsAreKeyedByEverythingAndRepeat) {
  std::set<std::uint32_t> first;
  int streams = 0;
  for (const std::uint64_t seed : {0ull, 1ull, 1ull << 32})
    for (const std::uint32_t stream : {0u, 1u, 2u, 64u})
      for (const std::uint32_t world : {0u, 1u, 1u << 31})
        for (const std::uint64_t step : {0ull, 1ull, 1ull << 32, 1ull << 55}) {
          Rng a(seed, stream, world, step), b(seed, stream, world, step);
          for (int k = 0; k < 9; ++k) {
            const std::uint32_t bits = a.bits();
            EXPECT_EQ(bits, b.bits());
            first.insert(bits);
            ++streams;
          }
        }
  EXPECT_GE(static_cast<int>(first.size()), streams - 1);  // among 1296 draws of 2^32 a collision is already rare
}

TEST(Rng, UniformAndNormalHaveTheirMoments) {
  double mean = 0, square = 0, normal_mean = 0, normal_square = 0, lagged = 0;
  float low = 1, high = 0, previous = 0.5f;
  constexpr int kDraws = 200000;
  for (std::uint32_t world = 0; world < kDraws / 10; ++world) {
    Rng uniform(3, RngStream::reset, world, 0), normal(3, RngStream::dynamics, world, 0);
    for (int k = 0; k < 10; ++k) {
      const float u = uniform.uniform(), n = normal.normal();
      ASSERT_TRUE(u >= 0.0f && u < 1.0f);
      ASSERT_TRUE(std::isfinite(n));
      low = std::min(low, u), high = std::max(high, u);
      mean += u, square += double{u} * u, normal_mean += n, normal_square += double{n} * n;
      lagged += (u - 0.5) * (previous - 0.5);
      previous = u;
    }
  }
  EXPECT_LT(low, 1e-4f);
  EXPECT_GT(high, 1 - 1e-4f);
  EXPECT_NEAR(mean / kDraws, 0.5, 0.003);  // more than four standard deviations, as all below
  EXPECT_NEAR(square / kDraws, 1.0 / 3, 0.003);
  EXPECT_NEAR(lagged / kDraws, 0, 0.001);
  EXPECT_NEAR(normal_mean / kDraws, 0, 0.01);
  EXPECT_NEAR(normal_square / kDraws, 1, 0.015);
}

TEST(Rng, UniformKeepsToItsRange) {
  Rng rng(9, RngStream::reset, 0, 0);
  float low = 10, high = -10;
  for (int k = 0; k < 10000; ++k) {
    const float x = rng.uniform(-3.0f, 5.0f);
    low = std::min(low, x), high = std::max(high, x);
  }
  EXPECT_GE(low, -3.0f);
  EXPECT_LT(high, 5.0f);
  EXPECT_LT(low, -2.99f);
  EXPECT_GT(high, 4.99f);
}

TEST(Math, SinCosIsAccurate) {
  double worst = 0;
  for (int k = -1000000; k <= 1000000; ++k) {
    const float x = static_cast<float>(k) * 1e-4f;  // [-100, 100]
    float s, c;
    sin_cos(x, s, c);
    worst = std::max({worst, std::abs(s - std::sin(double{x})), std::abs(c - std::cos(double{x}))});
  }
  EXPECT_LT(worst, 1.2e-7);
  float s, c;
  for (const float x : {8000.0f, -8191.5f}) {
    sin_cos(x, s, c);
    EXPECT_NEAR(s, std::sin(double{x}), 1.2e-7);
    EXPECT_NEAR(c, std::cos(double{x}), 1.2e-7);
  }
  sin_cos(0.0f, s, c);
  EXPECT_EQ(s, 0.0f);
  EXPECT_EQ(c, 1.0f);
}

TEST(Math, WrapAngleIsTheSameAngleNearZero) {
  for (int k = -10000; k <= 10000; ++k) {
    const double x = k * 1e-2;
    EXPECT_NEAR(std::remainder(wrap_angle(x) - x, 2 * std::numbers::pi), 0, 1e-13);
    EXPECT_LE(std::abs(wrap_angle(x)), std::numbers::pi + 1e-14);
    const auto f = static_cast<float>(x);
    EXPECT_NEAR(std::remainder(wrap_angle(f) - double{f}, 2 * std::numbers::pi), 0, 1e-5);
    EXPECT_LE(std::abs(wrap_angle(f)), 3.141602f);
  }
}

TEST(Math, FiniteAndClamp) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(is_finite(3.4e38f));
  for (const float x : {inf, -inf, nan}) EXPECT_FALSE(is_finite(x));
  EXPECT_EQ(clamp(2.0f, -1.0f, 1.0f), 1.0f);
  EXPECT_EQ(clamp(-inf, -1.0f, 1.0f), -1.0f);
  EXPECT_TRUE(std::isnan(clamp(nan, -1.0f, 1.0f))) << "a NaN must not be hidden";
}

TEST(ThreadPool, RunsEveryTaskOnceAndAgain) {
  ThreadPool pool(4);
  EXPECT_EQ(pool.size(), 4);
  for (int round = 0; round < 500; ++round) {
    const int count = round % 9;
    std::vector<std::atomic<int>> calls(9);
    pool.run(count, [&](int k) { calls.at(static_cast<std::size_t>(k))++; });
    for (int k = 0; k < 9; ++k) ASSERT_EQ(calls[static_cast<std::size_t>(k)], k < count ? 1 : 0) << "round " << round;
  }
}

TEST(ThreadPool, RethrowsAndGoesOn) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> finished = 0;
      EXPECT_THROW(pool.run(6,
                            [&](int k) {
                              if (k == 2) throw std::runtime_error("task 2");
                              ++finished;
                            }),
                   std::runtime_error);
      EXPECT_LE(finished, 5);
      finished = 0;
      pool.run(6, [&](int) { ++finished; });
      ASSERT_EQ(finished, 6) << "the failure of the last run must not stay";
    }
  }
}

}  // namespace
}  // namespace hotloop
