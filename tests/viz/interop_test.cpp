#include <epoxy/gl.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/viz/stage.h"

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

}  // namespace
}  // namespace hotloop
