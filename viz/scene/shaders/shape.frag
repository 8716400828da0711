#include "lighting.glsl"

in vec3 world_pos;
in vec3 world_normal;
in vec3 cube_direction;
in vec2 uv;
flat in vec4 rgba;
flat in vec4 shading;
flat in ivec4 texture_of;
flat in vec4 checker0, checker1;
layout(location = 0) out vec4 color;

void main() {
  Material material = Material(shading, texture_of, vec4[2](checker0, checker1));
  vec4 base = rgba * surface_color(material, uv, cube_direction);
  vec3 normal = normalize(world_normal);
  vec4 shadow_at[SHADOW_PLACES];
  for (int i = 0; i < SHADOW_PLACES; ++i) shadow_at[i] = i < SHADOWS ? shadow_place(i, world_pos, normal) : vec4(0.0);
  vec3 shaded = shade(base.rgb, material, world_pos, normal, shadow_at);
  color = vec4(with_fog(shaded, world_pos), base.a);
}
