// What is drawn and where: frames of the worlds, shapes on frames, the grid of worlds. As in viz/scene/shape_table.h.
struct FramePose {
  vec4 pos;   // w unused
  vec4 quat;  // w x y z
};
struct Shape {
  vec4 pos;    // in the frame; w: radius of a ball about it that holds the shape
  vec4 quat;   // w x y z
  vec4 scale;  // of the unit mesh; w: by which a capsule's halves are moved apart
  vec4 rgba;
  vec4 uv;     // xy: texture coordinate per unit of xy; z: radius of its curves; w: > 0: the mesh has coordinates
  vec4 cube;   // xyz: direction into a cube texture per unit
  uvec4 ids;   // frame (kNoFrame: none), mesh, material, flags
};
const uint kNoFrame = 0xffffffffu;
const uint kTransparent = 1u, kCastsShadow = 2u, kStatic = 4u;

layout(std430, binding = 0) readonly buffer Frames { FramePose frames[]; };
layout(std430, binding = 1) readonly buffer Shapes { Shape shapes[]; };

uniform uint num_shapes, num_frames;
uniform uint grid_side;
uniform float grid_spacing;

vec3 turn(vec4 q, vec3 v) {
  vec3 t = 2.0 * cross(q.yzw, v);
  return v + q.x * t + cross(q.yzw, t);
}

// Where a world stands in the picture; worlds are counted from the first that is shown.
vec3 world_offset(uint world) {
  float middle = 0.5 * float(grid_side - 1u);
  return vec3(float(world % grid_side) - middle, float(world / grid_side) - middle, 0.0) * grid_spacing;
}
