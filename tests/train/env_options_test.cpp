// Options of a task as configuration keys: env.NAME and randomize.FIELD on the command line, the tables [env] and
// [randomize] in files.
#include <gtest/gtest.h>

#include <fstream>

#include "sim/core/registry.h"
#include "tests/error_text.h"
#include "tests/temp_folder.h"
#include "train/config.h"

namespace hotloop {
namespace {

std::string text_of(const TrainConfig& config, const std::string& key) {
  for (const EnvOption& option : config.env)
    if (option.key == key) return option.text;
  return "none";
}

std::string refusal(const std::string& key, const std::string& text, const std::string& task = "Ant-v5") {
  return error_text([&] { resolve_settings({{"task", task, ""}, {key, text, ""}}); });
}

TEST(EnvOptions, AreCompletedAndSurviveTheFile) {
  const TrainConfig config = resolve_settings({{"task", "Ant-v5", ""},
                                               {"env.frame-skip", "3", ""},
                                               {"env.main_body", "aux_1", ""},
                                               {"env.healthy_z_range", "0.3, inf", ""},
                                               {"env.terminate_when_unhealthy", "no", ""},
                                               {"env.ctrl_cost_weight", "0.1", ""},
                                               {"env.frame_skip", "4", ""}});
  EXPECT_EQ(config.env.size(), find_environment("Ant-v5").options.size());
  EXPECT_EQ(text_of(config, "frame_skip"), "4") << "the last one wins";
  EXPECT_EQ(text_of(config, "healthy_z_range"), "[0.3, inf]");
  EXPECT_EQ(text_of(config, "terminate_when_unhealthy"), "false");
  EXPECT_EQ(text_of(config, "ctrl_cost_weight"), "0.1") << "not a float's 0.100000001";
  EXPECT_EQ(text_of(config, "contact_force_range"), "[-1.0, 1.0]");
  const std::string text = to_toml(config);
  EXPECT_NE(text.find("\n[env]\nframe_skip = 4\n"), std::string::npos) << text;
  EXPECT_NE(text.find("main_body = \"aux_1\"\n"), std::string::npos) << text;
  const TrainConfig back = resolve_settings(parse_settings(text, "c.toml"));
  EXPECT_TRUE(back == config);
  EXPECT_EQ(to_toml(back), text);
}

TEST(EnvOptions, DecideTheObservation) {
  const EnvEntry& ant = find_environment("Ant-v5");
  EXPECT_EQ(spec_with_options(ant, {}).obs_dim(), 105);
  EXPECT_EQ(spec_with_options(ant, {{"include_cfrc_ext_in_observation", "false"}}).obs_dim(), 27);
}

TEST(EnvOptions, RefusalsNameKeyValueAndWhatIsAccepted) {
  EXPECT_EQ(refusal("env.ctrl_cost_wieght", "3"),
            "--env.ctrl_cost_wieght: Ant-v5 has no such option (did you mean 'env.ctrl_cost_weight'?)");
  EXPECT_EQ(refusal("env.frame_skip", "0"), "--env.frame_skip 0: must be an integer in [1, 1000]");
  EXPECT_EQ(refusal("env.healthy_z_range", "2,1"),
            "--env.healthy_z_range 2,1: must be low,high with low <= high (inf and -inf are allowed)");
  EXPECT_EQ(refusal("env.healthy_z_range", "nan,1"),
            "--env.healthy_z_range nan,1: must be low,high with low <= high (inf and -inf are allowed)");
  EXPECT_EQ(refusal("env.x", "1", "CartPole-v1"), "--env.x 1: CartPole-v1 has no options");
  EXPECT_EQ(
      error_text([] { resolve_settings(parse_settings("task = \"Ant-v5\"\n[env]\nframe_skip = \"x\"\n", "c.toml")); }),
      "c.toml:3: env.frame_skip = x: must be an integer in [1, 1000]");
  EXPECT_EQ(error_text([] { parse_settings("[env]\na = [[1]]\n", "c.toml"); }),
            "c.toml:2: env.a = an array: must be a number, true or false, text or a range of numbers");
}

TEST(RandomizeOptions, AreCompletedAndSurviveTheFile) {
  const TrainConfig config = resolve_settings({{"task", "Ant-v5", ""},
                                               {"randomize.body-mass", "0.8,1.2", ""},
                                               {"randomize.body_ipos", "[-0.01, 0.02]", ""},
                                               {"randomize.geom_friction", "0.5,1", ""},
                                               {"randomize.geom_friction", "0.6,1", ""}});
  EXPECT_EQ(config.env.size(), find_environment("Ant-v5").options.size());
  EXPECT_EQ(text_of(config, "randomize.body_mass"), "[0.8, 1.2]");
  EXPECT_EQ(text_of(config, "randomize.geom_friction"), "[0.6, 1.0]") << "the last one wins";
  EXPECT_EQ(text_of(config, "randomize.dof_damping"), "[1.0, 1.0]");
  EXPECT_EQ(text_of(config, "randomize.body_ipos"), "[-0.01, 0.02]");
  const std::string text = to_toml(config);
  EXPECT_NE(text.find("\n[randomize]\ngravity = [1.0, 1.0]\nbody_mass = [0.8, 1.2]\n"), std::string::npos) << text;
  const TrainConfig back = resolve_settings(parse_settings(text, "c.toml"));
  EXPECT_TRUE(back == config);
  EXPECT_EQ(to_toml(back), text);
}

TEST(RandomizeOptions, RefusalsNameKeyValueAndWhatIsAccepted) {
  EXPECT_EQ(refusal("randomize.body_mas", "1,2"),
            "--randomize.body_mas: no such field (did you mean 'randomize.body_mass'?)");
  EXPECT_EQ(refusal("randomize.body_mass", "0,2"),
            "--randomize.body_mass 0,2: must be low,high in [0.001, 1000], low <= high");
  EXPECT_EQ(refusal("randomize.dof_damping", "-1,2"),
            "--randomize.dof_damping -1,2: must be low,high in [0, 1000], low <= high");
  EXPECT_EQ(refusal("randomize.body_ipos", "-0.1,inf"),
            "--randomize.body_ipos -0.1,inf: must be low,high in [-10, 10], low <= high");
  EXPECT_EQ(refusal("randomize.body_mass", "1.2,0.8"),
            "--randomize.body_mass 1.2,0.8: must be low,high in [0.001, 1000], low <= high");
  EXPECT_EQ(refusal("randomize.body_mass", "1"),
            "--randomize.body_mass 1: must be low,high in [0.001, 1000], low <= high");
  EXPECT_EQ(refusal("randomize.body_mass", "1,2", "CartPole-v1"),
            "--randomize.body_mass 1,2: CartPole-v1 has no options");
  EXPECT_EQ(
      error_text([] { resolve_settings(parse_settings("task = \"Ant-v5\"\n[randomize]\nbody_mass = 2\n", "c.toml")); }),
      "c.toml:3: randomize.body_mass = 2: must be low,high in [0.001, 1000], low <= high");
}

TEST(RandomizeOptions, TheModelMustHaveWhatIsToChange) {
  const auto made = [](const std::string& task, const std::string& field) {
    BatchConfig config;
    config.options = {{"randomize." + field, "0.5,2", "--randomize." + field}};
    return error_text([&] { find_environment(task).make(config); });
  };
  const std::string text = made("Ant-v5", "tendon_damping");
  EXPECT_TRUE(text.starts_with("--randomize.tendon_damping 0.5,2: ") &&
              text.ends_with("ant.xml has no tendon_damping to change"))
      << text;
  EXPECT_TRUE(made("Ant-v5", "dof_frictionloss").ends_with("has no dof_frictionloss to change")) << "all are zero";
  EXPECT_TRUE(made("Swimmer-v5", "geom_friction").ends_with("has no geom_friction to change")) << "nothing touches";
}

TEST(EnvOptions, AResumedRunKeepsThem) {
  const TempFolder folder;
  std::ofstream(folder / "config.toml") << to_toml(resolve_settings({{"task", "Ant-v5", ""}}));
  EXPECT_NE(error_text([&] {
              resume_config(folder.path(), {{"env.frame_skip", "3", ""}});
            }).find("a resumed run keeps its env.frame_skip"),
            std::string::npos);
}

TEST(EnvOptions, ABodyMustBeInTheModel) {
  BatchConfig config;
  config.options = {{"main_body", "tail", "--env.main_body"}};
  EXPECT_EQ(error_text([&] { find_environment("Ant-v5").make(config); }),
            "--env.main_body tail: must be the name of a body or a number in [0, 13]");
}

}  // namespace
}  // namespace hotloop
