// One PPO update on fixed data equals the same update by PyTorch: gradients, metrics, and parameters after one and
// three updates. In double the two differ by rounding only, in float by float's rounding.
#include <gtest/gtest.h>

#include "tests/generic/golden_case.h"

namespace hotloop {
namespace {

constexpr const char* kCases[] = {"discrete",
                                  "discrete_raw_advantage",
                                  "discrete_other_critic",
                                  "multi_discrete_mask",
                                  "multi_discrete_mask_shared",
                                  "gaussian",
                                  "gaussian_state_std",
                                  "squashed_gaussian",
                                  "squashed_gaussian_state_std"};

// The parameters, and what the update changed of them, so that what it left alone cannot hide an error. Adam divides by
// the gradient's own size: float's rounding of the small ones weighs more in the change than in the gradient.
template <class Real>
void compare_parameters(const GoldenCase& golden, const std::vector<Real>& parameters, const std::string& kind,
                        double tolerance) {
  const std::vector<double> before = golden.flat("before"), after = golden.flat(kind);
  std::vector<double> change(after.size()), ours(after.size());
  for (std::size_t i = 0; i < change.size(); ++i) {
    change[i] = after[i] - before[i];
    ours[i] = static_cast<double>(parameters[i]) - before[i];
  }
  EXPECT_LT(relative_error(parameters, after), tolerance) << kind;
  EXPECT_LT(relative_error(ours, change), (std::is_same_v<Real, float> ? 5 : 1) * tolerance) << kind;
}

template <class Real>
void compare_update(const std::string& name, Device device, std::int64_t shards, double tolerance,
                    Road road = Road::generic) {
  SCOPED_TRACE(name + ", " + std::to_string(shards) + " shards");
  const GoldenCase golden(name);
  GoldenUpdate<Real> update(golden, device, shards, Precision::fp32, road);
  const std::vector<double> metrics = golden.values<double>("metrics");
  constexpr std::size_t kColumns = 7;
  ASSERT_EQ(metrics.size(), 3 * kColumns);
  for (int step = 1; step <= 3; ++step) {
    update.step();
    const std::vector<double> ours = update.metrics();
    const double* expected = &metrics[static_cast<std::size_t>(step - 1) * kColumns];
    for (std::size_t k = 0; k < kColumns; ++k)
      EXPECT_NEAR(ours[k], expected[k], tolerance * (1.0 + std::abs(expected[k]))) << "update " << step << ", " << k;
    if (step == 1) {
      const std::vector<Real> gradient = update.gradient();
      EXPECT_LT(relative_error(gradient, golden.flat("gradient")), tolerance);
      for (const ParameterSpec& p : golden.policy().parameters) {
        const auto first = static_cast<std::size_t>(p.offset), count = static_cast<std::size_t>(p.numel);
        const std::vector<Real> part(gradient.begin() + p.offset, gradient.begin() + p.offset + p.numel);
        EXPECT_LT(relative_error(part, golden.values<double>("gradient/" + p.name)), 5 * tolerance)
            << p.name << " at " << first << ", " << count << " elements";
      }
      compare_parameters(golden, update.parameters(), "after1", tolerance);
    }
  }
  compare_parameters(golden, update.parameters(), "after3", tolerance);
}

class PpoUpdate : public ::testing::TestWithParam<const char*> {};

TEST_P(PpoUpdate, EqualsPyTorchInDouble) {
  for (const std::int64_t shards : {1, 4}) compare_update<double>(GetParam(), {}, shards, 1e-6);
}

TEST_P(PpoUpdate, EqualsPyTorchInFloat) {
  for (const std::int64_t shards : {1, 4}) compare_update<float>(GetParam(), {}, shards, 1e-5);
}

TEST_P(PpoUpdate, FusedEqualsPyTorch) {
  for (const std::int64_t shards : {1, 4}) compare_update<float>(GetParam(), {}, shards, 1e-5, Road::fused);
}

// bf16 keeps 8 bits of every weight and activation.
void compare_bf16(const std::string& name, Device device, std::int64_t shards) {
  GoldenCase golden(name);
  golden.remove_clips();
  GoldenUpdate<double> exact(golden, {}, 1);
  GoldenUpdate<float> coarse(golden, device, shards, Precision::bf16);
  exact.step();
  coarse.step();
  EXPECT_LT(relative_error(coarse.gradient(), exact.gradient()), 2e-2);
}

TEST_P(PpoUpdate, Bf16IsNearDouble) { compare_bf16(GetParam(), {}, 2); }

TEST_P(PpoUpdate, GpuEqualsPyTorch) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const Device card{Device::Kind::cuda, 0};
  compare_update<double>(GetParam(), card, 1, 1e-6);
  compare_update<float>(GetParam(), card, 1, 1e-5);
  compare_bf16(GetParam(), card, 1);
}

INSTANTIATE_TEST_SUITE_P(Cases, PpoUpdate, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace hotloop
