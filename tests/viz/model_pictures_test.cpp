// The MuJoCo models' outlines beside those that MuJoCo's own renderer draws (tests/golden/make_silhouettes.py), and a
// picture of each task beside the one that was looked at (tests/golden/pictures).
#include <nlohmann/json.hpp>

#include "data/file.h"
#include "sim/core/registry.h"
#include "tests/viz/stage.h"
#include "viz/headless.h"

namespace hotloop {
namespace {

const std::filesystem::path kGolden = std::filesystem::path(HOTLOOP_SOURCE_DIR) / "tests/golden";

class ModelSilhouette : public GlTest, public testing::WithParamInterface<std::string> {};

std::vector<nlohmann::json> references() {
  return nlohmann::json::parse(read_file(kGolden / "silhouettes/silhouettes.json", 1 << 20));
}

StillSource posed(const nlohmann::json& reference) {
  const auto path = std::filesystem::path(HOTLOOP_SOURCE_DIR) / "assets/mjcf" / reference["model"].get<std::string>();
  const std::unique_ptr<WorldSource> source =
      open_source({.what = path.string(), .worlds = 1, .device = "cpu", .actions = "zero"});
  source->set_qpos(0, reference["qpos"].get<std::vector<float>>());
  std::vector<Frame> frames(source->visual().frames.size());
  source->write_frames(0, 1, frames.data());
  return {source->visual(), std::move(frames)};
}

TEST_P(ModelSilhouette, AgreesWithMujocosRenderer) {
  for (const nlohmann::json& reference : references()) {
    const std::string name = reference["picture"];
    if (name != GetParam()) continue;
    Shot shot;
    shot.camera.lookat = {reference["lookat"][0], reference["lookat"][1], reference["lookat"][2]};
    shot.camera.distance = reference["distance"];
    shot.camera.azimuth = reference["azimuth"];
    shot.camera.elevation = reference["elevation"];
    shot.camera.fovy = reference["fovy"];
    shot.width = 640;
    shot.height = 480;
    const std::vector<std::uint8_t> drawn = silhouette(posed(reference), shot);
    const Picture theirs = read_png(kGolden / "silhouettes" / name);
    Picture mine{theirs.width, theirs.height, {}};
    std::vector<std::uint8_t> expected;
    for (std::size_t i = 0; i < theirs.rgb.size(); i += 3) expected.push_back(theirs.rgb[i] > 0);
    for (std::size_t i = 0; i < drawn.size(); ++i)
      for (const int value : {drawn[i] * 255, expected[i] * 255, 0})
        mine.rgb.push_back(static_cast<std::uint8_t>(value));
    keep("outline_" + name.substr(0, name.find('.')), mine);  // yellow: both
    EXPECT_GE(intersection_over_union(expected, drawn), 0.98) << name;
    return;
  }
  FAIL() << GetParam() << " is not in silhouettes.json";
}

std::vector<std::string> reference_names() {
  std::vector<std::string> names;
  for (const nlohmann::json& reference : references()) names.push_back(reference["picture"]);
  return names;
}

std::string test_name(const std::string& text) {
  std::string name;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, ModelSilhouette, testing::ValuesIn(reference_names()),
                         [](const auto& info) { return test_name(info.param.substr(0, info.param.find('.'))); });

TEST(ModelSilhouettes, AreThereForAllElevenModels) { EXPECT_EQ(references().size(), 22u); }

class TaskPicture : public GlTest, public testing::WithParamInterface<std::string> {};

// HOTLOOP_UPDATE_PICTURES writes the pictures anew; look at them before they are committed.
TEST_P(TaskPicture, IsAsItWas) {
  const std::unique_ptr<WorldSource> source =
      open_source({.what = GetParam(), .worlds = 1, .seed = 3, .device = "cpu", .actions = "zero"});
  Shot shot;
  shot.camera = start_camera(source->visual());
  shot.width = 200;
  shot.height = 150;
  for (int i = 0; i < 3; ++i) source->step();
  const Picture picture = shoot(*source, shot);
  keep(GetParam(), picture);
  const std::filesystem::path file = kGolden / "pictures" / (GetParam() + ".png");
  if (std::getenv("HOTLOOP_UPDATE_PICTURES") != nullptr) write_png(file, picture.width, picture.height, picture.rgb);
  // renderers differ at edges: a thing missing, moved or of another colour is more than this
  EXPECT_LT(mean_difference(picture, read_png(file)), 1.0);
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const EnvEntry& entry : environments())
    if (entry.visual != nullptr) names.push_back(entry.spec.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Tasks, TaskPicture, testing::ValuesIn(task_names()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace hotloop
