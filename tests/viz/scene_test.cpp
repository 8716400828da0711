#include "viz/scene/scene.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/error_text.h"
#include "tests/viz/stage.h"
#include "viz/gl/objects.h"
#include "viz/scene/draw_scale.h"

namespace hotloop {
namespace {

using SceneTest = GlTest;

Shot shot_of(const StillSource& source, std::int64_t worlds = 1) {
  Shot shot;
  shot.camera = start_camera(source.visual());
  shot.camera.azimuth = 120;
  shot.grid.count = worlds;
  if (worlds > 1) shot.camera.distance = 12;
  return shot;
}

// Sum of the colours at a pixel.
int brightness(const Picture& picture, int x, int y) {
  const std::uint8_t* p = &picture.rgb[static_cast<std::size_t>(y * picture.width + x) * 3];
  return p[0] + p[1] + p[2];
}

TEST_F(SceneTest, CullingChangesNothing) {
  StillSource source = spider(49);
  Shot shot = shot_of(source, 49);
  shot.camera.distance = 3;  // most worlds are out of view
  const Picture culled = shoot(source, shot);
  keep("grid_near", culled);
  shot.quality.cull = false;
  EXPECT_EQ(mean_difference(culled, shoot(source, shot)), 0);
}

TEST_F(SceneTest, LevelOfDetailCannotBeSeen) {
  StillSource source = spider(64);
  for (const float distance : {4.0f, 20.0f, 60.0f}) {
    Shot shot = shot_of(source, 64);
    shot.camera.distance = distance;
    const Picture by_size = shoot(source, shot);
    keep("lod_" + std::to_string(static_cast<int>(distance)), by_size);
    const std::vector<std::uint8_t> outline = silhouette(source, shot);
    shot.quality.fixed_level = 4;
    EXPECT_LT(mean_difference(by_size, shoot(source, shot)), 1.0) << distance;
    const std::vector<std::uint8_t> finest = silhouette(source, shot);
    const auto area = [](const std::vector<std::uint8_t>& mask) { return std::count(mask.begin(), mask.end(), 1); };
    EXPECT_NEAR(static_cast<double>(area(outline)) / static_cast<double>(area(finest)), 1, 0.03) << distance;
    shot.quality.fixed_level = 0;  // the test can fail: the coarsest level is seen from near
    if (distance < 5) {
      EXPECT_GT(mean_difference(by_size, shoot(source, shot)), 1.0);
    }
  }
}

TEST_F(SceneTest, ShapesInAnyOrderGiveTheSamePicture) {
  StillSource source = spider(9);
  source.model().shapes[1].rgba[3] = 0.5f;
  source.model().shapes[2].rgba[3] = 0.4f;
  Shot shot = shot_of(source, 9);
  const Picture one = shoot(source, shot);
  std::reverse(source.model().shapes.begin(), source.model().shapes.end());
  EXPECT_EQ(mean_difference(one, shoot(source, shot)), 0);
}

TEST_F(SceneTest, TheSamePictureTwice) {
  StillSource source = spider(9);
  const Shot shot = shot_of(source, 9);
  EXPECT_EQ(mean_difference(shoot(source, shot), shoot(source, shot)), 0);
}

TEST_F(SceneTest, PosesThatAreNotNumbersAreNotDrawn) {
  StillSource source = spider(4);
  const Shot shot = shot_of(source, 4);
  source.frames()[3].pos[0] = std::numeric_limits<float>::quiet_NaN();
  const Picture broken = shoot(source, shot);
  source.frames()[3].pos[0] = 1e6f;
  EXPECT_LT(mean_difference(broken, shoot(source, shot)), 0.05);
}

TEST_F(SceneTest, EveryFlagChangesThePicture) {
  StillSource source = spider(1);
  VisualModel& model = source.model();
  model.joints.push_back({.kind = VisualJoint::Kind::hinge, .frame = 1});
  model.cameras.push_back({.name = "cam", .pos = {0.5f, 0.5f, 0.8f}});
  model.lights[0].pos = {0, 0, 1};
  VisualTexture sky{
      .kind = VisualTexture::Kind::skybox, .width = 4, .height = 24, .rgb = std::vector<std::uint8_t>(288, 90)};
  model.textures.push_back(sky);
  model.skybox = 1;
  Shot base = shot_of(source);
  base.camera.elevation = -10;
  base.overlay.contacts.push_back({.pos = {0.66f, 0.66f, 0.05f}, .normal = {0, 0, 1}, .force = {0, 0, 15}});
  base.overlay.perturb_to = {0, 0, 1};
  Studio studio(source, base.quality, 1);
  const Picture plain = studio.shoot(base);
  const std::vector<std::pair<const char*, bool SceneFlags::*>> switches = {
      {"shadow", &SceneFlags::shadow},
      {"reflection", &SceneFlags::reflection},
      {"skybox", &SceneFlags::skybox},
      {"fog", &SceneFlags::fog},
      {"haze", &SceneFlags::haze},
      {"wireframe", &SceneFlags::wireframe},
      {"texture", &SceneFlags::texture},
      {"transparent", &SceneFlags::transparent},
      {"joints", &SceneFlags::joints},
      {"com", &SceneFlags::com},
      {"inertia", &SceneFlags::inertia},
      {"frames", &SceneFlags::frames},
      {"contacts", &SceneFlags::contacts},
      {"contact_forces", &SceneFlags::contact_forces},
      {"lights", &SceneFlags::lights},
      {"cameras", &SceneFlags::cameras},
      {"static_shapes", &SceneFlags::static_shapes}};
  for (const auto& [name, flag] : switches) {
    Shot shot = base;
    for (const char* inside : {"com", "inertia", "joints", "frames"})  // bodies hide them
      if (std::string(name) == inside) shot.flags.transparent = true;
    const Picture without = studio.shoot(shot);
    shot.flags.*flag = !(shot.flags.*flag);
    const Picture with = studio.shoot(shot);
    keep(std::string("flag_") + name, with);
    EXPECT_GT(mean_difference(without, with), 0.003) << name;
  }
  Shot shot = base;
  shot.flags.groups[0] = false;
  EXPECT_GT(mean_difference(plain, studio.shoot(shot)), 1) << "groups";
  shot = base;
  shot.overlay.perturbing = true;
  EXPECT_GT(mean_difference(plain, studio.shoot(shot)), 0.01) << "perturbation";
  shot = base;
  shot.overlay.selected_frame = 1;
  EXPECT_GT(mean_difference(plain, studio.shoot(shot)), 0.5) << "selection";
  shot = base;
  shot.flags.skybox = false;
  const Picture dark = studio.shoot(shot);
  shot.flags.light_theme = true;
  EXPECT_GT(mean_difference(dark, studio.shoot(shot)), 5) << "light theme";
}

TEST_F(SceneTest, ShadowsAreWhereTheLightDoesNotReach) {
  StillSource source = spider(1);
  source.model().lights[0].dir = {0, 0, -1};
  source.model().materials[0].reflectance = 0;
  Shot shot = shot_of(source);
  shot.flags.texture = false;
  shot.camera.elevation = -20;
  const Picture with = shoot(source, shot);
  shot.flags.shadow = false;
  const Picture without = shoot(source, shot);
  glm::vec2 below, beside;  // the floor under the ball's front edge, and far from it
  ASSERT_TRUE(project(shot.camera, {0.1f, -0.2f, 0}, shot.width, shot.height, below));
  ASSERT_TRUE(project(shot.camera, {1.2f, 0.2f, 0}, shot.width, shot.height, beside));
  const auto at = [](const Picture& p, const glm::vec2& v) {
    return brightness(p, static_cast<int>(v.x), static_cast<int>(v.y));
  };
  EXPECT_LT(at(with, below), at(without, below) / 2);
  EXPECT_EQ(at(with, beside), at(without, beside));
}

TEST_F(SceneTest, EachLightThatCastsShadowsHasItsOwn) {
  StillSource source = spider(1);
  VisualModel& model = source.model();
  model.materials[0].reflectance = 0;
  model.lights[0].diffuse = {0.2f, 0.2f, 0.2f};
  model.lights.assign(3, model.lights[0]);
  model.lights[0].castshadow = false;
  model.lights[1].dir = {-1, 0, -1};
  model.lights[2].dir = {1, 0, -1};
  source.frames()[1].pos[2] = 1.5f;
  Shot shot = shot_of(source);
  shot.flags.texture = false;
  shot.camera.elevation = -50;
  shot.camera.azimuth = 90;
  shot.camera.lookat = {0, 0, 0};
  shot.camera.distance = 7;
  const Picture with = shoot(source, shot);
  keep("two_shadows", with);
  shot.flags.shadow = false;
  const Picture without = shoot(source, shot);
  const auto darker = [&](float x) {  // of the floor at (x, 0)
    glm::vec2 at;
    EXPECT_TRUE(project(shot.camera, {x, 0, 0}, shot.width, shot.height, at));
    const int px = static_cast<int>(at.x), py = static_cast<int>(at.y);
    return brightness(without, px, py) - brightness(with, px, py);
  };
  EXPECT_GT(darker(-1.5f), 30);
  EXPECT_GT(darker(1.5f), 30);
  EXPECT_EQ(darker(0), 0);
  model.lights[2].castshadow = false;
  shot.flags.shadow = true;
  const Picture one = shoot(source, shot);
  glm::vec2 at;
  ASSERT_TRUE(project(shot.camera, {1.5f, 0, 0}, shot.width, shot.height, at));
  EXPECT_EQ(brightness(one, static_cast<int>(at.x), static_cast<int>(at.y)),
            brightness(without, static_cast<int>(at.x), static_cast<int>(at.y)));
}

// As MuJoCo has it: the floor is gone in the haze below the horizon, and the sky is free of it above.
TEST_F(SceneTest, EndlessFloorsEndInHaze) {
  StillSource source = spider(1);
  VisualModel& model = source.model();
  model.textures.push_back(
      {.kind = VisualTexture::Kind::skybox, .width = 4, .height = 24, .rgb = std::vector<std::uint8_t>(288, 40)});
  model.skybox = 1;
  model.haze = {1, 0, 0};
  Shot shot = shot_of(source);
  shot.camera.elevation = 0;
  shot.camera.lookat = {0, 0, 1.2f};
  shot.height = 2000;  // the band is thin
  shot.width = 40;
  const auto reds = [&] {
    const Picture picture = shoot(source, shot);
    keep("haze", picture);
    int above = 0, below = 0;
    for (int y = 0; y < shot.height; ++y) {
      const std::uint8_t* p = &picture.rgb[static_cast<std::size_t>(y * shot.width + 2) * 3];
      if (p[0] > 150 && p[1] < 60) (y < shot.height / 2 ? above : below) += 1;
    }
    return std::pair(above, below);
  };
  EXPECT_EQ(reds().first, 0);
  EXPECT_GT(reds().second, 3);
  shot.flags.haze = false;
  EXPECT_EQ(reds().second, 0);
  shot.flags.haze = true;
  model.shapes[0].size = {40, 40, 1};
  EXPECT_EQ(reds().second, 0) << "the floor has an end of its own";
}

// The shadow map ends behind what casts shadows; the floor far below that is lit where nothing is above it.
TEST_F(SceneTest, ShadowsHaveTheShapeOfWhatFloats) {
  StillSource source = spider(1);
  source.model().lights[0].dir = {0, 0, -1};
  source.model().materials[0].reflectance = 0;
  source.frames()[1].pos[2] += 1.5f;
  Shot shot = shot_of(source);
  shot.flags.texture = false;
  shot.camera.lookat = {0, 0, 0};
  shot.camera.elevation = -20;
  shot.camera.distance = 4;
  const Picture with = shoot(source, shot);
  keep("floating_shadow", with);
  shot.flags.shadow = false;
  const Picture without = shoot(source, shot);
  glm::vec2 below;  // the floor under the ball
  ASSERT_TRUE(project(shot.camera, {0, 0, 0}, shot.width, shot.height, below));
  const auto at = [](const Picture& p, const glm::vec2& v) {
    return brightness(p, static_cast<int>(v.x), static_cast<int>(v.y));
  };
  EXPECT_LT(at(with, below), at(without, below) / 2);
  for (const float x : {0.29f, 0.31f, 0.33f, 0.45f, -0.29f, -0.31f, -0.33f, -0.45f}) {  // between two legs
    glm::vec2 between;
    ASSERT_TRUE(project(shot.camera, {x, 0, 0}, shot.width, shot.height, between));
    EXPECT_EQ(at(with, between), at(without, between)) << x;
  }
}

// In the shadow map a ball has finer triangles than in the picture; what faces the light must not lie in their shadow.
TEST_F(SceneTest, SurfacesDoNotShadeThemselves) {
  StillSource source = spider(1);
  source.model().lights[0].dir = {0, 0, -1};
  Shot shot = shot_of(source);
  shot.quality.shadow_size = 4096;
  shot.camera.elevation = -89;
  shot.camera.distance = 3;
  const Picture with = shoot(source, shot);
  keep("from_the_light", with);
  shot.flags.shadow = false;
  const Picture without = shoot(source, shot);
  int darker = 0, ball = 0;  // on the ball, which is seen from the light
  for (int y = 0; y < shot.height; ++y)
    for (int x = 0; x < shot.width; ++x) {
      if (std::hypot(x - shot.width / 2, y - shot.height / 2) > 15) continue;
      ++ball;
      darker += brightness(with, x, y) < brightness(without, x, y) - 10 ? 1 : 0;
    }
  EXPECT_GT(ball, 500);
  EXPECT_EQ(darker, 0);
}

TEST_F(SceneTest, PickFindsWorldFrameAndPoint) {
  StillSource source = spider(9);
  Shot shot = shot_of(source, 9);
  shot.camera.elevation = -50;
  FrameBuffer frames(2, 9, Device{});
  frames.update(source, 0, 9);
  Scene scene(source.visual(), shot.quality);
  Canvas canvas(shot.width, shot.height);
  scene.draw(frames, shot.grid, shot.camera, shot.flags, shot.overlay, canvas.target());
  for (std::int64_t world = 0; world < 9; ++world) {
    const Float3 at = Scene::world_offset(shot.grid, source.visual(), world);
    glm::vec2 pixel;
    ASSERT_TRUE(project(shot.camera, {at[0], at[1], 0.4f}, shot.width, shot.height, pixel));
    const Scene::Hit hit = scene.pick(static_cast<int>(pixel.x), static_cast<int>(pixel.y));
    EXPECT_EQ(hit.world, world);
    EXPECT_EQ(hit.frame, 1);
    EXPECT_EQ(hit.shape, 1);
    const float radius = std::hypot(hit.point[0], hit.point[1], hit.point[2] - 0.4f);
    EXPECT_NEAR(radius, 0.25f, 0.03f);  // the drawn ball has corners
    ASSERT_TRUE(project(shot.camera, {at[0] + 0.9f, at[1], 0}, shot.width, shot.height, pixel));
    const Scene::Hit floor = scene.pick(static_cast<int>(pixel.x), static_cast<int>(pixel.y));
    EXPECT_EQ(floor.world, world);
    EXPECT_EQ(floor.frame, 0);
    EXPECT_NEAR(floor.point[0], 0.9f, 0.1f);
    EXPECT_NEAR(floor.point[2], 0, 0.01f);
  }
  EXPECT_EQ(scene.pick(-1, 5).world, -1);
  EXPECT_EQ(scene.pick(5, 4000).world, -1);
}

TEST_F(SceneTest, SizesDownToNothing) {
  StillSource source = spider(1);
  Shot shot = shot_of(source);
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 200}, {333, 1}}) {
    shot.width = width;
    shot.height = height;
    EXPECT_EQ(shoot(source, shot).rgb.size(), static_cast<std::size_t>(width * height * 3));
  }
  FrameBuffer frames(2, 1, Device{});
  frames.update(source, 0, 1);
  Scene scene(source.visual(), shot.quality);
  scene.draw(frames, shot.grid, shot.camera, shot.flags, shot.overlay, {});  // a window made small
}

TEST_F(SceneTest, StatisticsCountWhatIsDrawn) {
  StillSource source = spider(16);
  Shot shot = shot_of(source, 16);
  FrameBuffer frames(2, 16, Device{});
  frames.update(source, 0, 16);
  Scene scene(source.visual(), shot.quality);
  Canvas canvas(64, 48);
  for (int i = 0; i < 4; ++i) {
    scene.draw(frames, shot.grid, shot.camera, shot.flags, shot.overlay, canvas.target());
    canvas.read();
  }
  EXPECT_EQ(scene.stats().instances, 16 * 9);
  EXPECT_EQ(scene.stats().drawn, 16 * 9);
  EXPECT_GT(scene.stats().triangles, 16 * 9 * 8);
  EXPECT_GT(scene.stats().gpu_milliseconds, 0);
}

TEST_F(SceneTest, FramesOfAWorldComeBack) {
  StillSource source = spider(3);
  FrameBuffer frames(2, 3, Device{});
  frames.update(source, 1, 2);
  EXPECT_EQ(frames.path(), "host");
  EXPECT_EQ(frames.count(), 2);
  EXPECT_EQ(frames.world(1)[1].quat[0], source.frames()[5].quat[0]);
}

TEST_F(SceneTest, ErrorsOfShadersNameFileAndLine) {
  EXPECT_EQ(error_text([] { Program("none.comp"); }), "shader none.comp: is not part of this program");
}

TEST(DrawScale, KeepsTheBudget) {
  using Values = std::vector<float>;
  DrawScale scale(30);
  const auto draw = [&](double at_full_size) {  // pixels are all that takes time; the scales that it comes by
    Values values;
    for (int i = 0; i < 60; ++i) {
      scale.note(at_full_size * scale.value() * scale.value());
      if (values.empty() || values.back() != scale.value()) values.push_back(scale.value());
    }
    return values;
  };
  EXPECT_EQ(draw(29), Values{1});
  EXPECT_EQ(draw(50), (Values{1, 0.75f}));
  EXPECT_EQ(draw(35), Values{0.75f}) << "at full size it would take too long again";
  EXPECT_EQ(draw(25), Values{0.75f}) << "at full size it would take nearly too long";
  EXPECT_EQ(draw(500), (Values{0.75f, 0.5f}));
  EXPECT_EQ(draw(15), (Values{0.5f, 0.75f, 1}));
  DrawScale fixed(0);
  for (int i = 0; i < 60; ++i) fixed.note(1e6);
  EXPECT_EQ(fixed.value(), 1.0f);
}

TEST(DrawScale, JudgesNothingByPicturesFromBeforeAChange) {
  DrawScale scale(30);
  for (int i = 0; i < 13; ++i) scale.note(50);
  ASSERT_EQ(scale.value(), 0.75f);
  for (int i = 0; i < 5; ++i) scale.note(1000);
  for (int i = 0; i < 8; ++i) scale.note(25);
  EXPECT_EQ(scale.value(), 0.75f);
}

// A picture that may take no time at all is drawn at half the size, and still shows the same.
TEST_F(SceneTest, SmallerPicturesShowTheSame) {
  StillSource source = spider(1);
  Shot shot = shot_of(source);
  shot.quality = scene_quality(Quality::low);
  Studio whole(source, shot.quality, 1);
  shot.quality.budget = 1e-9;
  Studio small(source, shot.quality, 1);
  for (int i = 0; i < 60; ++i) small.shoot(shot);
  EXPECT_EQ(small.scene().stats().scale, 0.5f);
  EXPECT_EQ(whole.scene().stats().scale, 1.0f);
  const Picture picture = small.shoot(shot);
  EXPECT_LT(mean_difference(picture, whole.shoot(shot)), 4);
  const Scene::Hit hit = small.scene().pick(shot.width / 2, shot.height / 2);
  whole.shoot(shot);
  EXPECT_EQ(hit.shape, whole.scene().pick(shot.width / 2, shot.height / 2).shape) << "pixels are those asked for";
}

TEST_F(SceneTest, QualityFollowsTheContext) {
  const SceneQuality automatic = scene_quality(Quality::automatic);
  EXPECT_EQ(automatic.samples, is_software_gl() ? 1 : 4);
  EXPECT_EQ(automatic.budget > 0, is_software_gl());
  EXPECT_EQ(describe(automatic).empty(), !is_software_gl());
  EXPECT_EQ(describe(scene_quality(Quality::high)), "");
  EXPECT_EQ(scene_quality(Quality::low).budget, 0) << "low is the same picture every time";
}

TEST(GlContext, AMissingLibraryIsOneLine) {
  EXPECT_EQ(error_text([] { require_library("libnosuch.so.1"); }),
            "OpenGL: libnosuch.so.1 is not on this machine; install a graphics driver or Mesa");
}

}  // namespace
}  // namespace hotloop
