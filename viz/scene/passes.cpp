// The passes of a picture: shadow maps, mirror image, shapes, sky, floors, aids, what is transparent.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "viz/scene/overlay.h"
#include "viz/scene/poses.h"
#include "viz/scene/scene_parts.h"

namespace hotloop {

void Scene::Parts::set_shape_uniforms(const Program& program) const {
  program.set("num_shapes", static_cast<unsigned>(table.shapes().size()));
  program.set("num_frames", picture.num_frames);
  program.set("grid_side", picture.grid_side);
  program.set("grid_spacing", picture.spacing);
  program.set("selected_world", picture.selected_world);
  program.set("selected_frame", picture.selected_frame);
  program.set("all_transparent", picture.flags.transparent ? 1 : 0);
}

std::string Scene::Parts::lighting_defines(int kinds, bool gloss) const {
  const std::size_t shadows = lights.shadows.size();
  return fmt::format(
      "#define LIGHTS {}\n#define LIGHTS_WITH_PLACE {}\n#define SHADOWS {}\n#define SHADOW_PLACES {}\n"
      "#define SHADOW_REACH {}\n#define FOG {}\n#define TEXTURES {}\n#define GLOSS {}\n",
      lights.count, lights.some_with_place ? 1 : 0, shadows, std::max<std::size_t>(shadows, 1),
      quality.soft_shadows ? 1 : 0, picture.flags.fog ? 1 : 0, picture.flags.texture ? kinds : 0, gloss ? 1 : 0);
}

const Program& Scene::Parts::shape_program() {
  return programs.get("shape.vert", "shape.frag", lighting_defines(textures, true));
}

void Scene::Parts::bind_lighting() const {
  glBindBufferBase(GL_UNIFORM_BUFFER, 0, lights_buffer.get());
  materials.bind();
  glBindTextureUnit(2, shadow_maps.get());
}

void Scene::Parts::draw_shadows() {
  const float size = static_cast<float>(quality.shadow_size);
  const Program& depth = depth_program();
  for (std::size_t i = 0; i < lights.shadows.size(); ++i) {
    const ShadowView& shadow = lights.shadows[i];
    shadow_lists[i].build(cull, cull_input(),
                          {.clip_from_world = shadow.clip_from_world,
                           .eye = shadow.eye,
                           .pixels = quality.detail * size / shadow.width,
                           .parallel = shadow.parallel,
                           .only = kCastsShadow,
                           .fixed_level = quality.fixed_level});
    glNamedFramebufferTextureLayer(shadow_framebuffer.get(), GL_DEPTH_ATTACHMENT, shadow_maps.get(), 0,
                                   static_cast<GLint>(i));
    glBindFramebuffer(GL_FRAMEBUFFER, shadow_framebuffer.get());
    glViewport(0, 0, quality.shadow_size, quality.shadow_size);
    glClearDepth(1);
    glClear(GL_DEPTH_BUFFER_BIT);
    glDepthFunc(GL_LESS);
    glEnable(GL_POLYGON_OFFSET_FILL);
    glPolygonOffset(2, 4);  // surfaces must not shade themselves
    set_shape_uniforms(depth);
    depth.use();
    depth.set("clip_from_world", shadow.clip_from_world);
    depth.set("clip_plane", glm::vec4(0));
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, picture.frames);
    glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 1, table.buffer());
    shadow_lists[i].draw_opaque();
    glDisable(GL_POLYGON_OFFSET_FILL);
  }
}

// As far as in MuJoCo: full at 0.7 of the far clip distance.
void Scene::Parts::find_haze() {
  if (!picture.flags.haze || !picture.flags.skybox || !materials.has_sky() || model.haze_width <= 0) return;
  for (const std::uint32_t index : picture.floors) {
    const VisualShape& floor = model.shapes[index];
    if (floor.size[0] > 0 || floor.size[1] > 0) continue;
    const glm::vec3 normal = turned(floor.quat.data(), {0, 0, 1});
    const float height = glm::dot(normal, picture.eye - as_vec3(floor.pos));
    picture.haze = {glm::vec4(normal, height / (0.7f * picture.camera.zfar)), height > 0};
    return;  // the first one's
  }
}

void Scene::Parts::set_haze_uniforms(const Program& program) const {
  program.set("haze_color", as_vec3(model.haze));
  program.set("haze_floor", picture.haze.floor);
  program.set("haze_width", model.haze_width);
}

// The shapes below the first floor that reflects, at half the picture's size; of one world only.
void Scene::Parts::draw_mirror() {
  mirror_plane.reset();
  for (const std::uint32_t index : picture.floors) {
    if (!picture.flags.reflection || picture.num_worlds != 1) break;
    if (materials.list()[table.shapes()[index].material].shading.w <= 0) continue;
    const VisualShape& floor = model.shapes[index];
    const glm::vec3 normal = turned(floor.quat.data(), {0, 0, 1});
    mirror_plane = glm::vec4(normal, -glm::dot(normal, glm::vec3(floor.pos[0], floor.pos[1], floor.pos[2])));
    break;
  }
  if (!mirror_plane) return;
  const glm::vec3 n(*mirror_plane);
  const float d = mirror_plane->w;
  glm::mat4 reflect(1);
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) reflect[column][row] -= 2 * n[row] * n[column];
    reflect[3][row] = -2 * d * n[row];
  }
  CullView view = camera_view();
  view.clip_from_world = picture.clip_from_world * reflect;
  view.eye = glm::vec3(reflect * glm::vec4(picture.eye, 1));
  view.pixels /= 2;
  mirror_list.build(cull, cull_input(), view);
  mirror.resize((picture.drawn_width + 1) / 2, (picture.drawn_height + 1) / 2);
  glBindFramebuffer(GL_FRAMEBUFFER, mirror.framebuffer());
  glViewport(0, 0, mirror.width(), mirror.height());
  glClearColor(0, 0, 0, 0);
  glClearDepth(0);
  glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
  glDepthFunc(GL_GREATER);
  glFrontFace(GL_CW);
  glEnable(GL_CLIP_DISTANCE0);
  const Program& shapes = shape_program();
  set_shape_uniforms(shapes);
  shapes.use();
  shapes.set("clip_from_world", view.clip_from_world);
  shapes.set("eye", view.eye);
  shapes.set("clip_plane", *mirror_plane);
  glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, picture.frames);
  glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 1, table.buffer());
  bind_lighting();
  mirror_list.draw_opaque();
  glDisable(GL_CLIP_DISTANCE0);
  glFrontFace(GL_CCW);
}

void Scene::Parts::draw_shapes(const Program& program, const glm::mat4& clip_from_world, const glm::vec3& eye,
                               const glm::vec4& clip_plane) const {
  set_shape_uniforms(program);
  program.use();
  program.set("clip_from_world", clip_from_world);
  program.set("eye", eye);
  program.set("clip_plane", clip_plane);
  glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, picture.frames);
  glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 1, table.buffer());
  bind_lighting();
  main_list.draw_opaque();
}

void Scene::Parts::draw_sky() {
  const float half = std::tan(glm::radians(picture.camera.fovy) / 2);
  const float aspect = static_cast<float>(picture.width) / static_cast<float>(picture.height);
  const glm::mat4 rows = glm::transpose(picture.camera.view());
  const bool light = picture.flags.light_theme;
  const bool skybox = picture.flags.skybox && materials.has_sky();
  const Program& sky =
      programs.get("sky.vert", "sky.frag",
                   fmt::format("#define SKYBOX {}\n#define HAZE {}\n", skybox ? 1 : 0, picture.haze.on ? 1 : 0));
  sky.use();
  set_haze_uniforms(sky);
  sky.set("forward", picture.forward);
  sky.set("right", glm::vec3(rows[0]) * half * aspect);
  sky.set("up", glm::vec3(rows[1]) * half);
  sky.set("horizon", light ? glm::vec4(0.92f, 0.94f, 0.96f, 1) : glm::vec4(0.42f, 0.50f, 0.60f, 1));
  sky.set("zenith", light ? glm::vec4(0.62f, 0.75f, 0.90f, 1) : glm::vec4(0.10f, 0.15f, 0.24f, 1));
  sky.set("ground", light ? glm::vec4(0.75f, 0.77f, 0.80f, 1) : glm::vec4(0.10f, 0.11f, 0.13f, 1));
  glBindTextureUnit(1, materials.sky());
  glBindVertexArray(no_vertices.get());
  glDepthFunc(GL_GEQUAL);  // where nothing has been drawn: depth 0
  glDrawArrays(GL_TRIANGLES, 0, 3);
  glDepthFunc(GL_GREATER);
}

FloorArea floor_area(const VisualShape& floor, const Scene::Parts::Picture& picture) {
  const glm::vec3 pos(floor.pos[0], floor.pos[1], floor.pos[2]);
  const float back[] = {floor.quat[0], -floor.quat[1], -floor.quat[2], -floor.quat[3]};
  const glm::vec3 eye = turned(back, picture.eye - pos);
  const float reach = 0.95f * picture.camera.zfar;
  const float grid = 0.5f * static_cast<float>(picture.grid_side - 1) * picture.spacing;
  FloorArea out{glm::vec4(eye.x, eye.y, reach, reach), 0, eye.z};
  for (int k = 0; k < 2; ++k) {
    const float size = floor.size[static_cast<std::size_t>(k)];
    if (size <= 0) {
      out.fade_to = reach;
      continue;
    }
    out.area[k] = 0;
    out.area[2 + k] = size + grid;
  }
  return out;
}

void Scene::Parts::draw_floors(bool far) {
  bind_lighting();
  glBindTextureUnit(3, mirror.color());
  glBindVertexArray(no_vertices.get());
  glBlendFuncSeparate(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
  glDisable(GL_CULL_FACE);
  for (const std::uint32_t index : picture.floors) {
    const VisualShape& floor = model.shapes[index];
    const GpuShape& shape = table.shapes()[index];
    FloorArea part = floor_area(floor, picture);
    // what lets nothing through and does not fade comes first, the rest is blended with the sky
    const bool opaque = shape.rgba[3] >= 1 && part.eye_height > 0;
    if (far ? opaque && part.fade_to <= 0 : !opaque) continue;
    const float fade_from = 0.5f * part.fade_to;
    if (!far && part.fade_to > 0) {
      const float half = std::sqrt(std::max(fade_from * fade_from - part.eye_height * part.eye_height, 0.0f) / 2);
      for (int k = 0; k < 2; ++k) part.area[2 + k] = std::min(part.area[2 + k], half);
    }
    GpuMaterial material = materials.list()[shape.material];
    glm::vec2 uv_scale(shape.uv[0], shape.uv[1]);
    if (texture_kind(material) == 0) {  // of a bare floor one could not see how things move over it
      material.texture.z = 1;
      material.checker[0] = glm::vec4(glm::vec3(1.1f), 1);
      material.checker[1] = glm::vec4(glm::vec3(0.8f), 1);
      uv_scale = glm::vec2(2 / model.extent);
    }
    const Program& ground = programs.get("ground.vert", "ground.frag",
                                         lighting_defines(texture_kind(material), quality.floor_gloss) +
                                             "#define MIRROR " + std::to_string(mirror_plane ? 1 : 0) +
                                             "\n#define FADE " + std::to_string(far && part.fade_to > 0 ? 1 : 0) +
                                             "\n#define HAZE " + std::to_string(picture.haze.on ? 1 : 0) + "\n");
    ground.use();
    set_haze_uniforms(ground);
    ground.set("clip_from_world", picture.clip_from_world);
    ground.set("eye", picture.eye);
    for (std::size_t i = 0; i < lights.shadows.size(); ++i)
      ground.set(fmt::format("shadow_from_floor[{}]", i).c_str(), lights.gpu.shadow_from_world[i]);
    ground.set("pose_pos", glm::vec4(floor.pos[0], floor.pos[1], floor.pos[2], 0));
    ground.set("pose_quat", glm::vec4(floor.quat[0], floor.quat[1], floor.quat[2], floor.quat[3]));
    ground.set("plane_normal", turned(floor.quat.data(), {0, 0, 1}));
    ground.set("area", part.area);
    ground.set("fade_from", fade_from);
    ground.set("fade_to", part.fade_to);
    ground.set("rgba", glm::vec4(shape.rgba[0], shape.rgba[1], shape.rgba[2], shape.rgba[3]));
    ground.set("uv_scale", uv_scale);
    ground.set("shading", material.shading);
    ground.set("checker0", material.checker[0]);
    ground.set("checker1", material.checker[1]);
    ground.set("texture_layer", material.texture.x);
    if (far) glEnable(GL_BLEND);
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    glDisable(GL_BLEND);
  }
  glEnable(GL_CULL_FACE);
}

// Only the nearest transparent surface is drawn: so the picture does not depend on the order of the shapes.
void Scene::Parts::draw_transparent() {
  const Program &shapes = shape_program(), &depth = depth_program();
  set_shape_uniforms(shapes);
  set_shape_uniforms(depth);
  depth.set("clip_from_world", picture.clip_from_world);
  depth.set("clip_plane", glm::vec4(0));
  glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, picture.frames);
  glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 1, table.buffer());
  glBindBufferBase(GL_UNIFORM_BUFFER, 0, lights_buffer.get());
  depth.use();
  glColorMask(GL_FALSE, GL_FALSE, GL_FALSE, GL_FALSE);
  main_list.draw_transparent();
  glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
  shapes.use();
  shapes.set("clip_from_world", picture.clip_from_world);
  shapes.set("eye", picture.eye);
  shapes.set("clip_plane", glm::vec4(0));
  bind_lighting();
  glEnable(GL_BLEND);
  glBlendFuncSeparate(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
  glDepthFunc(GL_EQUAL);
  main_list.draw_transparent();
  glDepthFunc(GL_GREATER);
  glDisable(GL_BLEND);
}

void Scene::Parts::draw_overlay(const FrameBuffer& frames, const WorldGrid& grid, const SceneOverlay& overlay) {
  const SceneFlags& f = picture.flags;
  const bool wanted = f.contacts || f.contact_forces || (f.perturbation && overlay.perturbing) || f.joints || f.com ||
                      f.inertia || f.frames || f.lights || f.cameras;
  const std::int64_t world = grid.selected - grid.first;
  if (!wanted || world < 0 || world >= static_cast<std::int64_t>(picture.num_worlds)) return;
  const Float3 at = world_offset(grid, model, grid.selected);
  std::vector<GpuShape> aids = hotloop::overlay_shapes(model, frames.world(world), {at[0], at[1], at[2]}, f, overlay);
  if (aids.empty()) return;
  std::stable_sort(aids.begin(), aids.end(), [](const GpuShape& a, const GpuShape& b) { return a.mesh < b.mesh; });
  std::vector<std::uint32_t> instances(aids.size());
  for (std::size_t i = 0; i < aids.size(); ++i) instances[i] = static_cast<std::uint32_t>(i);
  overlay_shapes.write(std::span<const GpuShape>(aids));
  overlay_instances.write(std::span<const std::uint32_t>(instances));
  const VertexArray array = meshes.vertex_array(overlay_instances.get());
  const Program& shapes = shape_program();
  shapes.use();
  shapes.set("num_shapes", static_cast<unsigned>(aids.size()));
  shapes.set("all_transparent", 0);
  glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 1, overlay_shapes.get());
  bind_lighting();
  glBindVertexArray(array.get());
  glEnable(GL_BLEND);
  for (std::size_t first = 0; first < aids.size();) {
    std::size_t last = first;
    while (last < aids.size() && aids[last].mesh == aids[first].mesh) ++last;
    const MeshStore::Range& range = meshes.range(aids[first].mesh, 3);
    glDrawElementsInstancedBaseVertexBaseInstance(
        GL_TRIANGLES, static_cast<GLsizei>(range.count), GL_UNSIGNED_INT,
        reinterpret_cast<const void*>(static_cast<std::size_t>(range.first_index) * sizeof(std::uint32_t)),
        static_cast<GLsizei>(last - first), range.base_vertex, static_cast<GLuint>(first));
    first = last;
  }
  glDisable(GL_BLEND);
}

}  // namespace hotloop
