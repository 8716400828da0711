// Statistics of samples and of runs, beside published tables and beside rliable (make_rliable_golden.py).
#include "train/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/file.h"
#include "sim/core/rng.h"
#include "train/bootstrap.h"

namespace hotloop {
namespace {

using nlohmann::json;

TEST(Statistics, QuantilesOfStudentsT) {  // of tables; the last ones either side of the switch of formulas
  const std::pair<std::int64_t, double> table[] = {{1, 12.706205},  {2, 4.302653},   {3, 3.182446},   {4, 2.776445},
                                                   {5, 2.570582},   {10, 2.228139},  {29, 2.045230},  {100, 1.983972},
                                                   {200, 1.971896}, {201, 1.971837}, {1000, 1.962339}};
  for (const auto& [df, t] : table) EXPECT_NEAR(student_t_quantile(0.975, df), t, 2e-6) << df;
  EXPECT_NEAR(student_t_quantile(0.9, 7), 1.414924, 2e-6);
}

TEST(Statistics, OfAHandfulOfValues) {
  const Summary s = summarize({9, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_DOUBLE_EQ(s.mean, 4.625);
  EXPECT_DOUBLE_EQ(s.median, 4.5);
  EXPECT_DOUBLE_EQ(s.iqm, 4.5);  // of 3, 4, 5, 6
  EXPECT_DOUBLE_EQ(s.min, 1);
  EXPECT_DOUBLE_EQ(s.max, 9);
  EXPECT_NEAR(s.std, std::sqrt(49.875 / 8), 1e-12);
  EXPECT_NEAR(s.mean_interval.high - s.mean, 2.364624 * std::sqrt(49.875 / 7 / 8), 1e-5);
  // winsorised: 3 3 3 4 5 6 6 6
  EXPECT_NEAR(s.iqm - s.iqm_interval.low, 3.182446 * std::sqrt(14.0 / 7) / (0.5 * std::sqrt(8.0)), 1e-5);
  EXPECT_DOUBLE_EQ(s.median_interval.low, 1);  // P(fewer than 2 of 8 coins) = 9 / 256 > 2.5 %
  EXPECT_DOUBLE_EQ(s.median_interval.high, 9);
}

TEST(Statistics, TooFewValuesHaveNoInterval) {
  const Summary one = summarize({3});
  EXPECT_EQ(one.mean, 3);
  EXPECT_EQ(one.iqm, 3);
  EXPECT_TRUE(std::isnan(one.mean_interval.low) && std::isnan(one.iqm_interval.high));
  EXPECT_TRUE(std::isnan(summarize({1, 2, 3, 4, 5}).median_interval.low));
  EXPECT_FALSE(std::isnan(summarize({1, 2, 3, 4, 5, 6}).median_interval.low));
  EXPECT_TRUE(std::isnan(summarize({}).mean));
}

TEST(Statistics, CountsWithRests) {
  EXPECT_DOUBLE_EQ(interquartile_mean({0, 1, 2, 10, 11, 20, 30}), 8.8);  // one value left out at either end
  EXPECT_EQ(shares_above({{1, 2}, {2, 3}}, {0, 2, 2.5, 3}), (std::vector<double>{1, 0.25, 0.25, 0}));
}

// Of samples from known distributions, 95 % of the intervals hold the true value.
TEST(Statistics, IntervalsHoldTheTruthAsOftenAsTheySay) {
  constexpr int kSamples = 2000;
  for (const int size : {12, 60, 1500}) {
    int mean = 0, iqm = 0, median = 0;
    for (std::uint32_t i = 0; i < kSamples; ++i) {
      Rng rng(5, RngStream::resample, i, static_cast<std::uint64_t>(size));
      std::vector<double> values;
      for (int k = 0; k < size; ++k) values.push_back(rng.normal());
      const Summary s = summarize(values);
      const auto holds = [](const Interval95& interval) { return interval.low <= 0 && 0 <= interval.high; };
      mean += holds(s.mean_interval), iqm += holds(s.iqm_interval), median += holds(s.median_interval);
    }
    // four standard errors of a share of 2000; the median's are a little too wide, as ranks are whole numbers
    EXPECT_NEAR(static_cast<double>(mean) / kSamples, 0.95, 0.02) << size;
    EXPECT_NEAR(static_cast<double>(iqm) / kSamples, 0.95, size < 30 ? 0.035 : 0.02) << size;
    EXPECT_NEAR(static_cast<double>(median) / kSamples, 0.965, 0.03) << size;
  }
}

// ---- beside rliable -------------------------------------------------------------------------------------------------

const json& golden() {
  static const json file = json::parse(read_file(HOTLOOP_SOURCE_DIR "/tests/golden/rliable.json", 1 << 24));
  return file;
}

// From [runs][tasks], as rliable has it.
Strata strata(const json& scores) {
  Strata out(scores[0].size());
  for (const json& run : scores)
    for (std::size_t task = 0; task < out.size(); ++task) out[task].push_back(run[task].get<double>());
  return out;
}

// The resamples that rliable drew: indices[resample * samples + sample][run][task].
Draw recorded(const json& indices, std::size_t samples) {
  return [&indices, samples](std::int64_t r, std::size_t sample, std::size_t task, std::vector<std::size_t>& index) {
    const json& drawn = indices[static_cast<std::size_t>(r) * samples + sample];
    for (std::size_t run = 0; run < index.size(); ++run) index[run] = drawn[run][task].get<std::size_t>();
  };
}

void expect_equals_rliable(const char* name, const std::vector<Strata>& samples, const Statistic& statistic,
                           double tolerance) {
  SCOPED_TRACE(name);
  const json& theirs = golden().at(name);
  const auto resamples = static_cast<std::int64_t>(theirs["indices"].size() / samples.size());
  const auto same = bootstrap(samples, statistic, resamples, recorded(theirs["indices"], samples.size()));
  const auto many = bootstrap(samples, statistic, BootstrapConfig{20000, 3, 0});
  ASSERT_EQ(same.size(), theirs["values"].size());
  for (std::size_t v = 0; v < same.size(); ++v) {
    EXPECT_NEAR(same[v].value, theirs["values"][v].get<double>(), 1e-12);
    EXPECT_NEAR(same[v].interval.low, theirs["intervals"][0][v].get<double>(), 1e-12);
    EXPECT_NEAR(same[v].interval.high, theirs["intervals"][1][v].get<double>(), 1e-12);
    EXPECT_NEAR(many[v].interval.low, theirs["many"][0][v].get<double>(), tolerance);
    EXPECT_NEAR(many[v].interval.high, theirs["many"][1][v].get<double>(), tolerance);
  }
}

TEST(Bootstrap, AggregatesAreRliables) {
  const Statistic statistic = [](const std::vector<Strata>& s) -> std::vector<double> {
    const Aggregates a = aggregate(s[0]);
    return {a.iqm, a.mean, a.median};
  };
  expect_equals_rliable("aggregates", {strata(golden()["x"])}, statistic, 0.012);
}

TEST(Bootstrap, PerformanceProfilesAreRliables) {
  const auto thresholds = golden()["taus"].get<std::vector<double>>();
  const Statistic statistic = [&](const std::vector<Strata>& s) { return shares_above(s[0], thresholds); };
  expect_equals_rliable("profile", {strata(golden()["x"])}, statistic, 1.0 / 24 + 1e-9);  // steps of one run
}

TEST(Bootstrap, ProbabilitiesOfImprovementAreRliables) {
  const Statistic statistic = [](const std::vector<Strata>& s) -> std::vector<double> {
    return {probability_of_improvement(s[0], s[1])};
  };
  expect_equals_rliable("improvement", {strata(golden()["x"]), strata(golden()["y"])}, statistic, 0.012);
}

TEST(Bootstrap, FollowsFromTheSeed) {
  const Statistic iqm = [](const std::vector<Strata>& s) { return std::vector<double>{aggregate(s[0]).iqm}; };
  const std::vector<Strata> samples = {strata(golden()["x"])};
  const auto low = [&](const BootstrapConfig& config) { return bootstrap(samples, iqm, config)[0].interval.low; };
  const BootstrapConfig config = {300, 1, 0};
  EXPECT_EQ(low(config), low(config));
  EXPECT_NE(low(config), low({300, 2, 0}));
  EXPECT_NE(low(config), low({300, 1, 1}));
}

}  // namespace
}  // namespace hotloop
