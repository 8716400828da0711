// A context without a window, worlds whose poses a test sets, and pictures of them.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>

#include "sim/core/error.h"
#include "tests/test_python.h"
#include "viz/gl/context.h"
#include "viz/gl/frame_buffer.h"
#include "viz/png.h"
#include "viz/scene/scene.h"

namespace hotloop {

// Worlds that stand still.
class StillSource : public WorldSource {
 public:
  // frames: [worlds][frames of the model]
  StillSource(VisualModel model, std::vector<Frame> frames) : model_(std::move(model)), frames_(std::move(frames)) {
    info_.name = "still";
    info_.num_worlds = static_cast<std::int64_t>(frames_.size()) / model_.num_frames();
  }
  const SourceInfo& info() const override { return info_; }
  const VisualModel& visual() const override { return model_; }
  const Exec& exec() const override { return exec_; }
  void write_frames(std::int64_t first, std::int64_t count, Frame* out) override {
    std::copy_n(frames_.begin() + first * model_.num_frames(), count * model_.num_frames(), out);
  }
  void step() override { ++steps; }
  VisualModel& model() { return model_; }
  std::vector<Frame>& frames() { return frames_; }
  int steps = 0;

 private:
  SourceInfo info_;
  VisualModel model_;
  std::vector<Frame> frames_;
  Exec exec_;
};

// The context of all tests of a program. Null where this machine has no OpenGL.
inline HeadlessContext* test_context(std::string& reason) {
  static std::string why;
  static const std::unique_ptr<HeadlessContext> context = [] {
    setenv("HOTLOOP_GL_DEBUG", "1", 1);
    try {
      return std::make_unique<HeadlessContext>();
    } catch (const Error& e) {
      why = e.what();
      return std::unique_ptr<HeadlessContext>();
    }
  }();
  reason = why;
  return context.get();
}

// Skips where OpenGL is missing, which under continuous integration is a failure; fails on what OpenGL complains about.
class GlTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    if (test_context(reason) != nullptr) return;
    if (must_have_python()) FAIL() << reason;
    GTEST_SKIP() << reason;
  }
  void TearDown() override {
    std::string reason;
    if (test_context(reason) != nullptr) {
      EXPECT_EQ(take_gl_error(), "");
    }
  }
};

struct Shot {
  Camera camera;
  WorldGrid grid;
  SceneFlags flags;
  SceneOverlay overlay;
  SceneQuality quality{.samples = 4, .shadow_size = 1024};
  int width = 320, height = 240;
};

// A framebuffer that pictures are read back from.
class Canvas {
 public:
  Canvas(int width, int height);
  ~Canvas();
  Scene::Target target() const { return {framebuffer_, width_, height_}; }
  Picture read() const;

 private:
  int width_, height_;
  unsigned framebuffer_ = 0, texture_ = 0;
};

// Pictures of one source in one quality.
class Studio {
 public:
  Studio(WorldSource& source, const SceneQuality& quality, std::int64_t max_worlds);
  Picture shoot(const Shot& shot);
  Scene& scene() { return scene_; }

 private:
  WorldSource& source_;
  FrameBuffer frames_;
  Scene scene_;
};

Picture shoot(WorldSource& source, const Shot& shot);

// Mean over pixels and colours of the absolute difference, 0 to 255.
double mean_difference(const Picture& a, const Picture& b);

// Where the shapes are that floors do not belong to: 1 or 0 a pixel. Of a copy of the model in plain red.
std::vector<std::uint8_t> silhouette(const StillSource& source, Shot shot);

// Pixels in both, over pixels in either.
double intersection_over_union(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b);

// Writes the picture where HOTLOOP_TEST_PICTURES names a folder, for eyes.
void keep(const std::string& name, const Picture& picture);

// A small robot on a checkered floor: a ball with four capsule legs and boxes for feet; `worlds` of them, turned.
StillSource spider(std::int64_t worlds);

}  // namespace hotloop
