// Materials and textures of a VisualModel on the GPU. Textures of one kind become layers of one array, scaled to one
// size: a draw call of many shapes cannot change textures.
#pragma once
#include <vector>

#include "sim/core/visual.h"
#include "viz/gl/objects.h"

namespace hotloop {

// As in shaders/lighting.glsl.
struct GpuMaterial {
  glm::vec4 shading{0};  // emission, specular, shininess, reflectance
  glm::ivec4 texture{-1, -1, 0, 0};
  glm::vec4 checker[2] = {};
};

// Its kind of texture, as TEXTURES in shaders/lighting.glsl: 1 checker, 2 flat, 4 cube, 0 none.
int texture_kind(const GpuMaterial& material);

class Materials {
 public:
  explicit Materials(const VisualModel& model);
  void bind() const;
  const std::vector<GpuMaterial>& list() const { return list_; }  // [0]: of shapes without one
  bool has_sky() const { return sky_.get() != 0; }
  GLuint sky() const { return sky_.get(); }
  const glm::vec4& horizon() const { return horizon_; }  // colour of the skybox's middle

 private:
  std::vector<GpuMaterial> list_;
  GlBuffer buffer_;
  Texture flat_, cubes_, sky_;
  glm::vec4 horizon_{0};
};

}  // namespace hotloop
