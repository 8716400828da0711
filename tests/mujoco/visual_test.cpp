// Pictures of models, against mjModel and what MuJoCo computes from it.
#include "sim/mujoco/visual.h"

#include <gtest/gtest.h>
#include <mujoco/mujoco.h>

#include <cmath>
#include <memory>

#include "sim/core/registry.h"
#include "tests/mujoco/feature_models.h"

namespace hotloop {
namespace {

struct DataDeleter {
  void operator()(mjData* d) const { mj_deleteData(d); }
};
using Data = std::unique_ptr<mjData, DataDeleter>;

// Everything that a picture may hold.
std::shared_ptr<const LoadedModel> rich_model() {
  return load_model_string(
      mjcf(
          "<statistic center='1 2 3' extent='7'/>"
          "<visual><global azimuth='120' elevation='-35' fovy='50'/><map znear='.02' zfar='40'/>"
          "<headlight ambient='.2 .2 .2' diffuse='.6 .5 .4' specular='.1 .2 .3'/></visual>"
          "<asset><texture name='sky' type='skybox' builtin='gradient' rgb1='1 0 0' rgb2='0 0 1' width='8' height='8'/>"
          "<texture name='check' type='2d' builtin='checker' rgb1='1 1 1' rgb2='0 0 0' width='8' height='16'/>"
          "<material name='tiles' texture='check' texrepeat='3 4' texuniform='true' reflectance='.3' shininess='.7'"
          " specular='.9' rgba='.1 .2 .3 1'/>"
          "<mesh name='wedge' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/>"
          "<hfield name='hills' nrow='3' ncol='4' size='2 1 .5 .1' elevation='0 0 0 0 0 1 .5 0 0 0 0 0'/></asset>",
          "<light name='sun' directional='true' pos='0 0 5' dir='0 .6 -.8' diffuse='.5 .6 .7' castshadow='false'/>"
          "<light name='lamp' pos='1 0 3' dir='0 0 -1' cutoff='30' exponent='2' attenuation='1 .1 0'/>"
          "<geom name='floor' type='plane' size='0 0 1' material='tiles'/>"
          "<geom name='ground' type='hfield' hfield='hills' contype='0' conaffinity='0' pos='5 0 0'/>"
          "<body name='torso' pos='0 0 1' euler='10 20 30'><freejoint name='root'/>"
          "<camera name='follow' mode='track' pos='0 -3 1' xyaxes='1 0 0 0 0 1' fovy='60'/>"
          "<geom name='chest' size='.1 .2 .3' type='box' pos='.1 .2 .3' quat='1 .5 0 0' rgba='1 0 0 .5' "
          "group='3'/>"
          "<geom name='shell' type='mesh' mesh='wedge' contype='0' conaffinity='0' material='tiles' mass='.1'/>"
          "<site name='eye' size='.02' pos='0 0 .3' rgba='0 1 0 1' group='4'/>"
          "<body name='arm' pos='0 .3 0'><joint name='elbow' type='hinge' axis='0 0 1' pos='0 .1 0' range='-40 80'/>"
          "<geom type='cylinder' size='.05 .2'/></body></body>"),
      "rich.xml");
}

const VisualShape& shape(const VisualModel& model, const std::string& name) {
  for (const VisualShape& s : model.shapes)
    if (s.name == name) return s;
  throw std::invalid_argument(name);
}

// The shapes of a model posed by its bodies' frames lie where MuJoCo puts geoms and sites.
void check_poses(const LoadedModel& model) {
  SCOPED_TRACE(model.data().path);
  const VisualModel visual = model_visual(model);
  const mjModel* m = model.mujoco();
  const Data d(mj_makeData(m));
  mj_resetData(m, d.get());
  mj_kinematics(m, d.get());
  ASSERT_EQ(visual.shapes.size(), static_cast<std::size_t>(m->ngeom + m->nsite));
  ASSERT_EQ(visual.num_frames(), m->nbody);
  for (int i = 0; i < m->ngeom + m->nsite; ++i) {
    const VisualShape& s = visual.shapes[static_cast<std::size_t>(i)];
    EXPECT_EQ(s.is_site, i >= m->ngeom);
    mjtNum pos[3], quat[4], local[3], turn[4], expected[4];
    for (int k = 0; k < 3; ++k) local[k] = s.pos[static_cast<std::size_t>(k)];
    for (int k = 0; k < 4; ++k) turn[k] = s.quat[static_cast<std::size_t>(k)];
    mju_mulPose(pos, quat, d->xpos + 3 * s.frame, d->xquat + 4 * s.frame, local, turn);
    const mjtNum* where = s.is_site ? d->site_xpos + 3 * (i - m->ngeom) : d->geom_xpos + 3 * i;
    mju_mat2Quat(expected, s.is_site ? d->site_xmat + 9 * (i - m->ngeom) : d->geom_xmat + 9 * i);
    for (int k = 0; k < 3; ++k) EXPECT_NEAR(pos[k], where[k], 1e-6) << "shape " << i;
    EXPECT_NEAR(std::fabs(mju_dot(quat, expected, 4)), 1, 1e-6) << "shape " << i;
  }
}

TEST(Visual, ShapesAreWhereMuJoCoPutsThem) {
  check_poses(*rich_model());
  for (const char* name : {"ant", "humanoid", "pusher", "reacher", "half_cheetah", "swimmer"})
    check_poses(*load_model(std::string(HOTLOOP_SOURCE_DIR) + "/assets/mjcf/" + name + ".xml"));
}

TEST(Visual, ShapesKeepWhatTheModelSays) {
  const VisualModel v = model_visual(*rich_model());
  const VisualShape &floor = shape(v, "floor"), &chest = shape(v, "chest"), &eye = shape(v, "eye");
  EXPECT_EQ(floor.kind, ShapeKind::plane);
  EXPECT_EQ(floor.size[0], 0);
  EXPECT_EQ(floor.rgba, (Float4{0.1f, 0.2f, 0.3f, 1}));  // the material's
  EXPECT_EQ(v.materials.at(static_cast<std::size_t>(floor.material)).name, "tiles");
  EXPECT_EQ(chest.kind, ShapeKind::box);
  EXPECT_EQ(chest.rgba, (Float4{1, 0, 0, 0.5f}));
  EXPECT_EQ(chest.group, 3);
  EXPECT_EQ(v.frames.at(static_cast<std::size_t>(chest.frame)).name, "torso");
  EXPECT_TRUE(chest.collides);
  EXPECT_FALSE(shape(v, "shell").collides);
  EXPECT_TRUE(eye.is_site);
  EXPECT_EQ(eye.group, 4);
  const VisualMaterial& tiles = v.materials[0];
  EXPECT_EQ(tiles.texture, 1);
  EXPECT_TRUE(tiles.texuniform);
  EXPECT_EQ(tiles.texrepeat, (std::array<float, 2>{3, 4}));
  EXPECT_FLOAT_EQ(tiles.reflectance, 0.3f);
  const VisualJoint& elbow = v.joints.at(1);
  EXPECT_EQ(elbow.name, "elbow");
  EXPECT_EQ(elbow.qpos, 7);
  EXPECT_TRUE(elbow.limited);
  EXPECT_NEAR(elbow.range[1], 80 * mjPI / 180, 1e-6);
}

TEST(Visual, LightsCamerasTexturesAndView) {
  const VisualModel v = model_visual(*rich_model());
  ASSERT_EQ(v.lights.size(), 2u);
  EXPECT_TRUE(v.lights[0].directional);
  EXPECT_FALSE(v.lights[0].castshadow);
  EXPECT_NEAR(v.lights[0].dir[2], -0.8, 1e-6);
  EXPECT_FALSE(v.lights[1].directional);
  EXPECT_EQ(v.lights[1].cutoff, 30);
  ASSERT_EQ(v.cameras.size(), 1u);
  const VisualCamera& camera = v.cameras[0];
  EXPECT_EQ(camera.mode, FollowMode::track);
  EXPECT_EQ(camera.fovy, 60);
  EXPECT_EQ(v.frames[static_cast<std::size_t>(camera.frame)].name, "torso");
  ASSERT_EQ(v.textures.size(), 2u);
  EXPECT_EQ(v.skybox, 0);
  for (const VisualTexture& t : v.textures) EXPECT_EQ(t.rgb.size(), static_cast<std::size_t>(3 * t.width * t.height));
  EXPECT_EQ(v.textures[0].height, 6 * v.textures[0].width);
  EXPECT_EQ(v.center, (Float3{1, 2, 3}));
  EXPECT_EQ(v.extent, 7);
  EXPECT_EQ(v.azimuth, 120);
  EXPECT_EQ(v.elevation, -35);
  EXPECT_EQ(v.fovy, 50);
  EXPECT_EQ(v.headlight_diffuse, (Float3{0.6f, 0.5f, 0.4f}));
}

TEST(Visual, FollowsTheBodyOfACameraNamedTrack) {
  EXPECT_EQ(model_visual(*rich_model()).track, 0);
  const auto model = load_model_string(mjcf("",
                                            "<camera name='side'/><body/><body><freejoint/><geom size='.1'/><camera "
                                            "name='track' mode='trackcom'/></body>"),
                                       "tracked.xml");
  EXPECT_EQ(model_visual(*model).track, 2);
}

// Six times the volume that the triangles enclose: positive where they are counter-clockwise from outside.
double enclosed(const VisualMesh& mesh) {
  double sum = 0;
  for (std::size_t i = 0; i < mesh.index.size(); i += 3) {
    const float *a = &mesh.position[3 * mesh.index[i]], *b = &mesh.position[3 * mesh.index[i + 1]],
                *c = &mesh.position[3 * mesh.index[i + 2]];
    sum += a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
  }
  return sum;
}

TEST(Visual, MeshesAreClosedAndFaceOutward) {
  const VisualModel v = model_visual(*rich_model());
  ASSERT_EQ(v.meshes.size(), 2u);
  EXPECT_EQ(shape(v, "shell").mesh, 0);
  EXPECT_EQ(shape(v, "ground").mesh, 1);
  EXPECT_NEAR(enclosed(v.meshes[0]), 1, 1e-5);  // a corner of the unit cube
  // under a bilinear surface, as triangles: base 4 x 2 x .1, and two interior points of 1/3 each of their six triangles
  EXPECT_NEAR(enclosed(v.meshes[1]) / 6, 0.8 + 0.5 * (1 + 0.5) * (4.0 / 3) * 1, 1e-5);
  for (const VisualMesh& mesh : v.meshes) ASSERT_EQ(mesh.normal.size(), mesh.position.size());
  const VisualMesh& hills = v.meshes[1];  // its normals agree with the sides of its triangles; a mesh has MuJoCo's
  for (std::size_t i = 0; i < hills.index.size(); i += 3) {
    double dot = 0;
    const float *a = &hills.position[3 * hills.index[i]], *b = &hills.position[3 * hills.index[i + 1]],
                *c = &hills.position[3 * hills.index[i + 2]], *n = &hills.normal[3 * hills.index[i]];
    for (int k = 0; k < 3; ++k) {
      const int p = (k + 1) % 3, q = (k + 2) % 3;
      dot += n[k] * ((b[p] - a[p]) * (c[q] - a[q]) - (b[q] - a[q]) * (c[p] - a[p]));
    }
    EXPECT_GE(dot, 0) << "triangle " << i / 3;  // 0: walls where the field has no height
  }
}

TEST(Visual, CurvesOfEnvironmentsAreClosed) {
  const VisualModel v = find_environment("MountainCar-v0").visual({});
  ASSERT_EQ(v.meshes.size(), 1u);
  EXPECT_GT(enclosed(v.meshes[0]), 0);
}

}  // namespace
}  // namespace hotloop
