#include "lighting.glsl"

in vec3 world_pos;
in vec2 local;
layout(location = 0) out vec4 color;

uniform vec4 rgba;
uniform vec2 uv_scale;
uniform uint material_index;
uniform vec3 plane_normal;
uniform float fade_from, fade_to;  // distances between which an endless floor passes into the sky; 0: it does not
layout(binding = 3) uniform sampler2D mirror;
uniform bool with_mirror;

void main() {
  Material material = materials[material_index];
  vec4 base = rgba * surface_color(material, local * uv_scale + 0.5, vec3(local, 0.0));
  bool below = dot(eye - world_pos, plane_normal) < 0.0;
  vec3 shaded = shade(base.rgb, material, world_pos, below ? -plane_normal : plane_normal);
  if (with_mirror && !below) {
    vec4 seen = texture(mirror, gl_FragCoord.xy / vec2(textureSize(mirror, 0)) * 0.5);
    shaded = mix(shaded, seen.rgb, seen.a * material.shading.w);
  }
  if (below) base.a *= 0.3;
  if (fade_to > 0.0) base.a *= 1.0 - smoothstep(fade_from, fade_to, length(world_pos - eye));
  color = vec4(with_fog(shaded, world_pos), base.a);
}
