// How an environment describes its picture: `visual(const Params&, Shapes& shapes)` calls these. Frame 0 is the world.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "sim/core/visual.h"

namespace hotloop {

class VisualBuilder {
 public:
  using Curve = std::vector<float>;  // points from left to right, x and z alternating

  explicit VisualBuilder(std::string name);

  // The next frame's number.
  int frame(const std::string& name);

  // On `frame`, centred at `pos` in it; rgb 0..1. Boxes and cylinders by their half sizes, capsules by their ends.
  void box(int frame, const Float3& pos, const Float3& half_size, const Float3& rgb);
  void sphere(int frame, const Float3& pos, float radius, const Float3& rgb);
  void capsule(int frame, const Float3& from, const Float3& to, float radius, const Float3& rgb);
  void cylinder(int frame, const Float3& from, const Float3& to, float radius, const Float3& rgb);
  // The ground between `bottom` and a curve above it, 2 half_depth deep along y.
  void terrain(const Curve& curve, float bottom, float half_depth, const Float3& rgb);

  // What is seen first: a box around `center`, from in front (along y) and somewhat above.
  void look_at(const Float3& center, float extent, float distance, float elevation);

  // Error where the frames are not as many as the environment writes.
  VisualModel finish(int num_frames);

 private:
  VisualShape& add(ShapeKind kind, int frame, const Float3& pos, const Float3& size, const Float3& rgb);
  void along(ShapeKind kind, int frame, const Float3& from, const Float3& to, float radius, const Float3& rgb);

  std::string name_;
  VisualModel model_;
};

}  // namespace hotloop
