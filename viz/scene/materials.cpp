#include "viz/scene/materials.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

namespace hotloop {
namespace {

constexpr int kMaxTexture = 2048;  // [pixels] of a side

// Bilinear samples of a texture's rows [first_row, first_row + rows), as `size` x `size_y` pixels.
std::vector<std::uint8_t> resized(const VisualTexture& texture, int first_row, int rows, int width, int height) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
  const auto pixel = [&](int x, int y, int k) {
    x = std::clamp(x, 0, texture.width - 1);
    y = first_row + std::clamp(y, 0, rows - 1);
    return static_cast<float>(
        texture
            .rgb[(static_cast<std::size_t>(y) * static_cast<std::size_t>(texture.width) + static_cast<std::size_t>(x)) *
                     3 +
                 static_cast<std::size_t>(k)]);
  };
  std::size_t at = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const float fx =
          (static_cast<float>(x) + 0.5f) * static_cast<float>(texture.width) / static_cast<float>(width) - 0.5f;
      const float fy = (static_cast<float>(y) + 0.5f) * static_cast<float>(rows) / static_cast<float>(height) - 0.5f;
      const int ix = static_cast<int>(std::floor(fx)), iy = static_cast<int>(std::floor(fy));
      const float tx = fx - static_cast<float>(ix), ty = fy - static_cast<float>(iy);
      for (int k = 0; k < 3; ++k)
        out[at++] = static_cast<std::uint8_t>(
            std::lround((pixel(ix, iy, k) * (1 - tx) + pixel(ix + 1, iy, k) * tx) * (1 - ty) +
                        (pixel(ix, iy + 1, k) * (1 - tx) + pixel(ix + 1, iy + 1, k) * tx) * ty));
    }
  return out;
}

glm::vec4 color_at(const VisualTexture& texture, int x, int y) {
  const std::uint8_t* p =
      &texture
           .rgb[(static_cast<std::size_t>(y) * static_cast<std::size_t>(texture.width) + static_cast<std::size_t>(x)) *
                3];
  return {p[0] / 255.0f, p[1] / 255.0f, p[2] / 255.0f, 1};
}

// The two colours of a texture of four quarters, equal along the diagonals; nothing where it is anything else.
std::optional<std::pair<glm::vec4, glm::vec4>> checker_colors(const VisualTexture& texture) {
  if (texture.kind != VisualTexture::Kind::flat || texture.width < 2 || texture.height < 2) return std::nullopt;
  const glm::vec4 first = color_at(texture, 0, 0), second = color_at(texture, texture.width - 1, 0);
  for (int y = 0; y < texture.height; ++y)
    for (int x = 0; x < texture.width; ++x) {
      const bool diagonal = (2 * x < texture.width) == (2 * y < texture.height);
      if (color_at(texture, x, y) != (diagonal ? first : second)) return std::nullopt;
    }
  return std::pair{first, second};
}

int levels_of(int width, int height) { return 1 + static_cast<int>(std::log2(std::max(width, height))); }

void set_sampling(const Texture& texture, GLenum wrap) {
  glTextureParameteri(texture.get(), GL_TEXTURE_MIN_FILTER, GL_LINEAR_MIPMAP_LINEAR);
  glTextureParameteri(texture.get(), GL_TEXTURE_MAG_FILTER, GL_LINEAR);
  for (const GLenum axis : {GL_TEXTURE_WRAP_S, GL_TEXTURE_WRAP_T, GL_TEXTURE_WRAP_R})
    glTextureParameteri(texture.get(), axis, static_cast<GLint>(wrap));
}

// All textures of a kind as the layers of one.
Texture texture_array(const std::vector<const VisualTexture*>& textures, bool cubes) {
  if (textures.empty()) return Texture();
  int width = 1, height = 1;
  for (const VisualTexture* texture : textures) {
    width = std::max(width, std::min(texture->width, kMaxTexture));
    height = std::max(height, std::min(texture->height, kMaxTexture));
  }
  if (cubes) height = width;
  const int faces = cubes ? 6 : 1, layers = static_cast<int>(textures.size()) * faces;
  Texture array = make_texture(cubes ? GL_TEXTURE_CUBE_MAP_ARRAY : GL_TEXTURE_2D_ARRAY);
  glTextureStorage3D(array.get(), levels_of(width, height), GL_RGB8, width, height, layers);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  for (int layer = 0; layer < layers; ++layer) {
    const VisualTexture& texture = *textures[static_cast<std::size_t>(layer / faces)];
    const int rows = texture.height / faces;
    const std::vector<std::uint8_t> rgb = resized(texture, layer % faces * rows, rows, width, height);
    glTextureSubImage3D(array.get(), 0, 0, 0, layer, width, height, 1, GL_RGB, GL_UNSIGNED_BYTE, rgb.data());
  }
  glGenerateTextureMipmap(array.get());
  set_sampling(array, cubes ? GL_CLAMP_TO_EDGE : GL_REPEAT);
  return array;
}

Texture sky_texture(const VisualTexture& texture) {
  const int size = std::min(texture.width, kMaxTexture), rows = texture.height / 6;
  Texture sky = make_texture(GL_TEXTURE_CUBE_MAP);
  glTextureStorage2D(sky.get(), levels_of(size, size), GL_RGB8, size, size);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  for (int face = 0; face < 6; ++face) {
    const std::vector<std::uint8_t> rgb = resized(texture, face * rows, rows, size, size);
    glTextureSubImage3D(sky.get(), 0, 0, 0, face, size, size, 1, GL_RGB, GL_UNSIGNED_BYTE, rgb.data());
  }
  glGenerateTextureMipmap(sky.get());
  set_sampling(sky, GL_CLAMP_TO_EDGE);
  return sky;
}

}  // namespace

int texture_kind(const GpuMaterial& material) {
  if (material.texture.z == 1) return 1;
  return material.texture.x >= 0 ? 2 : material.texture.y >= 0 ? 4 : 0;
}

Materials::Materials(const VisualModel& model) {
  std::vector<const VisualTexture*> flat, cubes;
  std::vector<glm::ivec4> where;  // of each texture: as GpuMaterial::texture
  std::vector<std::pair<glm::vec4, glm::vec4>> checkers(model.textures.size());
  for (std::size_t i = 0; i < model.textures.size(); ++i) {
    const VisualTexture& texture = model.textures[i];
    where.emplace_back(-1, -1, 0, 0);
    if (const auto colors = checker_colors(texture)) {
      checkers[i] = *colors;
      where.back()[2] = 1;
    } else if (texture.kind == VisualTexture::Kind::flat) {
      where.back()[0] = static_cast<int>(flat.size());
      flat.push_back(&texture);
    } else if (texture.kind == VisualTexture::Kind::cube) {
      where.back()[1] = static_cast<int>(cubes.size());
      cubes.push_back(&texture);
    }
  }
  list_.push_back({.shading = {0, 0.5f, 0.5f, 0}});
  for (const VisualMaterial& m : model.materials) {
    list_.push_back({.shading = {m.emission, m.specular, m.shininess, m.reflectance}});
    if (m.texture < 0) continue;
    list_.back().texture = where[static_cast<std::size_t>(m.texture)];
    std::tie(list_.back().checker[0], list_.back().checker[1]) = checkers[static_cast<std::size_t>(m.texture)];
  }
  buffer_ = GlBuffer(list_.size() * sizeof(GpuMaterial), 0, list_.data());
  flat_ = texture_array(flat, false);
  cubes_ = texture_array(cubes, true);
  if (model.skybox < 0) return;
  const VisualTexture& sky = model.textures[static_cast<std::size_t>(model.skybox)];
  sky_ = sky_texture(sky);
  // the fifth face looks forward; its middle is at the height of the eye
  horizon_ = color_at(sky, sky.width / 2, std::min(sky.height - 1, sky.height / 6 * 4 + sky.height / 12));
}

void Materials::bind() const {
  glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 2, buffer_.get());
  glBindTextureUnit(0, flat_.get());
  glBindTextureUnit(1, cubes_.get());
}

}  // namespace hotloop
