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

Studio::Studio(WorldSource& source, const SceneQuality& quality, std::int64_t max_worlds)
    : source_(source),
      frames_(source.visual().num_frames(), max_worlds, source.info().device),
      scene_(source.visual(), quality) {}

Picture Studio::shoot(const Shot& shot) {
  frames_.update(source_, shot.grid.first, shot.grid.count);
  const Canvas canvas(shot.width, shot.height);
  scene_.draw(frames_, shot.grid, shot.camera, shot.flags, shot.overlay, canvas.target());
  return canvas.read();
}

Picture shoot(WorldSource& source, const Shot& shot) {
  return Studio(source, shot.quality, shot.grid.count).shoot(shot);
}

double mean_difference(const Picture& a, const Picture& b) {
  if (a.rgb.size() != b.rgb.size() || a.rgb.empty()) return 255;
  double sum = 0;
  for (std::size_t i = 0; i < a.rgb.size(); ++i) sum += std::abs(int{a.rgb[i]} - int{b.rgb[i]});
  return sum / static_cast<double>(a.rgb.size());
}

std::vector<std::uint8_t> silhouette(const StillSource& source, Shot shot) {
  StillSource plain = source;
  VisualModel& model = plain.model();
  std::erase_if(model.shapes,
                [](const VisualShape& shape) { return shape.kind == ShapeKind::plane || shape.rgba[3] <= 0; });
  model.materials = {{.emission = 1, .specular = 0, .name = "red"}};
  model.lights.clear();
  model.headlight = false;
  for (VisualShape& shape : model.shapes) {
    shape.rgba = {1, 0, 0, 1};
    shape.material = 0;
  }
  shot.flags.skybox = false;
  shot.quality.samples = 1;
  const Picture picture = shoot(plain, shot);
  std::vector<std::uint8_t> mask;
  for (std::size_t i = 0; i < picture.rgb.size(); i += 3)
    mask.push_back(picture.rgb[i] > 250 && picture.rgb[i + 1] == 0);
  return mask;
}

double intersection_over_union(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  if (a.size() != b.size()) return 0;
  double both = 0, either = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += a[i] != 0 && b[i] != 0 ? 1 : 0;
    either += a[i] != 0 || b[i] != 0 ? 1 : 0;
  }
  return either > 0 ? both / either : 0;
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
