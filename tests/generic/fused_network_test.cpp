// The networks of the fused road on the CPU against those of the generic road in double, over shapes that divide
// nothing: outputs, and the gradient of every parameter.
#include <gtest/gtest.h>

#include "tests/generic/network_cases.h"
#include "train/fused/cpu_network.h"

namespace hotloop {
namespace {

Passes<float> fused(const Case& c, int threads) {
  ThreadPool pool(threads);
  const std::vector<float> parameters = parameters_of<float>(c);
  const auto network = make_cpu_network(network_config(c), parameters.data());
  network->parameters_changed({});
  return Passes<float>(*network, c, pool);
}

constexpr std::uint32_t kCases = 80;

TEST(FusedNetwork, EqualsTheGenericRoad) {
  for (std::uint32_t seed = 0; seed < kCases; ++seed) {
    const Case c = draw_case(seed);
    SCOPED_TRACE(c.text);
    const Passes<float> ours = fused(c, 2);
    const Passes<double> expected = exact(c);
    expect_close(c, ours, expected, 1e-6, 2e-6, 1e-5);
  }
}

TEST(FusedNetwork, ThreadsDoNotReachTheBits) {
  for (std::uint32_t seed = 0; seed < kCases; ++seed) {
    const Case c = draw_case(seed);
    SCOPED_TRACE(c.text);
    const Passes<float> one = fused(c, 1);
    for (const int threads : {2, 3, 7}) {
      const Passes<float> many = fused(c, threads);
      EXPECT_EQ(many.head, one.head);
      EXPECT_EQ(many.value, one.value);
      EXPECT_EQ(many.gradient, one.gradient);
    }
  }
}

}  // namespace
}  // namespace hotloop
