#include "train/svg_plot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hotloop {
namespace {

TEST(SvgPlot, TicksOfAnyNumbersAreFiniteAndRise) {
  const double most = std::numeric_limits<double>::max(), infinite = std::numeric_limits<double>::infinity();
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double ranges[][2] = {{0, 1},        {-most, most},   {most, most},          {0, most},
                              {most, -most}, {1e-320, 2e-3},  {-infinite, infinite}, {none, 1.0},
                              {1.0, none},   {none, none},    {infinite, infinite},  {-1e300, 1e300},
                              {5, 5},        {1e15, 1e15 + 1}};
  for (const auto& [low, high] : ranges) {
    SCOPED_TRACE(std::to_string(low) + " to " + std::to_string(high));
    const std::vector<double> values = ticks(low, high, 6);
    ASSERT_GE(values.size(), 2u);
    EXPECT_LE(values.size(), 30u);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_TRUE(std::isfinite(values[i]));
      if (i > 0) {
        EXPECT_GT(values[i], values[i - 1]);
      }
    }
  }
}

}  // namespace
}  // namespace hotloop
