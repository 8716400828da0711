// What the worlds of an environment or a model look like: shapes that move with frames. Plain data, the same for all
// worlds; the poses of the frames are what differs (Batch::write_frames, ModelBatch::write_frames). Nothing here draws.
// Lengths in metres, colours 0..1, quaternions w x y z, z upward. Names and meanings are MJCF's.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/frame.h"

namespace hotloop {

using Float3 = std::array<float, 3>;
using Float4 = std::array<float, 4>;

// size, as MuJoCo's geom_size: plane half x, half y (0: endless); sphere radius; capsule and cylinder radius, half
// length along z; ellipsoid and box half x, y, z; mesh: scale.
enum class ShapeKind : std::uint8_t { plane, sphere, capsule, ellipsoid, cylinder, box, mesh };

struct VisualShape {
  ShapeKind kind = ShapeKind::sphere;
  int frame = 0;
  Float3 pos = {0, 0, 0};  // in the frame
  Float4 quat = {1, 0, 0, 0};
  Float3 size = {0, 0, 0};
  Float4 rgba = {0.5f, 0.5f, 0.5f, 1.0f};  // as drawn: the material's colour where the shape has none of its own
  int material = -1;                       // of VisualModel::materials; -1: none
  int mesh = -1;                           // of VisualModel::meshes
  int group = 0;                           // 0 to 5, shown and hidden together
  bool collides = true;
  bool is_site = false;
  std::string name = {};
};

// Triangles; a height field is one too.
struct VisualMesh {
  std::vector<float> position, normal;  // [vertices][3]
  std::vector<float> texcoord;          // [vertices][2], or empty
  std::vector<std::uint32_t> index;     // [triangles][3], counter-clockwise from outside
  std::string name = {};
};

struct VisualTexture {
  enum class Kind : std::uint8_t { flat, cube, skybox };  // cube and skybox: six square faces below each other
  Kind kind = Kind::flat;
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;  // [height][width][3]
};

struct VisualMaterial {
  int texture = -1;
  bool texuniform = false;
  std::array<float, 2> texrepeat = {1, 1};
  float emission = 0, specular = 0.5f, shininess = 0.5f, reflectance = 0;
  Float4 rgba = {1, 1, 1, 1};
  std::string name = {};
};

// How a camera or light goes with its frame. track: pos is counted from the frame, pos and direction are in the world's
// axes; trackcom: from the centre of mass of the frame and those below it. targetbody: pos in the frame, looks at frame
// `target`; targetbodycom: at its centre of mass, likewise.
enum class FollowMode : std::uint8_t { fixed, track, trackcom, targetbody, targetbodycom };

struct VisualLight {
  FollowMode mode = FollowMode::fixed;
  int frame = 0, target = -1;
  Float3 pos = {0, 0, 4}, dir = {0, 0, -1};  // dir of one that looks at a frame: that at the start
  bool directional = true, castshadow = true, active = true;
  float cutoff = 45, exponent = 10;  // [deg] of a spot light, and how it falls off
  Float3 attenuation = {1, 0, 0};
  Float3 ambient = {0, 0, 0}, diffuse = {0.7f, 0.7f, 0.7f}, specular = {0.3f, 0.3f, 0.3f};
};

// Of models that name no light: a headlight alone draws them flat.
inline VisualLight plain_light() {
  VisualLight light;
  light.dir = {0.25f, 0.35f, -0.9f};
  light.diffuse = {0.55f, 0.55f, 0.55f};
  return light;
}

struct VisualCamera {
  std::string name = {};
  FollowMode mode = FollowMode::fixed;
  int frame = 0, target = -1;
  Float3 pos = {0, 0, 0};
  Float4 quat = {1, 0, 0, 0};  // looks along -z, y is up
  float fovy = 45;             // [deg]
};

// A hinge or slide for sliders and drawing; free and ball joints are listed without range.
struct VisualJoint {
  enum class Kind : std::uint8_t { free, ball, slide, hinge };
  Kind kind = Kind::hinge;
  std::string name = {};
  int frame = 0, qpos = 0;  // the body that it moves; where its position starts in qpos
  Float3 pos = {0, 0, 0}, axis = {0, 0, 1};
  bool limited = false;
  std::array<float, 2> range = {0, 0};
};

struct VisualFrame {
  std::string name = {};
  int parent = 0;
  float mass = 0;                      // [kg]
  Float3 com = {0, 0, 0};              // centre of mass in the frame
  Float4 inertia_quat = {1, 0, 0, 0};  // of the principal axes
  Float3 inertia = {0, 0, 0};          // [kg m^2] about them
};

struct VisualModel {
  std::vector<VisualFrame> frames;  // [0] is the world
  std::vector<VisualShape> shapes;
  std::vector<VisualMesh> meshes;
  std::vector<VisualTexture> textures;
  std::vector<VisualMaterial> materials;
  std::vector<VisualLight> lights;
  std::vector<VisualCamera> cameras;
  std::vector<VisualJoint> joints;
  int skybox = -1;          // of textures
  Float3 haze = {1, 1, 1};  // into which an endless floor passes below a skybox
  float haze_width = 0.3f;  // part of the way to the horizon that it covers
  bool headlight = true;
  Float3 headlight_ambient = {0.1f, 0.1f, 0.1f}, headlight_diffuse = {0.4f, 0.4f, 0.4f},
         headlight_specular = {0.5f, 0.5f, 0.5f};
  Float3 center = {0, 0, 0};       // of what is worth looking at (MJCF's statistic)
  float extent = 1;                // its half size
  float reach = 0;                 // half size along the ground of what stands in a world at the start; 0: extent
  float znear = 0.01f, zfar = 50;  // in extents
  // What is seen first: around frame `track` (0: around center), degrees, distance in extents.
  int track = 0;
  float azimuth = 90, elevation = -20, distance = 3;
  float fovy = 45;  // [deg]

  int num_frames() const { return static_cast<int>(frames.size()); }
};

}  // namespace hotloop
