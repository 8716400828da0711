#include "viz/scene/scene.h"

#include <algorithm>
#include <cmath>

#include "viz/gl/context.h"
#include "viz/scene/overlay.h"
#include "viz/scene/scene_parts.h"

namespace hotloop {
namespace {

std::uint32_t side_of(std::int64_t count) {
  return static_cast<std::uint32_t>(std::ceil(std::sqrt(static_cast<double>(std::max<std::int64_t>(count, 1)))));
}

float spacing_of(const WorldGrid& grid, const VisualModel& model) {
  if (grid.count <= 1) return 0;
  if (grid.spacing > 0) return grid.spacing;
  return model.reach > 0 ? 3.2f * model.reach : 2.2f * model.extent;
}

// What all worlds of a grid take, or the bodies of one; a box that holds what moves.
Box shown_box(const VisualModel& model, const Scene::Parts::Picture& picture, float largest) {
  Box box{glm::vec3(1e30f), glm::vec3(-1e30f)};
  for (std::size_t i = 1; i < picture.world.size(); ++i) {
    const Frame& f = picture.world[i];
    const glm::vec3 p(f.pos[0], f.pos[1], f.pos[2]);
    if (!std::isfinite(p.x + p.y + p.z)) continue;
    box.low = glm::min(box.low, p - largest);
    box.high = glm::max(box.high, p + largest);
  }
  if (box.low.x <= box.high.x) return box;
  const glm::vec3 center(model.center[0], model.center[1], model.center[2]);
  const float half = 0.5f * static_cast<float>(picture.grid_side) * picture.spacing + 2 * model.extent;
  return {center - glm::vec3(half, half, 2 * model.extent), center + glm::vec3(half, half, 2 * model.extent)};
}

// Corners of what the camera sees as far as `distance`.
std::vector<glm::vec3> seen_corners(const Camera& camera, float aspect, float distance) {
  std::vector<glm::vec3> corners;
  for (const float x : {-1.0f, 1.0f})
    for (const float y : {-1.0f, 1.0f}) {
      const glm::vec3 ray = camera.ray(x, y, aspect);
      corners.push_back(camera.eye() + ray * camera.znear);
      corners.push_back(camera.eye() + ray * distance);
    }
  return corners;
}

float farthest_corner(const Box& box, const glm::vec3& from) {
  return glm::length(glm::max(glm::abs(box.low - from), glm::abs(box.high - from)));
}

}  // namespace

SceneQuality scene_quality(Quality choice) {
  const bool low = choice == Quality::low || (choice == Quality::automatic && is_software_gl());
  if (!low) return {};
  SceneQuality quality{.samples = 1, .shadow_size = 1024, .soft_shadows = false, .floor_gloss = false, .detail = 0.5f};
  if (choice == Quality::automatic) quality.budget = 30;
  return quality;
}

std::string describe(const SceneQuality& quality) {
  if (quality.soft_shadows) return "";
  return std::string("simple pictures (hard shadows, no antialiasing") +
         (quality.budget > 0 ? ", smaller where they take long)" : ")");
}

Scene::Parts::Parts(const VisualModel& visual, const SceneQuality& wanted)
    : model(visual),
      quality(wanted),
      table(visual),
      materials(visual),
      meshes(visual),
      cull("cull.comp"),
      main_list(meshes),
      mirror_list(meshes),
      target(wanted.samples),
      mirror(1),
      scale(wanted.samples == 1 ? wanted.budget : 0),
      shadow_maps(make_texture(GL_TEXTURE_2D_ARRAY)),
      shadow_framebuffer(make_framebuffer()),
      no_vertices(make_vertex_array()) {
  for (const GpuShape& shape : table.shapes()) mesh_of_shape.push_back(shape.mesh);
  for (const GpuMaterial& material : materials.list()) textures |= texture_kind(material);
  const int layers = std::max(1, count_shadows(model));
  for (int i = 0; i < layers; ++i) shadow_lists.emplace_back(meshes);
  const GLuint map = shadow_maps.get();
  glTextureStorage3D(map, 1, GL_DEPTH_COMPONENT32F, quality.shadow_size, quality.shadow_size, layers);
  glTextureParameteri(map, GL_TEXTURE_COMPARE_MODE, GL_COMPARE_REF_TO_TEXTURE);
  glTextureParameteri(map, GL_TEXTURE_COMPARE_FUNC, GL_LEQUAL);
  const GLint filter = quality.soft_shadows ? GL_LINEAR : GL_NEAREST;
  glTextureParameteri(map, GL_TEXTURE_MIN_FILTER, filter);
  glTextureParameteri(map, GL_TEXTURE_MAG_FILTER, filter);
  glTextureParameteri(map, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  glTextureParameteri(map, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  glNamedFramebufferDrawBuffer(shadow_framebuffer.get(), GL_NONE);
}

CullInput Scene::Parts::cull_input() const {
  return {.frames = picture.frames,
          .shapes = table.buffer(),
          .num_worlds = picture.num_worlds,
          .num_frames = picture.num_frames,
          .num_shapes = static_cast<std::uint32_t>(table.shapes().size()),
          .grid_side = picture.grid_side,
          .grid_spacing = picture.spacing,
          .visible = picture.visible,
          .mesh_of_shape = mesh_of_shape};
}

CullView Scene::Parts::camera_view() const {
  const float half = std::tan(glm::radians(picture.camera.fovy) / 2);
  return {.clip_from_world = picture.clip_from_world,
          .eye = picture.eye,
          .pixels = quality.detail * static_cast<float>(picture.drawn_height) / (2 * half),
          .all_transparent = picture.flags.transparent,
          .fixed_level = quality.fixed_level,
          .everything = !quality.cull};
}

void Scene::Parts::prepare(const FrameBuffer& frames, const WorldGrid& grid, const Camera& camera,
                           const SceneFlags& flags, const SceneOverlay& overlay, const Target& to) {
  picture = {};
  picture.frames = frames.gl_buffer();
  picture.num_frames = static_cast<std::uint32_t>(frames.num_frames());
  picture.num_worlds = static_cast<std::uint32_t>(std::min(grid.count, frames.count()));
  picture.first_world = grid.first;
  picture.grid_side = side_of(grid.count);
  picture.spacing = spacing_of(grid, model);
  picture.selected_world = static_cast<int>(grid.selected - grid.first);
  picture.selected_frame = overlay.selected_frame;
  picture.flags = flags;
  picture.width = to.width;
  picture.height = to.height;
  picture.drawn_width = std::max(1, static_cast<int>(scale.value() * static_cast<float>(to.width)));
  picture.drawn_height = std::max(1, static_cast<int>(scale.value() * static_cast<float>(to.height)));
  picture.camera = camera;
  if (picture.num_worlds == 1 && grid.count == 1) picture.world = frames.world(0);
  float largest = 0;
  for (const GpuShape& shape : table.shapes())
    if (shape.frame != 0) largest = std::max(largest, shape.pos[3]);
  picture.shown = shown_box(model, picture, largest);

  picture.eye = camera.eye();
  const float reach = farthest_corner(picture.shown, picture.eye);
  picture.camera.zfar = std::max(camera.zfar, 4 * reach);  // and a horizon beyond it
  const float aspect = static_cast<float>(to.width) / static_cast<float>(to.height);
  picture.forward = picture.camera.ray(0, 0, aspect);
  picture.clip_from_world = depth_zero_to_one(picture.camera.projection(aspect) * picture.camera.view(), true);
  picture.visible = table.visible(flags, picture.spacing);
  picture.floors = table.floors(flags, picture.spacing);

  const std::vector<glm::vec3> seen = seen_corners(picture.camera, aspect, std::min(reach, picture.camera.zfar));
  lights = collect_lights(model, flags.shadow ? quality.shadow_size : 0, picture.world, picture.forward, picture.shown,
                          seen);
  if (flags.fog)
    lights.gpu.fog = glm::vec4(glm::vec3(materials.has_sky() ? materials.horizon() : glm::vec4(0.7f)), 1 / reach);
  lights.gpu.head_diffuse.w = 0.5f / camera_view().pixels;  // half a pixel, as levels of detail are chosen
  lights_buffer.write(&lights.gpu, sizeof lights.gpu);
  find_haze();
}

void Scene::draw(const FrameBuffer& frames, const WorldGrid& grid, const Camera& camera, const SceneFlags& flags,
                 const SceneOverlay& overlay, const Target& target) {
  Parts& p = *parts_;
  if (target.width < 1 || target.height < 1) return;
  if (p.frame_stats.update(p.stats)) p.scale.note(p.stats.gpu_milliseconds);
  p.stats.scale = p.scale.value();
  p.frame_stats.begin();
  p.prepare(frames, grid, camera, flags, overlay, target);
  p.stats.instances = static_cast<std::int64_t>(p.picture.visible.size()) * p.picture.num_worlds;

  glClipControl(GL_LOWER_LEFT, GL_ZERO_TO_ONE);
  glDisable(GL_SCISSOR_TEST);
  glDisable(GL_STENCIL_TEST);
  glDisable(GL_BLEND);
  glEnable(GL_DEPTH_TEST);
  glEnable(GL_CULL_FACE);
  glFrontFace(GL_CCW);
  glDepthMask(GL_TRUE);
  glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
  p.draw_shadows();
  p.draw_mirror();

  p.main_list.build(p.cull, p.cull_input(), p.camera_view());
  p.target.resize(p.picture.drawn_width, p.picture.drawn_height);
  glBindFramebuffer(GL_FRAMEBUFFER, p.target.framebuffer());
  glViewport(0, 0, p.target.width(), p.target.height());
  glClearDepth(0);
  glClear(GL_DEPTH_BUFFER_BIT);  // the sky covers all colours
  glDepthFunc(GL_GREATER);
  if (flags.wireframe) glPolygonMode(GL_FRONT_AND_BACK, GL_LINE);
  p.draw_shapes(p.shape_program(), p.picture.clip_from_world, p.picture.eye, glm::vec4(0));
  glPolygonMode(GL_FRONT_AND_BACK, GL_FILL);
  p.draw_floors(false);  // before the sky, which then has less to cover
  p.draw_sky();
  p.draw_floors(true);
  p.draw_overlay(frames, grid, overlay);
  p.draw_transparent();

  glClipControl(GL_LOWER_LEFT, GL_NEGATIVE_ONE_TO_ONE);
  glDepthFunc(GL_LESS);
  glClearDepth(1);
  glDisable(GL_CULL_FACE);
  glDisable(GL_DEPTH_TEST);
  glBlitNamedFramebuffer(p.target.framebuffer(), target.framebuffer, 0, 0, p.target.width(), p.target.height(), 0, 0,
                         target.width, target.height, GL_COLOR_BUFFER_BIT,
                         p.target.width() == target.width ? GL_NEAREST : GL_LINEAR);
  glBindFramebuffer(GL_FRAMEBUFFER, target.framebuffer);
  glBindVertexArray(0);
  glUseProgram(0);
  std::vector<const DrawList*> lists = {&p.main_list, &p.mirror_list};
  for (std::size_t i = 0; i < p.lights.shadows.size(); ++i) lists.push_back(&p.shadow_lists[i]);
  p.frame_stats.end(lists);
}

Scene::Scene(const VisualModel& model, const SceneQuality& quality) : parts_(std::make_unique<Parts>(model, quality)) {}
Scene::~Scene() = default;
const SceneStats& Scene::stats() const { return parts_->stats; }

const SceneStats& Scene::wait_for_stats() {
  glFinish();
  parts_->frame_stats.update(parts_->stats);
  return parts_->stats;
}

std::int64_t Scene::most_worlds(const VisualModel& model) {
  GLint64 limit = 0;
  glGetInteger64v(GL_MAX_SHADER_STORAGE_BLOCK_SIZE, &limit);
  const std::int64_t poses = model.num_frames() * static_cast<std::int64_t>(sizeof(Frame)),
                     lists = static_cast<std::int64_t>(model.shapes.size()) * DrawList::kBytesAShape;
  return std::max<std::int64_t>(1, limit / std::max<std::int64_t>({1, poses, lists}));
}

Float3 Scene::world_offset(const WorldGrid& grid, const VisualModel& model, std::int64_t world) {
  const auto side = static_cast<std::int64_t>(side_of(grid.count));
  const std::int64_t at = world - grid.first;
  const float middle = 0.5f * static_cast<float>(side - 1), spacing = spacing_of(grid, model);
  return {(static_cast<float>(at % side) - middle) * spacing, (static_cast<float>(at / side) - middle) * spacing, 0};
}

}  // namespace hotloop
