// A vertex of a unit mesh or model mesh, brought to its place in the picture.
#include "shapes.glsl"
#include "material.glsl"

layout(std430, binding = 2) readonly buffer Materials { Material materials[]; };

layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 texcoord;
layout(location = 3) in uint instance;  // world * num_shapes + shape

uniform mat4 clip_from_world;
uniform vec4 clip_plane;  // what is on its other side is not drawn; 0: all is
uniform bool all_transparent;
uniform int selected_world, selected_frame;

out vec3 world_pos;
out vec3 world_normal;
out vec3 cube_direction;
out vec2 uv;
flat out vec4 rgba;
flat out uvec2 ids;  // world, shape
// of the material; read here, once a vertex
flat out vec4 shading;
flat out ivec4 texture_of;
flat out vec4 checker0, checker1;
out gl_PerVertex {
  vec4 gl_Position;
  float gl_ClipDistance[1];
};

void main() {
  uint world = instance / num_shapes, index = instance % num_shapes;
  Shape shape = shapes[index];
  vec3 local = position * shape.scale.xyz + vec3(0.0, 0.0, texcoord.x * shape.scale.w);
  vec3 in_frame = shape.pos.xyz + turn(shape.quat, local);
  vec3 n = turn(shape.quat, normal / shape.scale.xyz);
  if (shape.ids.x != kNoFrame) {
    FramePose frame = frames[world * num_frames + shape.ids.x];
    in_frame = frame.pos.xyz + turn(frame.quat, in_frame) + world_offset(world);
    n = turn(frame.quat, n);
  }
  world_pos = in_frame;
  world_normal = n;
  uv = shape.uv.w > 0.0 ? texcoord : local.xy * shape.uv.xy + 0.5;
  cube_direction = local * shape.cube.xyz;
  rgba = shape.rgba;
  if (all_transparent && (shape.ids.w & kStatic) == 0u) rgba.a *= 0.5;
  if (int(world) == selected_world && int(shape.ids.x) == selected_frame && selected_frame > 0)
    rgba.rgb = mix(rgba.rgb, vec3(1.0, 0.85, 0.3), 0.5);
  ids = uvec2(world, index);
  Material material = materials[shape.ids.z];
  shading = material.shading;
  texture_of = material.texture;
  checker0 = material.checker[0];
  checker1 = material.checker[1];
  gl_Position = clip_from_world * vec4(world_pos, 1.0);
  gl_ClipDistance[0] = dot(clip_plane.xyz, world_pos) + clip_plane.w;
}
