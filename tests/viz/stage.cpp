#include "tests/viz/stage.h"

#include <epoxy/gl.h>

#include <cmath>
#include <cstring>

namespace hotloop {

Canvas::Canvas(int width, int height) : width_(width), height_(height) {
  glCreateTextures(GL_TEXTURE_2D, 1, &texture_);
  glTextureStorage2D(texture_, 1, GL_RGBA8, width, height);
  glCreateFramebuffers(1, &framebuffer_);
  glNamedFramebufferTexture(framebuffer_, GL_COLOR_ATTACHMENT0, texture_, 0);
}

Canvas::~Canvas() {
  glDeleteFramebuffers(1, &framebuffer_);
  glDeleteTextures(1, &texture_);
}

Picture Canvas::read() const {
  Picture picture{width_, height_, {}};
  const std::size_t row = static_cast<std::size_t>(width_) * 3, rows = static_cast<std::size_t>(height_);
  std::vector<std::uint8_t> upward(row * rows);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer_);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, width_, height_, GL_RGB, GL_UNSIGNED_BYTE, upward.data());
  picture.rgb.resize(upward.size());
  for (std::size_t y = 0; y < rows; ++y) std::memcpy(&picture.rgb[y * row], &upward[(rows - 1 - y) * row], row);
  return picture;
}

Picture shoot(WorldSource& source, const Shot& shot) {
  FrameBuffer frames(source.visual().num_frames(), shot.grid.count, Device{});
  frames.update(source, shot.grid.first, shot.grid.count);
  Scene scene(source.visual(), shot.quality);
  Canvas canvas(shot.width, shot.height);
  scene.draw(frames, shot.grid, shot.camera, shot.flags, shot.overlay, canvas.target());
  return canvas.read();
}

double mean_difference(const Picture& a, const Picture& b) {
  if (a.rgb.size() != b.rgb.size() || a.rgb.empty()) return 255;
  double sum = 0;
  for (std::size_t i = 0; i < a.rgb.size(); ++i) sum += std::abs(int{a.rgb[i]} - int{b.rgb[i]});
  return sum / static_cast<double>(a.rgb.size());
}

void keep(const std::string& name, const Picture& picture) {
  const char* folder = std::getenv("HOTLOOP_TEST_PICTURES");
  if (folder != nullptr)
    write_png(std::filesystem::path(folder) / (name + ".png"), picture.width, picture.height, picture.rgb);
}

StillSource spider(std::int64_t worlds) {
  VisualModel model;
  model.frames.resize(2);
  model.frames[1] = {.name = "torso", .mass = 2, .inertia = {0.02f, 0.02f, 0.03f}};
  model.extent = 1;
  model.center = {0, 0, 0.3f};
  VisualTexture checker{.kind = VisualTexture::Kind::flat, .width = 4, .height = 4, .rgb = {}};
  for (int i = 0; i < 16; ++i) {
    const bool first = (i % 4 < 2) == (i / 4 < 2);
    for (int k = 0; k < 3; ++k) checker.rgb.push_back(first ? 60 : 100);
  }
  model.textures.push_back(checker);
  model.materials.push_back(
      {.texture = 0, .texuniform = true, .texrepeat = {1, 1}, .reflectance = 0.2f, .name = "floor"});
  model.shapes.push_back({.kind = ShapeKind::plane, .rgba = {1, 1, 1, 1}, .material = 0, .name = "floor"});
  model.shapes.push_back({.kind = ShapeKind::sphere, .frame = 1, .size = {0.25f, 0, 0}, .rgba = {0.8f, 0.6f, 0.4f, 1}});
  for (int leg = 0; leg < 4; ++leg) {
    const float angle = 0.785398f + 1.570796f * static_cast<float>(leg);
    // z of a capsule turned by 2.2 rad about an axis across the leg
    const float ax = -std::sin(angle), ay = std::cos(angle), h = 1.1f;
    const Float4 quat = {std::cos(h), ax * std::sin(h), ay * std::sin(h), 0};
    const Float3 middle = {0.45f * std::cos(angle), 0.45f * std::sin(angle), -0.1f};
    model.shapes.push_back({.kind = ShapeKind::capsule,
                            .frame = 1,
                            .pos = middle,
                            .quat = quat,
                            .size = {0.07f, 0.25f, 0},
                            .rgba = {0.3f, 0.5f, 0.8f, 1}});
    model.shapes.push_back({.kind = ShapeKind::box,
                            .frame = 1,
                            .pos = {0.66f * std::cos(angle), 0.66f * std::sin(angle), -0.3f},
                            .size = {0.08f, 0.08f, 0.05f},
                            .rgba = {0.3f, 0.7f, 0.4f, 1}});
  }
  model.lights.push_back({.dir = {-0.3f, 0.2f, -1}, .specular = {0.2f, 0.2f, 0.2f}});
  std::vector<Frame> frames;
  for (std::int64_t w = 0; w < worlds; ++w) {
    const float turn = 0.1f * static_cast<float>(w);
    frames.push_back({});
    frames.push_back({.pos = {0, 0, 0.4f}, .quat = {std::cos(turn), 0, 0, std::sin(turn)}});
  }
  return {std::move(model), std::move(frames)};
}

}  // namespace hotloop
