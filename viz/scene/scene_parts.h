// What Scene is made of: the passes of a picture, in viz/scene/scene.cpp, and picking in viz/scene/pick.cpp.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "viz/gl/frame_buffer.h"
#include "viz/scene/draw_list.h"
#include "viz/scene/draw_scale.h"
#include "viz/scene/frame_stats.h"
#include "viz/scene/lights.h"
#include "viz/scene/materials.h"
#include "viz/scene/scene.h"
#include "viz/scene/shape_table.h"

namespace hotloop {

struct Scene::Parts {
  // What one draw() is about.
  struct Picture {
    GLuint frames = 0;
    std::uint32_t num_frames = 0, num_worlds = 0, grid_side = 1;
    std::int64_t first_world = 0;
    int selected_world = -1, selected_frame = -1;  // counted from the first
    float spacing = 0;                             // 0: one world
    Camera camera;                                 // sees as far as the grid reaches
    glm::mat4 clip_from_world{1};                  // depth reversed
    glm::vec3 eye{0}, forward{0, 1, 0};
    int width = 0, height = 0;
    int drawn_width = 0, drawn_height = 0;  // smaller where the picture takes too long
    SceneFlags flags;
    std::vector<Frame> world;  // of one world alone: its frames
    Box shown{};               // holds what moves
    struct {
      glm::vec4 floor{0};  // as haze_floor in haze.glsl
      bool on = false;
    } haze;
    std::vector<std::uint32_t> visible, floors;
  };

  Parts(const VisualModel& model, const SceneQuality& quality);

  void draw_shadows();
  void draw_mirror();
  void draw_shapes(const Program& program, const glm::mat4& clip_from_world, const glm::vec3& eye,
                   const glm::vec4& clip_plane) const;
  void draw_sky();
  // far: the part that passes into the sky.
  void draw_floors(bool far);
  void draw_transparent();
  void draw_overlay(const FrameBuffer& frames, const WorldGrid& grid, const SceneOverlay& overlay);
  void prepare(const FrameBuffer& frames, const WorldGrid& grid, const Camera& camera, const SceneFlags& flags,
               const SceneOverlay& overlay, const Target& target);
  CullInput cull_input() const;
  CullView camera_view() const;
  void set_shape_uniforms(const Program& program) const;
  // What haze there is; after the camera and the floors are known.
  void find_haze();
  void set_haze_uniforms(const Program& program) const;
  // Textures, lights and shadow maps of the programs that include lighting.glsl.
  void bind_lighting() const;
  std::string lighting_defines(int textures, bool gloss) const;
  const Program& shape_program();
  const Program& depth_program() { return programs.get("shape.vert", "depth.frag"); }

  const VisualModel& model;
  SceneQuality quality;
  ShapeTable table;
  std::vector<std::uint32_t> mesh_of_shape;
  Materials materials;
  MeshStore meshes;
  Program cull;
  ProgramSet programs;
  DrawList main_list, mirror_list;
  std::vector<DrawList> shadow_lists;  // one each map
  RenderTarget target, mirror;
  DrawScale scale;
  Texture shadow_maps;  // layers
  Framebuffer shadow_framebuffer;
  VertexArray no_vertices;
  StreamBuffer lights_buffer;
  LightSet lights;
  StreamBuffer overlay_shapes, overlay_instances;
  std::optional<glm::vec4> mirror_plane;  // unit normal and offset
  int textures = 0;                       // kinds that the model has, as TEXTURES in lighting.glsl
  FrameStats frame_stats;
  SceneStats stats;
  Picture picture;
};

// A floor's pose and the part of it that is drawn; endless ones pass into the sky at `fade_to`.
struct FloorArea {
  glm::vec4 area;  // centre and half sizes, in its own coordinates
  float fade_to = 0, eye_height = 0;
};
FloorArea floor_area(const VisualShape& floor, const Scene::Parts::Picture& picture);

}  // namespace hotloop
