#include "tests/mujoco/random_mjcf.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "sim/core/error.h"
#include "tests/mujoco/oracle.h"

namespace hotloop {
namespace {

// Models `first` to `first + count - 1`, in double always, in float as one table over all of them.
void expect_agreement(unsigned first, unsigned count, int steps) {
  OracleReport all;
  all.model = fmt::format("random models {} to {}", first, first + count - 1);
  int refused = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    const std::string xml = random_mjcf(seed), name = fmt::format("random {}", seed);
    std::shared_ptr<const LoadedModel> model;
    try {
      model = load_model_string(xml, name, 120);  // room for whatever overlaps at the start
    } catch (const Error& e) {
      if (std::getenv("HOTLOOP_PRINT_ERRORS")) fmt::print("{}\n", e.what());
      ++refused;
      continue;
    }
    OracleOptions options;
    options.steps = steps;
    options.seed = seed;
    options.displacement = 0.3;
    options.speed = 1;
    const OracleReport report = run_oracle(*model, options);
    for (const std::string& failure : report.failures) ADD_FAILURE() << failure;
    const std::string complaints = float_complaints(report);
    if (std::getenv("HOTLOOP_PRINT_ERRORS") && !complaints.empty()) fmt::print("{}", complaints);
    all.add(report);
  }
  if (std::getenv("HOTLOOP_PRINT_ERRORS")) fmt::print("refused: {}\n{}", refused, table(all));
  EXPECT_LT(refused, count / 20);
  EXPECT_LE(all.outliers, 1 + all.steps / 1000);
  // no maximum: some contacts have hardly any friction, and most models begin deep inside each other
  const std::string complaints = float_complaints(all, false);
  EXPECT_TRUE(complaints.empty()) << complaints;
}

unsigned number(const char* variable, unsigned otherwise) {
  const char* text = std::getenv(variable);
  return text ? static_cast<unsigned>(std::atoi(text)) : otherwise;
}

// HOTLOOP_FIRST and HOTLOOP_COUNT in the environment choose other seeds; HOTLOOP_PRINT_ERRORS=1 prints the tables. Ten
// thousand more are one of the slow tests.
TEST(RandomMjcf, ThreeHundredModels) { expect_agreement(number("HOTLOOP_FIRST", 0), number("HOTLOOP_COUNT", 300), 10); }
TEST(RandomMjcf, SlowTenThousandModels) { expect_agreement(1000, 10000, 20); }

TEST(RandomMjcf, SameSeedSameModel) {
  EXPECT_EQ(random_mjcf(7), random_mjcf(7));
  EXPECT_NE(random_mjcf(7), random_mjcf(8));
}

}  // namespace
}  // namespace hotloop
