// Lights and materials as OpenGL's own pipeline had them, and with it MuJoCo: Blinn and Phong, colours as displayed.
struct Light {
  vec4 pos;          // w 1: directional
  vec4 dir;          // w: cosine of the cutoff
  vec4 ambient;      // w: exponent of a spot light
  vec4 diffuse;      // w 1: the shadow map is this light's
  vec4 specular;
  vec4 attenuation;
};
struct Material {
  vec4 shading;  // emission, specular, shininess, reflectance
  ivec4 texture;  // layer of the flat textures, of the cube textures, 1: a checker; -1: none
  vec4 checker[2];  // its colours, that of the quarter at the origin first
};
layout(std140, binding = 0) uniform Lights {
  Light lights[8];
  mat4 shadow_from_world;
  vec4 head_ambient, head_diffuse, head_specular;
  vec4 forward;     // where the camera looks
  vec4 fog;         // rgb, w: 1 / distance at which it is full; 0: none
  ivec4 num_lights;  // y 1: shadows are drawn, z: 1 over samples of the shadow's edge
};
layout(std430, binding = 2) readonly buffer Materials { Material materials[]; };
layout(binding = 0) uniform sampler2DArray flat_textures;
layout(binding = 1) uniform samplerCubeArray cube_textures;
layout(binding = 2) uniform sampler2DShadow shadow_map;

uniform vec3 eye;
uniform bool with_textures;

float lit_share(vec3 pos, vec3 normal) {
  if (num_lights.y == 0) return 1.0;
  vec4 at = shadow_from_world * vec4(pos, 1.0);
  vec3 p = at.xyz / at.w;
  if (at.w <= 0.0 || any(lessThan(p.xy, vec2(0.0))) || any(greaterThan(p.xy, vec2(1.0)))) return 1.0;
  vec2 texel = 1.0 / vec2(textureSize(shadow_map, 0));
  int reach = num_lights.z;
  float sum = 0.0;
  for (int y = -reach; y <= reach; ++y)
    for (int x = -reach; x <= reach; ++x) sum += texture(shadow_map, vec3(p.xy + vec2(x, y) * texel, p.z));
  float n = float(2 * reach + 1);
  return sum / (n * n);
}

vec3 shade(vec3 base, Material material, vec3 pos, vec3 normal) {
  vec3 to_eye = normalize(eye - pos);
  float shininess = max(material.shading.z * 128.0, 1.0), gloss = material.shading.y;
  vec3 sum = base * (head_ambient.rgb + material.shading.x);
  float facing = dot(normal, -forward.xyz);
  if (facing > 0.0) {
    sum += base * head_diffuse.rgb * facing;
    float half_way = max(dot(normal, normalize(to_eye - forward.xyz)), 0.0);
    sum += gloss * head_specular.rgb * pow(half_way, shininess);
  }
  for (int i = 0; i < num_lights.x; ++i) {
    Light light = lights[i];
    vec3 to_light = -light.dir.xyz;
    float strength = 1.0;
    if (light.pos.w == 0.0) {
      to_light = light.pos.xyz - pos;
      float d = length(to_light);
      to_light /= max(d, 1e-6);
      strength = 1.0 / max(dot(light.attenuation.xyz, vec3(1.0, d, d * d)), 1e-6);
      float spot = dot(-to_light, light.dir.xyz);
      strength *= spot < light.dir.w ? 0.0 : pow(max(spot, 0.0), light.ambient.w);
    }
    sum += base * light.ambient.rgb * strength;
    float cosine = dot(normal, to_light);
    if (cosine <= 0.0 || strength == 0.0) continue;
    if (light.diffuse.w > 0.0) strength *= lit_share(pos, normal);
    sum += base * light.diffuse.rgb * strength * cosine;
    sum += gloss * light.specular.rgb * strength * pow(max(dot(normal, normalize(to_light + to_eye)), 0.0), shininess);
  }
  return sum;
}

vec3 with_fog(vec3 color, vec3 pos) {
  return fog.w > 0.0 ? mix(color, fog.rgb, clamp(length(pos - eye) * fog.w, 0.0, 1.0)) : color;
}

// Share of a pixel of width w about x in which the wave with period 1 is in its first half.
vec2 first_half(vec2 x, vec2 w) {
  vec2 a = x - 0.5 * w, b = x + 0.5 * w;
  return (0.5 * (floor(b) - floor(a)) + min(fract(b), 0.5) - min(fract(a), 0.5)) / w;
}

// The texture's colour; a checker's is its mean over the pixel, so that it fades into grey far away.
vec4 surface_color(Material material, vec2 uv, vec3 direction) {
  if (!with_textures) return vec4(1.0);
  if (material.texture.z == 1) {
    vec2 w = max(fwidth(uv), 1e-5);
    vec2 s = first_half(uv, w);
    return mix(material.checker[1], material.checker[0], s.x * s.y + (1.0 - s.x) * (1.0 - s.y));
  }
  if (material.texture.x >= 0) return texture(flat_textures, vec3(uv, material.texture.x));
  if (material.texture.y >= 0) return texture(cube_textures, vec4(direction, material.texture.y));
  return vec4(1.0);
}
