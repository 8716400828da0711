#include <epoxy/gl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tests/viz/stage.h"
#include "viz/gl/interop.h"
#include "viz/headless.h"

namespace hotloop {
namespace {

std::vector<std::byte> contents(const FrameBuffer& frames) {
  glFinish();
  std::vector<std::byte> bytes(static_cast<std::size_t>(frames.count() * frames.num_frames()) * sizeof(Frame));
  glGetNamedBufferSubData(frames.gl_buffer(), 0, static_cast<GLsizeiptr>(bytes.size()), bytes.data());
  return bytes;
}

TEST(Interop, GpuWritesWhatACopyBrings) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const HeadlessContext context(0);
  const std::unique_ptr<WorldSource> source = open_source({.what = "Ant-v5", .worlds = 50, .device = "cuda"});
  FrameBuffer direct(source->visual().num_frames(), 50, source->info().device);
  FrameBuffer copied(source->visual().num_frames(), 50, source->info().device, false);
  EXPECT_EQ(direct.path(), "interop");
  EXPECT_EQ(copied.path().rfind("copy", 0), 0u) << copied.path();
  for (int i = 0; i < 5; ++i) {
    for (int step = 0; step < 7; ++step) source->step();
    const std::int64_t first = 3 * i, count = 50 - 5 * i;
    direct.update(*source, first, count);
    copied.update(*source, first, count);
    const std::vector<std::byte> a = contents(direct), b = contents(copied);
    ASSERT_EQ(a.size(), b.size());
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size()), 0) << i;
    Frame torso;
    std::memcpy(&torso, a.data() + sizeof(Frame), sizeof torso);
    EXPECT_GT(torso.pos[2], 0.2f);  // of the first shown world: nothing is left zero
  }
}

class NoInterop {
 public:
  explicit NoInterop(const char* value) { ::setenv("HOTLOOP_NO_INTEROP", value, 1); }
  ~NoInterop() { ::unsetenv("HOTLOOP_NO_INTEROP"); }
};

TEST(Interop, IsSwitchedOffByTheEnvironment) {
  const Device card{Device::Kind::cuda, 0};
  std::string reason;
  {
    const NoInterop off("1");
    EXPECT_EQ(InteropBuffer::open(0, card, reason), nullptr);
    if (reason == "built without CUDA") GTEST_SKIP() << reason;
    EXPECT_EQ(reason, "switched off by HOTLOOP_NO_INTEROP");
  }
  const NoInterop empty("");
  std::string other;
  InteropBuffer::open(0, card, other);
  EXPECT_NE(other, reason) << "an empty variable says nothing";
}

// The pictures are the same, and what draws them says how poses came.
TEST(Interop, GpuWithoutItPosesAreCopied) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const HeadlessContext context(0);
  const std::unique_ptr<WorldSource> source = open_source({.what = "Ant-v5", .worlds = 9, .device = "cuda"});
  const int num_frames = source->visual().num_frames();
  FrameBuffer direct(num_frames, 9, source->info().device);
  const NoInterop off("1");
  FrameBuffer copied(num_frames, 9, source->info().device);
  EXPECT_EQ(direct.path(), "interop");
  EXPECT_EQ(copied.path(), "copy (no interop: switched off by HOTLOOP_NO_INTEROP)");
  source->step();
  direct.update(*source, 0, 9);
  copied.update(*source, 0, 9);
  EXPECT_EQ(contents(direct), contents(copied));
}

// What a user sees of worlds on a card, whichever way their poses came: the picture of the same worlds on the CPU. A
// task of one thread a world, one of a group of lanes a world, and a bare model have kernels of their own.
void expect_pictures(const std::string& what, const char* device) {
  SCOPED_TRACE(what);
  const auto open = [&](const char* where) {
    std::unique_ptr<WorldSource> source =
        open_source({.what = what, .worlds = 9, .seed = 3, .device = where, .actions = "zero"});
    for (int i = 0; i < 2; ++i) source->step();
    return source;
  };
  const std::unique_ptr<WorldSource> there = open(device), here = open("cpu");
  Shot shot;
  shot.grid.count = 9;
  shot.camera = grid_camera(here->visual(), shot.grid);
  const auto picture = [&](WorldSource& source, const char* way) {
    Picture drawn = Studio(source, shot.quality, 9).shoot(shot);
    keep("interop_" + std::filesystem::path(what).stem().string() + "_" + way, drawn);
    return drawn;
  };
  const Picture direct = picture(*there, "direct"), host = picture(*here, "host");
  {
    const NoInterop off("1");
    const Picture copied = picture(*there, "copied");
    EXPECT_EQ(mean_difference(direct, copied), 0) << "of the same poses, through interop and through the host";
  }
  EXPECT_LT(mean_difference(direct, host), 0.05) << "worlds on the card beside the same worlds on the CPU";
  for (int i = 0; i < 25; ++i) there->step();
  EXPECT_GT(mean_difference(direct, picture(*there, "later")), 0.05) << "25 steps later they are elsewhere";
  EXPECT_EQ(take_gl_error(), "");
}

TEST(Interop, GpuPicturesAreTheCpus) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const HeadlessContext context(0);
  for (const char* what : {"CartPole-v1", "Ant-v5", HOTLOOP_SOURCE_DIR "/assets/mjcf/humanoid.xml"})
    expect_pictures(what, "cuda");
}

}  // namespace
}  // namespace hotloop
