// One invocation a shape of a world: is it in view, how large is it, and so on which list of instances does it go?
layout(local_size_x = 64) in;
#include "shapes.glsl"

struct Command {  // as glMultiDrawElementsIndirect reads it
  uint count, instance_count, first_index;
  int base_vertex;
  uint base_instance;
};
layout(std430, binding = 2) readonly buffer Visible { uint visible[]; };
layout(std430, binding = 3) buffer Commands { Command commands[]; };  // [opaque, transparent][meshes][levels]
layout(std430, binding = 4) writeonly buffer Instances { uint instances[]; };

uniform uint num_worlds, num_visible, num_meshes;
uniform vec4 planes[6];      // inside: dot(plane.xyz, p) + plane.w >= 0, unit normals
uniform vec3 eye;
uniform float pixels;        // of a length 1 at distance 1, or anywhere in a parallel projection
uniform bool parallel;
uniform uint only;           // flags that a shape must have
uniform bool all_transparent;  // shapes that move
uniform int fixed_level;     // -1: by size

const uint kLevels = 5u;
const float kUpTo[4] = float[](1.5, 4.0, 10.0, 60.0);  // radius in pixels up to which a level is fine enough

void main() {
  uint job = gl_GlobalInvocationID.x + gl_GlobalInvocationID.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  if (job >= num_worlds * num_visible) return;
  uint world = job / num_visible, index = visible[job % num_visible];
  Shape shape = shapes[index];
  if ((shape.ids.w & only) != only) return;
  FramePose frame = frames[world * num_frames + shape.ids.x];
  vec3 centre = frame.pos.xyz + turn(frame.quat, shape.pos.xyz) + world_offset(world);
  float radius = shape.pos.w;
  for (int i = 0; i < 6; ++i)
    if (!(dot(planes[i].xyz, centre) + planes[i].w >= -radius)) return;  // also where the pose is not a number
  float distance = max(length(centre - eye) - radius, 1e-3);
  float curve = shape.uv.z * pixels / (parallel ? 1.0 : distance);
  uint level = 0u;
  while (level < 4u && curve > kUpTo[level]) ++level;
  if (fixed_level >= 0) level = uint(fixed_level);
  bool transparent = (shape.ids.w & kTransparent) != 0u || (all_transparent && (shape.ids.w & kStatic) == 0u);
  uint command = ((transparent ? num_meshes : 0u) + shape.ids.y) * kLevels + level;
  uint place = atomicAdd(commands[command].instance_count, 1u);
  instances[commands[command].base_instance + place] = world * num_shapes + index;
}
