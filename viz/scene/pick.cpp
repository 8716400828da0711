// What lies under a pixel: the shapes drawn last are drawn again into a picture of that one pixel, with their numbers
// for colours.
#include <cmath>

#include "viz/scene/scene_parts.h"

namespace hotloop {
namespace {

// Whether a floor is met before `distance`; then that, the shape and the point become the floor's.
bool hit_floor(const Scene::Parts::Picture& picture, const VisualModel& model, const glm::vec3& ray, float distance,
               int& shape, glm::vec3& point) {
  bool any = false;
  for (const std::uint32_t index : picture.floors) {
    const VisualShape& floor = model.shapes[index];
    const float back[] = {floor.quat[0], -floor.quat[1], -floor.quat[2], -floor.quat[3]};
    const glm::vec3 from = turned(back, picture.eye - glm::vec3(floor.pos[0], floor.pos[1], floor.pos[2]));
    const glm::vec3 dir = turned(back, ray);
    const float to_floor = -from.z / dir.z;
    if (!(to_floor > 0) || to_floor >= distance) continue;
    const glm::vec3 at = from + dir * to_floor;
    const glm::vec4 area = floor_area(floor, picture).area;
    if (std::abs(at.x - area.x) > area.z || std::abs(at.y - area.y) > area.w) continue;
    distance = to_floor;
    point = picture.eye + ray * distance;
    shape = static_cast<int>(index);
    any = true;
  }
  return any;
}

// The world of the grid nearest to a point.
std::int64_t nearest_world(const Scene::Parts::Picture& picture, const glm::vec3& point) {
  if (picture.spacing <= 0) return 0;
  const auto cell = [&](float x) {
    const float middle = 0.5f * static_cast<float>(picture.grid_side - 1);
    return static_cast<std::int64_t>(
        std::lround(std::clamp(x / picture.spacing + middle, 0.0f, static_cast<float>(picture.grid_side - 1))));
  };
  const std::int64_t world = cell(point.y) * picture.grid_side + cell(point.x);
  return std::min<std::int64_t>(world, picture.num_worlds - 1);
}

}  // namespace

Scene::Hit Scene::pick(int x, int y) {
  Parts& p = *parts_;
  const Parts::Picture& picture = p.picture;
  Hit hit;
  if (x < 0 || y < 0 || x >= picture.width || y >= picture.height || glIsBuffer(picture.frames) == GL_FALSE) return hit;
  const float w = static_cast<float>(picture.width), h = static_cast<float>(picture.height);
  const glm::vec2 at(2 * (static_cast<float>(x) + 0.5f) / w - 1, 1 - 2 * (static_cast<float>(y) + 0.5f) / h);
  glm::mat4 enlarge(1);  // the pixel fills the picture
  enlarge[0][0] = w;
  enlarge[1][1] = h;
  enlarge[3][0] = -at.x * w;
  enlarge[3][1] = -at.y * h;
  RenderTarget pixel(1, GL_RG32UI);
  pixel.resize(1, 1);
  glBindFramebuffer(GL_FRAMEBUFFER, pixel.framebuffer());
  const GLuint none[4] = {0, 0, 0, 0};
  const float far_away = 0;
  glViewport(0, 0, 1, 1);
  glDepthMask(GL_TRUE);
  glClearBufferuiv(GL_COLOR, 0, none);
  glClearBufferfv(GL_DEPTH, 0, &far_away);
  glClipControl(GL_LOWER_LEFT, GL_ZERO_TO_ONE);
  glEnable(GL_DEPTH_TEST);
  glEnable(GL_CULL_FACE);
  glDisable(GL_BLEND);
  glDisable(GL_SCISSOR_TEST);
  glDepthFunc(GL_GREATER);
  p.draw_shapes(p.programs.get("shape.vert", "pick.frag"), enlarge * picture.clip_from_world, picture.eye,
                glm::vec4(0));
  p.main_list.draw_transparent();
  GLuint ids[2] = {0, 0};
  float depth = 0;
  glReadPixels(0, 0, 1, 1, GL_RG_INTEGER, GL_UNSIGNED_INT, ids);
  glReadPixels(0, 0, 1, 1, GL_DEPTH_COMPONENT, GL_FLOAT, &depth);
  glClipControl(GL_LOWER_LEFT, GL_NEGATIVE_ONE_TO_ONE);
  glDepthFunc(GL_LESS);
  glDisable(GL_DEPTH_TEST);
  glDisable(GL_CULL_FACE);
  glBindVertexArray(0);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);

  const glm::vec3 ray = picture.camera.ray(at.x, at.y, w / h);
  float distance = 1e30f;
  glm::vec3 point(0);
  std::int64_t world = 0;
  if (ids[0] > 0) {
    const glm::vec4 seen = glm::inverse(picture.clip_from_world) * glm::vec4(at.x, at.y, depth, 1);
    point = glm::vec3(seen) / seen.w;
    distance = glm::length(point - picture.eye);
    world = ids[0] - 1;
    hit.shape = static_cast<int>(ids[1] - 1);
  }
  if (hit_floor(picture, p.model, ray, distance, hit.shape, point)) world = nearest_world(picture, point);
  if (hit.shape < 0) return hit;
  hit.frame = p.model.shapes[static_cast<std::size_t>(hit.shape)].frame;
  hit.world = picture.first_world + world;
  const float middle = 0.5f * static_cast<float>(picture.grid_side - 1);
  const auto column = static_cast<float>(world % picture.grid_side),
             row = static_cast<float>(world / picture.grid_side);
  hit.point = {point.x - (column - middle) * picture.spacing, point.y - (row - middle) * picture.spacing, point.z};
  return hit;
}

}  // namespace hotloop
