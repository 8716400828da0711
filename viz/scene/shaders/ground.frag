#include "lighting.glsl"
#include "haze.glsl"

in vec3 world_pos;
in vec2 local;
in vec4 shadow_at[SHADOW_PLACES];
layout(location = 0) out vec4 color;

uniform vec4 rgba;
uniform vec2 uv_scale;
uniform vec4 shading, checker0, checker1;  // of the material
uniform int texture_layer;
uniform vec3 plane_normal;
uniform float fade_from, fade_to;  // FADE 1: distances between which an endless floor passes into the sky
layout(binding = 3) uniform sampler2D mirror;

void main() {
  Material material = Material(shading, ivec4(texture_layer, -1, TEXTURES & 1, 0), vec4[2](checker0, checker1));
  vec4 base = rgba * surface_color(material, local * uv_scale + 0.5, vec3(local, 0.0));
  bool below = dot(eye - world_pos, plane_normal) < 0.0;
  vec3 shaded = shade(base.rgb, material, world_pos, below ? -plane_normal : plane_normal, shadow_at);
#if MIRROR
  vec4 seen = texture(mirror, gl_FragCoord.xy / vec2(textureSize(mirror, 0)) * 0.5);
  if (!below) shaded += seen.rgb * seen.a * material.shading.w;  // in addition, as in MuJoCo
#endif
  if (below) base.a *= 0.3;
#if FADE
  base.a *= 1.0 - smoothstep(fade_from, fade_to, length(world_pos - eye));
#endif
  shaded = with_fog(shaded, world_pos);
#if HAZE && FADE
  shaded = mix(shaded, haze_color, haze_share(normalize(world_pos - eye)));
#endif
  color = vec4(shaded, base.a);
}
