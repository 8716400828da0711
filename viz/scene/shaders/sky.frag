// The background: the model's skybox, or a gradient from the horizon up and down.
#include "haze.glsl"

in vec2 at;
layout(location = 0) out vec4 color;

layout(binding = 1) uniform samplerCube sky;
uniform vec4 horizon, zenith, ground;
uniform vec3 forward, right, up;  // of the camera; right and up as long as half the picture at distance 1

void main() {
  vec3 d = normalize(forward + at.x * right + at.y * up);
#if SKYBOX
  color = vec4(texture(sky, vec3(d.x, d.z, -d.y)).rgb, 1.0);  // OpenGL's cubes have y upward
#else
  color = vec4(mix(horizon.rgb, d.z > 0.0 ? zenith.rgb : ground.rgb, sqrt(abs(d.z))), 1.0);
#endif
#if HAZE
  color.rgb = mix(color.rgb, haze_color, haze_share(d));
#endif
}
