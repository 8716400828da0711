#include "tests/mujoco/feature_models.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>

#include "sim/core/error.h"
#include "tests/mujoco/oracle.h"

namespace hotloop {
namespace {

// HOTLOOP_PRINT_ERRORS=1 in the environment prints the tables.
void print(const OracleReport& report) {
  if (std::getenv("HOTLOOP_PRINT_ERRORS")) fmt::print("{}", table(report));
}

void expect_agreement_in_double(const OracleReport& report) {
  print(report);
  for (const std::string& failure : report.failures) ADD_FAILURE() << failure;
}

void expect_agreement(const OracleReport& report) {
  expect_agreement_in_double(report);
  const std::string complaints = float_complaints(report);
  EXPECT_TRUE(complaints.empty()) << complaints;
}

OracleReport run(const FeatureModel& model, int steps) {
  const auto loaded = load_model_string(model.xml, model.name);
  OracleOptions options;
  options.steps = steps;
  options.speed = model.speed;
  options.displacement = model.displacement;
  return run_oracle(*loaded, options);
}

// Every model by itself in double. In float all of a group as one table: a few hundred steps of one small model have no
// floor of their own.
void expect_group(const std::string& name, const std::vector<FeatureModel>& models, int steps) {
  OracleReport all;
  all.model = name;
  for (const FeatureModel& model : models) {
    SCOPED_TRACE(model.name);
    try {
      const OracleReport report = run(model, steps);
      expect_agreement_in_double(report);
      all.add(report);
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
  }
  all.failures.clear();
  expect_agreement(all);
}

TEST(FeatureModels, Joints) { expect_group("joints", joint_models(), 200); }
TEST(FeatureModels, Forces) { expect_group("forces", force_models(), 200); }
TEST(FeatureModels, Contacts) { expect_group("contacts", contact_models(), 200); }
TEST(FeatureModels, Solvers) { expect_group("solvers", solver_models(), 200); }
TEST(FeatureModels, Humanoid) { expect_agreement(run(humanoid_model(1), 600)); }
TEST(FeatureModels, ThreeHumanoids) { expect_agreement(run(humanoid_model(3), 250)); }

TEST(FeatureModels, GymnasiumModels) {
  for (const char* name : {"ant", "half_cheetah", "hopper", "humanoid", "humanoid_standup", "inverted_double_pendulum",
                           "inverted_pendulum", "pusher", "reacher", "swimmer", "walker2d"}) {
    SCOPED_TRACE(name);
    const auto loaded = load_model(fmt::format("{}/assets/mjcf/{}.xml", HOTLOOP_SOURCE_DIR, name));
    OracleOptions options;
    options.steps = 400;
    expect_agreement(run_oracle(*loaded, options));
  }
}

// MuJoCo's contacts are nearly rigid then: in double the solution has few digits, and in single precision they are
// softer (regular_friction).
TEST(FeatureModels, HardlyAnyFriction) {
  for (const FeatureModel& model : slippery_models()) {
    SCOPED_TRACE(model.name);
    const auto loaded = load_model_string(model.xml, model.name);
    OracleOptions options;
    options.steps = 300;
    options.solver = 1e-3;
    const OracleReport report = run_oracle(*loaded, options);
    expect_agreement_in_double(report);
    EXPECT_LT(report.in_float[kNextQvel].quantile(0.5), 1e-5);
    EXPECT_LT(report.in_float[kNextQvel].quantile(0.99), 5e-4);
    EXPECT_LT(report.in_float[kNextQvel].quantile(1), 1e-2);
    EXPECT_LT(report.in_float[kNextQpos].quantile(1), 1e-4);
  }
}

// PGS stops early by design: after any number of sweeps both must have come equally far.
TEST(FeatureModels, PgsIterateByIterate) {
  const auto with_iterations = [](const std::string& xml, int iterations) {
    const std::string own = std::regex_replace(xml, std::regex(" iterations='[0-9]+'"), "");
    return std::regex_replace(own, std::regex("solver='PGS'"), fmt::format("solver='PGS' iterations='{}'", iterations));
  };
  std::vector<FeatureModel> models = solver_models();
  FeatureModel person = humanoid_model(1);
  person.xml.replace(person.xml.find("<option"), 7, "<option solver='PGS'");
  models.push_back(person);
  for (const FeatureModel& model : models) {
    if (model.xml.find("solver='PGS'") == std::string::npos) continue;
    for (const int iterations : {1, 2, 3, 5, 10, 50}) {
      SCOPED_TRACE(fmt::format("{}, {} iterations", model.name, iterations));
      const auto loaded = load_model_string(with_iterations(model.xml, iterations), model.name);
      ASSERT_EQ(loaded->data().iterations, iterations);
      OracleOptions options;
      options.steps = 60;
      options.in_float = false;
      options.solver = 1e-9;
      expect_agreement(run_oracle(*loaded, options));
    }
  }
}

}  // namespace
}  // namespace hotloop
