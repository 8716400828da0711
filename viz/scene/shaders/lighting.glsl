// Defined by the program: LIGHTS, their number; LIGHTS_WITH_PLACE 1: some are not directional; SHADOWS, how many of the
// first lights have a shadow map, and SHADOW_PLACES, that or 1; SHADOW_REACH, samples of a shadow's edge to each side;
// FOG 1; TEXTURES, a sum of 1: checkers, 2: flat textures, 4: cubes; GLOSS 0: surfaces do not reflect lights.
// Lights and materials as OpenGL's own pipeline had them, and with it MuJoCo: Blinn and Phong, colours as displayed.
struct Light {
  vec4 pos;          // w 1: directional
  vec4 dir;          // w: cosine of the cutoff
  vec4 ambient;      // w: exponent of a spot light
  vec4 diffuse;
  vec4 specular;
  vec4 attenuation;  // w: of a pixel of its shadow map the width, at distance 1 of a light with a place
};
#include "material.glsl"
layout(std140, binding = 0) uniform Lights {
  Light lights[8];
  mat4 shadow_from_world[4];
  vec4 head_ambient;
  vec4 head_diffuse;  // w: at distance 1 of the eye, by how much coarser triangles may be off
  vec4 head_specular;
  vec4 forward;     // where the camera looks
  vec4 fog;         // rgb, w: 1 / distance at which it is full
};
layout(binding = 0) uniform sampler2DArray flat_textures;
layout(binding = 1) uniform samplerCubeArray cube_textures;
layout(binding = 2) uniform sampler2DArrayShadow shadow_maps;

uniform vec3 eye;

// Here and below both sides of a choice are computed and one is taken: that is what a renderer on the CPU does anyway,
// and it pays for every branch.

// Where a point of a surface lies in a light's shadow map. A surface does not shade itself: neither by the map's pixels,
// nor where the map has it in other triangles.
vec4 shadow_place(int light, vec3 pos, vec3 normal) {
  float distance = 1.0;
#if LIGHTS_WITH_PLACE
  if (lights[light].pos.w == 0.0) distance = length(lights[light].pos.xyz - pos);
#endif
  pos += normal * (2.0 * lights[light].attenuation.w * distance + head_diffuse.w * length(eye - pos));
  return shadow_from_world[light] * vec4(pos, 1.0);
}

// How much of a light reaches a place: the mean over the samples of its shadow map about it.
float lit_share(int light, vec4 at) {
#if LIGHTS_WITH_PLACE
  vec3 p = at.xyz / at.w;
  bool inside = at.w > 0.0;
#else
  vec3 p = at.xyz;
  bool inside = true;
#endif
  inside = inside && all(lessThanEqual(abs(p.xy - 0.5), vec2(0.5)));
  p.z = min(p.z, 1.0);  // behind all that casts shadows
  float sum = 0.0;
#if SHADOW_REACH == 0
  sum = texture(shadow_maps, vec4(p.xy, light, p.z));
#else
  vec2 texel = 1.0 / vec2(textureSize(shadow_maps, 0).xy);
  for (int y = -SHADOW_REACH; y <= SHADOW_REACH; ++y)
    for (int x = -SHADOW_REACH; x <= SHADOW_REACH; ++x)
      sum += texture(shadow_maps, vec4(p.xy + vec2(x, y) * texel, light, p.z));
#endif
  float n = float(2 * SHADOW_REACH + 1);
  return inside ? sum / (n * n) : 1.0;
}

// shadow_at: of the point in the shadow maps.
vec3 shade(vec3 base, Material material, vec3 pos, vec3 normal, vec4 shadow_at[SHADOW_PLACES]) {
  vec3 to_eye = normalize(eye - pos);
  float shininess = max(material.shading.z * 128.0, 1.0), gloss = material.shading.y;
  vec3 sum = base * (head_ambient.rgb + material.shading.x);
  float facing = dot(normal, -forward.xyz);
  sum += base * head_diffuse.rgb * max(facing, 0.0);
#if GLOSS
  float half_way = max(dot(normal, normalize(to_eye - forward.xyz)), 0.0);
  sum += facing > 0.0 ? gloss * head_specular.rgb * pow(half_way, shininess) : vec3(0.0);
#endif
  for (int i = 0; i < LIGHTS; ++i) {
    vec3 to_light = -lights[i].dir.xyz;
    float strength = 1.0, d = 1.0;
#if LIGHTS_WITH_PLACE
    if (lights[i].pos.w == 0.0) {
      to_light = lights[i].pos.xyz - pos;
      d = length(to_light);
      to_light /= max(d, 1e-6);
      strength = 1.0 / max(dot(lights[i].attenuation.xyz, vec3(1.0, d, d * d)), 1e-6);
      float spot = dot(-to_light, lights[i].dir.xyz);
      strength *= spot < lights[i].dir.w ? 0.0 : pow(max(spot, 0.0), lights[i].ambient.w);
    }
#endif
    sum += base * lights[i].ambient.rgb * strength;
    float cosine = dot(normal, to_light);
    strength = cosine > 0.0 ? strength : 0.0;
    if (i < SHADOWS) strength *= lit_share(i, shadow_at[min(i, SHADOW_PLACES - 1)]);
    sum += base * lights[i].diffuse.rgb * strength * max(cosine, 0.0);
#if GLOSS
    half_way = max(dot(normal, normalize(to_light + to_eye)), 0.0);
    sum += gloss * lights[i].specular.rgb * strength * pow(half_way, shininess);
#endif
  }
  return sum;
}

vec3 with_fog(vec3 color, vec3 pos) {
#if FOG
  color = mix(color, fog.rgb, clamp(length(pos - eye) * fog.w, 0.0, 1.0));
#endif
  return color;
}

// Share of a pixel of width w about x in which the wave with period 1 is in its first half.
vec2 first_half(vec2 x, vec2 w) {
  vec2 a = x - 0.5 * w, b = x + 0.5 * w;
  return (0.5 * (floor(b) - floor(a)) + min(fract(b), 0.5) - min(fract(a), 0.5)) / w;
}

// The texture's colour; a checker's is its mean over the pixel, so that it fades into grey far away.
vec4 surface_color(Material material, vec2 uv, vec3 direction) {
#if TEXTURES & 1
  if (material.texture.z == 1) {
    vec2 w = max(fwidth(uv), 1e-5);
    vec2 s = first_half(uv, w);
    return mix(material.checker[1], material.checker[0], s.x * s.y + (1.0 - s.x) * (1.0 - s.y));
  }
#endif
#if TEXTURES & 2
  if (material.texture.x >= 0) return texture(flat_textures, vec3(uv, material.texture.x));
#endif
#if TEXTURES & 4
  if (material.texture.y >= 0) return texture(cube_textures, vec4(direction, material.texture.y));
#endif
  return vec4(1.0);
}
