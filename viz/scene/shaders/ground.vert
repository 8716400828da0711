// A floor: a rectangle in the xy plane of its own pose, as large as it is or as one can see. SHADOW_PLACES: as in
// lighting.glsl.
uniform mat4 clip_from_world;
uniform vec4 pose_pos, pose_quat;  // w x y z
uniform mat4 shadow_from_floor[SHADOW_PLACES];  // the shadow maps', of the world
uniform vec4 area;                 // centre and half sizes, in the floor's own coordinates

out vec3 world_pos;
out vec2 local;
out vec4 shadow_at[SHADOW_PLACES];  // floors cast no shadow: theirs needs no distance to the surface

vec3 turn(vec4 q, vec3 v) {
  vec3 t = 2.0 * cross(q.yzw, v);
  return v + q.x * t + cross(q.yzw, t);
}

void main() {
  vec2 corner = vec2((gl_VertexID & 1) == 0 ? -1.0 : 1.0, (gl_VertexID & 2) == 0 ? -1.0 : 1.0);
  local = area.xy + corner * area.zw;
  world_pos = pose_pos.xyz + turn(pose_quat, vec3(local, 0.0));
  for (int i = 0; i < SHADOW_PLACES; ++i) shadow_at[i] = shadow_from_floor[i] * vec4(world_pos, 1.0);
  gl_Position = clip_from_world * vec4(world_pos, 1.0);
}
