// Outlines of single shapes against rays that are intersected with their formulas.
#include <cmath>
#include <functional>
#include <glm/gtc/quaternion.hpp>

#include "tests/viz/stage.h"

namespace hotloop {
namespace {

using SilhouetteTest = GlTest;

struct Ray {
  glm::vec3 from, dir;  // in the shape's own coordinates
};
using Hit = std::function<bool(const Ray&)>;

bool hits_sphere(const Ray& ray, const glm::vec3& center, float radius) {
  const glm::vec3 to = center - ray.from;
  const glm::vec3 nearest = to - ray.dir * glm::dot(to, ray.dir);
  return glm::dot(nearest, nearest) <= radius * radius;
}

// The part of the ray inside |component| <= half; false if there is none.
bool clip(float from, float dir, float half, float& low, float& high) {
  if (std::abs(dir) < 1e-9f) return std::abs(from) <= half;
  const float a = (-half - from) / dir, b = (half - from) / dir;
  low = std::max(low, std::min(a, b));
  high = std::min(high, std::max(a, b));
  return low <= high;
}

bool hits_cylinder(const Ray& ray, float radius, float half) {
  const glm::vec2 p(ray.from.x, ray.from.y), d(ray.dir.x, ray.dir.y);
  const float a = glm::dot(d, d), b = glm::dot(p, d), c = glm::dot(p, p) - radius * radius, root = b * b - a * c;
  if (root < 0) return false;
  float low = (-b - std::sqrt(root)) / a, high = (-b + std::sqrt(root)) / a;
  return clip(ray.from.z, ray.dir.z, half, low, high);
}

bool hits_box(const Ray& ray, const glm::vec3& half) {
  float low = -1e30f, high = 1e30f;
  return clip(ray.from.x, ray.dir.x, half.x, low, high) && clip(ray.from.y, ray.dir.y, half.y, low, high) &&
         clip(ray.from.z, ray.dir.z, half.z, low, high);
}

// A shape on a turned body, seen from an odd side.
void expect_outline(ShapeKind kind, const Float3& size, const Hit& hits) {
  VisualModel model;
  model.frames.resize(2);
  const glm::quat in_frame = glm::normalize(glm::quat(0.8f, 0.3f, -0.4f, 0.2f)), body(0.6f, 0, 0.8f, 0);
  const glm::vec3 pos(0.1f, -0.2f, 0.05f), body_pos(0.3f, 0.1f, 0.2f);
  model.shapes.push_back({.kind = kind,
                          .frame = 1,
                          .pos = {pos.x, pos.y, pos.z},
                          .quat = {in_frame.w, in_frame.x, in_frame.y, in_frame.z},
                          .size = size});
  const Frame frame{.pos = {body_pos.x, body_pos.y, body_pos.z}, .quat = {body.w, body.x, body.y, body.z}};
  const StillSource source(model, {Frame{}, frame});
  Shot shot;
  shot.camera.lookat = body_pos;
  shot.camera.azimuth = 37;
  shot.camera.elevation = -25;
  shot.camera.distance = 2.5f;
  std::vector<std::uint8_t> expected;
  const glm::quat turn = body * in_frame;
  const glm::vec3 center = body_pos + body * pos;
  const float w = static_cast<float>(shot.width), h = static_cast<float>(shot.height);
  for (int y = 0; y < shot.height; ++y)
    for (int x = 0; x < shot.width; ++x) {
      const glm::vec3 dir = shot.camera.ray(2 * (static_cast<float>(x) + 0.5f) / w - 1,
                                            1 - 2 * (static_cast<float>(y) + 0.5f) / h, w / h);
      const glm::quat back = glm::conjugate(turn);
      expected.push_back(hits({back * (shot.camera.eye() - center), back * dir}) ? 1 : 0);
    }
  EXPECT_GT(intersection_over_union(expected, silhouette(source, shot)), 0.99);
}

TEST_F(SilhouetteTest, Sphere) {
  expect_outline(ShapeKind::sphere, {0.4f, 0, 0}, [](const Ray& r) { return hits_sphere(r, {0, 0, 0}, 0.4f); });
}

TEST_F(SilhouetteTest, CapsulesKeepTheRadiusOfTheirEndsAtAnyLength) {
  for (const auto& [radius, half] : {std::pair{0.1f, 0.5f}, {0.3f, 0.02f}, {0.05f, 0.8f}})
    expect_outline(ShapeKind::capsule, {radius, half, 0}, [radius, half](const Ray& r) {
      return hits_sphere(r, {0, 0, half}, radius) || hits_sphere(r, {0, 0, -half}, radius) ||
             hits_cylinder(r, radius, half);
    });
}

TEST_F(SilhouetteTest, Ellipsoid) {
  const glm::vec3 size(0.5f, 0.2f, 0.3f);
  expect_outline(ShapeKind::ellipsoid, {size.x, size.y, size.z}, [size](const Ray& r) {
    return hits_sphere({r.from / size, glm::normalize(r.dir / size)}, {0, 0, 0}, 1);
  });
}

TEST_F(SilhouetteTest, Cylinder) {
  expect_outline(ShapeKind::cylinder, {0.3f, 0.2f, 0}, [](const Ray& r) { return hits_cylinder(r, 0.3f, 0.2f); });
}

TEST_F(SilhouetteTest, Box) {
  expect_outline(ShapeKind::box, {0.3f, 0.2f, 0.4f}, [](const Ray& r) { return hits_box(r, {0.3f, 0.2f, 0.4f}); });
}

}  // namespace
}  // namespace hotloop
