#include "sim/mujoco/visual.h"

#include <algorithm>
#include <memory>

#include "sim/mujoco/read_model.h"
#include "sim/mujoco/visual_mesh.h"

namespace hotloop {
namespace {

template <std::size_t N, class From>
std::array<float, N> numbers(const From* from) {
  std::array<float, N> out;
  for (std::size_t k = 0; k < N; ++k) out[k] = static_cast<float>(from[k]);
  return out;
}

std::string name_of(const mjModel* m, mjtObj type, int id) {
  const char* name = mj_id2name(m, type, id);
  return name ? name : "";
}

void add_frames(const mjModel* m, VisualModel& out) {
  for (int b = 0; b < m->nbody; ++b)
    out.frames.push_back({.name = name_of(m, mjOBJ_BODY, b),
                          .parent = m->body_parentid[b],
                          .mass = static_cast<float>(m->body_mass[b]),
                          .com = numbers<3>(m->body_ipos + 3 * b),
                          .inertia_quat = numbers<4>(m->body_iquat + 4 * b),
                          .inertia = numbers<3>(m->body_inertia + 3 * b)});
}

void add_joints(const mjModel* m, VisualModel& out) {
  for (int j = 0; j < m->njnt; ++j)
    out.joints.push_back({.kind = static_cast<VisualJoint::Kind>(m->jnt_type[j]),
                          .name = name_of(m, mjOBJ_JOINT, j),
                          .frame = m->jnt_bodyid[j],
                          .qpos = m->jnt_qposadr[j],
                          .pos = numbers<3>(m->jnt_pos + 3 * j),
                          .axis = numbers<3>(m->jnt_axis + 3 * j),
                          .limited = m->jnt_limited[j] != 0,
                          .range = numbers<2>(m->jnt_range + 2 * j)});
}

ShapeKind shape_kind(int type) {
  switch (type) {
    case mjGEOM_PLANE:
      return ShapeKind::plane;
    case mjGEOM_SPHERE:
      return ShapeKind::sphere;
    case mjGEOM_CAPSULE:
      return ShapeKind::capsule;
    case mjGEOM_ELLIPSOID:
      return ShapeKind::ellipsoid;
    case mjGEOM_CYLINDER:
      return ShapeKind::cylinder;
    case mjGEOM_BOX:
      return ShapeKind::box;
    default:
      return ShapeKind::mesh;  // meshes, height fields, signed distance fields
  }
}

// mjModel's columns for a geom or a site.
struct ShapeColumns {
  const int *type, *body, *data, *material, *group;
  const mjtNum *pos, *quat, *size;
  const float* rgba;
};

VisualShape read_shape(const mjModel* m, const ShapeColumns& of, int i) {
  VisualShape shape;
  shape.kind = shape_kind(of.type[i]);
  shape.frame = of.body[i];
  shape.pos = numbers<3>(of.pos + 3 * i);
  shape.quat = numbers<4>(of.quat + 4 * i);
  shape.size = shape.kind == ShapeKind::mesh ? Float3{1, 1, 1} : numbers<3>(of.size + 3 * i);
  shape.material = of.material[i];
  shape.group = std::clamp(of.group[i], 0, 5);
  shape.rgba = numbers<4>(of.rgba + 4 * i);
  // a colour other than the default one goes before the material's
  if (shape.material >= 0 && shape.rgba == Float4{0.5f, 0.5f, 0.5f, 1})
    shape.rgba = numbers<4>(m->mat_rgba + 4 * shape.material);
  if (shape.kind == ShapeKind::mesh)  // height fields follow the meshes
    shape.mesh = of.data[i] + (of.type[i] == mjGEOM_HFIELD ? static_cast<int>(m->nmesh) : 0);
  return shape;
}

void add_shapes(const mjModel* m, VisualModel& out) {
  const ShapeColumns geoms{m->geom_type, m->geom_bodyid, m->geom_dataid, m->geom_matid, m->geom_group,
                           m->geom_pos,  m->geom_quat,   m->geom_size,   m->geom_rgba};
  for (int i = 0; i < m->ngeom; ++i) {
    VisualShape& shape = out.shapes.emplace_back(read_shape(m, geoms, i));
    shape.collides = m->geom_contype[i] != 0 || m->geom_conaffinity[i] != 0;
    shape.name = name_of(m, mjOBJ_GEOM, i);
  }
  const ShapeColumns sites{m->site_type, m->site_bodyid, m->site_dataid, m->site_matid, m->site_group,
                           m->site_pos,  m->site_quat,   m->site_size,   m->site_rgba};
  for (int i = 0; i < m->nsite; ++i) {
    VisualShape& shape = out.shapes.emplace_back(read_shape(m, sites, i));
    shape.collides = false;
    shape.is_site = true;
    shape.name = name_of(m, mjOBJ_SITE, i);
  }
}

// As three channels; a cube of one image gets it on all six faces.
VisualTexture read_texture(const mjModel* m, int t) {
  VisualTexture out;
  out.kind = static_cast<VisualTexture::Kind>(m->tex_type[t]);
  out.width = m->tex_width[t];
  out.height = m->tex_height[t];
  const int channels = m->tex_nchannel[t];
  const mjtByte* pixel = m->tex_data + m->tex_adr[t];
  for (long long i = 0; i < 1ll * out.width * out.height; ++i, pixel += channels)
    for (int k = 0; k < 3; ++k) out.rgb.push_back(pixel[channels < 3 ? 0 : k]);
  if (out.kind != VisualTexture::Kind::flat && out.height == out.width) {
    const std::vector<std::uint8_t> face = out.rgb;
    for (int k = 1; k < 6; ++k) out.rgb.insert(out.rgb.end(), face.begin(), face.end());
    out.height *= 6;
  }
  return out;
}

void add_materials(const mjModel* m, VisualModel& out) {
  for (int t = 0; t < m->ntex; ++t) {
    out.textures.push_back(read_texture(m, t));
    if (out.textures.back().kind == VisualTexture::Kind::skybox && out.skybox < 0) out.skybox = t;
  }
  for (int i = 0; i < m->nmat; ++i) {
    const int* textures = m->mat_texid + i * mjNTEXROLE;
    out.materials.push_back(
        {.texture = textures[mjTEXROLE_RGB] >= 0 ? textures[mjTEXROLE_RGB] : textures[mjTEXROLE_RGBA],
         .texuniform = m->mat_texuniform[i] != 0,
         .texrepeat = numbers<2>(m->mat_texrepeat + 2 * i),
         .emission = m->mat_emission[i],
         .specular = m->mat_specular[i],
         .shininess = m->mat_shininess[i],
         .reflectance = m->mat_reflectance[i],
         .rgba = numbers<4>(m->mat_rgba + 4 * i),
         .name = name_of(m, mjOBJ_MATERIAL, i)});
  }
}

// Where a body is at the start.
std::array<mjtNum, 3> start_of(const mjModel* m, int body) {
  std::array<mjtNum, 3> pos = {0, 0, 0};
  for (; body > 0; body = m->body_parentid[body]) {
    mju_rotVecQuat(pos.data(), pos.data(), m->body_quat + 4 * body);
    mju_addTo3(pos.data(), m->body_pos + 3 * body);
  }
  return pos;
}

// Of a light that looks at a body: to where that is at the start.
Float3 aim(const mjModel* m, int light) {
  std::array<mjtNum, 3> to = start_of(m, m->light_targetbodyid[light]);
  const std::array<mjtNum, 3> body = start_of(m, m->light_bodyid[light]);
  Float3 dir;
  for (int k = 0; k < 3; ++k) {
    const auto i = static_cast<std::size_t>(k);
    dir[i] = static_cast<float>(to[i] - body[i] - m->light_pos0[3 * light + k]);
  }
  return dir;
}

void add_lights(const mjModel* m, VisualModel& out) {
  for (int i = 0; i < m->nlight; ++i) {
    const auto mode = static_cast<FollowMode>(m->light_mode[i]);
    const bool aims =
        m->light_targetbodyid[i] >= 0 && (mode == FollowMode::targetbody || mode == FollowMode::targetbodycom);
    const bool tracks = mode == FollowMode::track || mode == FollowMode::trackcom;
    const mjtNum* pos = mode == FollowMode::track      ? m->light_pos0
                        : mode == FollowMode::trackcom ? m->light_poscom0
                                                       : m->light_pos;
    const bool spot = m->light_type[i] == mjLIGHT_SPOT;
    out.lights.push_back({.mode = mode,
                          .frame = m->light_bodyid[i],
                          .target = m->light_targetbodyid[i],
                          .pos = numbers<3>(pos + 3 * i),
                          .dir = aims ? aim(m, i) : numbers<3>((tracks ? m->light_dir0 : m->light_dir) + 3 * i),
                          .directional = m->light_type[i] == mjLIGHT_DIRECTIONAL,
                          .castshadow = m->light_castshadow[i] != 0,
                          .active = m->light_active[i] != 0,
                          .cutoff = spot ? m->light_cutoff[i] : 180.0f,
                          .exponent = spot ? m->light_exponent[i] : 0.0f,
                          .attenuation = numbers<3>(m->light_attenuation + 3 * i),
                          .ambient = numbers<3>(m->light_ambient + 3 * i),
                          .diffuse = numbers<3>(m->light_diffuse + 3 * i),
                          .specular = numbers<3>(m->light_specular + 3 * i)});
  }
}

void add_cameras(const mjModel* m, VisualModel& out) {
  for (int i = 0; i < m->ncam; ++i) {
    VisualCamera camera{.name = name_of(m, mjOBJ_CAMERA, i),
                        .mode = static_cast<FollowMode>(m->cam_mode[i]),
                        .frame = m->cam_bodyid[i],
                        .target = m->cam_targetbodyid[i],
                        .pos = numbers<3>(m->cam_pos + 3 * i),
                        .quat = numbers<4>(m->cam_quat + 4 * i),
                        .fovy = static_cast<float>(m->cam_fovy[i])};
    if (camera.mode == FollowMode::track || camera.mode == FollowMode::trackcom) {
      const bool com = camera.mode == FollowMode::trackcom;
      mjtNum quat[4];
      mju_mat2Quat(quat, m->cam_mat0 + 9 * i);
      camera.pos = numbers<3>((com ? m->cam_poscom0 : m->cam_pos0) + 3 * i);
      camera.quat = numbers<4>(quat);
    }
    if (m->cam_bodyid[i] > 0 && camera.name == "track") out.track = camera.frame;
    out.cameras.push_back(std::move(camera));
  }
}

// The box about all shapes but planes and height fields at the start.
struct Box {
  double low[3] = {1e30, 1e30, 1e30}, high[3] = {-1e30, -1e30, -1e30};
};

Box start_box(const mjModel* m) {
  Box box;
  const std::unique_ptr<mjData, decltype(&mj_deleteData)> d(mj_makeData(m), &mj_deleteData);
  if (!d) return box;
  mj_kinematics(m, d.get());
  for (int g = 0; g < m->ngeom; ++g) {
    if (m->geom_type[g] == mjGEOM_PLANE || m->geom_type[g] == mjGEOM_HFIELD) continue;
    for (int k = 0; k < 3; ++k) {
      box.low[k] = std::min(box.low[k], d->geom_xpos[3 * g + k] - m->geom_rbound[g]);
      box.high[k] = std::max(box.high[k], d->geom_xpos[3 * g + k] + m->geom_rbound[g]);
    }
  }
  return box;
}

float reach_of(const Box& box) {
  return static_cast<float>(std::max({0.0, box.high[0] - box.low[0], box.high[1] - box.low[1]}) / 2);
}

void read_view(const mjModel* m, VisualModel& out) {
  const mjVisual& vis = m->vis;
  out.headlight = vis.headlight.active != 0;
  out.headlight_ambient = numbers<3>(vis.headlight.ambient);
  out.headlight_diffuse = numbers<3>(vis.headlight.diffuse);
  out.headlight_specular = numbers<3>(vis.headlight.specular);
  out.haze = numbers<3>(vis.rgba.haze);
  out.haze_width = vis.map.haze;
  out.center = numbers<3>(m->stat.center);
  out.extent = std::max(1e-3f, static_cast<float>(m->stat.extent));
  out.znear = vis.map.znear;
  out.zfar = vis.map.zfar;
  out.azimuth = vis.global.azimuth;
  out.elevation = vis.global.elevation;
  out.distance = 1.5f;
  if (vis.global.orthographic == 0) out.fovy = vis.global.fovy;
}

}  // namespace

VisualModel model_visual(const LoadedModel& model) {
  const mjModel* m = model.mujoco();
  VisualModel out;
  add_frames(m, out);
  add_joints(m, out);
  add_shapes(m, out);
  for (int i = 0; i < m->nmesh; ++i) out.meshes.push_back(read_mesh(m, i));
  for (int i = 0; i < m->nhfield; ++i) out.meshes.push_back(read_height_field(m, i));
  add_materials(m, out);
  add_lights(m, out);
  if (out.lights.empty()) out.lights.push_back(plain_light());
  add_cameras(m, out);
  read_view(m, out);
  out.reach = reach_of(start_box(m));
  return out;
}

void look_at_bodies(const LoadedModel& model, VisualModel& visual) {
  const Box box = start_box(model.mujoco());
  for (std::size_t k = 0; k < 3 && box.low[0] <= box.high[0]; ++k)
    visual.center[k] = static_cast<float>((box.low[k] + box.high[k]) / 2);
}

}  // namespace hotloop
