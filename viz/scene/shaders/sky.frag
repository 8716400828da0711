// The background: the model's skybox, or a gradient from the horizon up and down.
in vec2 at;
layout(location = 0) out vec4 color;

layout(binding = 1) uniform samplerCube sky;
uniform bool with_sky;
uniform vec4 horizon, zenith, ground;
uniform vec3 forward, right, up;  // of the camera; right and up as long as half the picture at distance 1

void main() {
  vec3 d = normalize(forward + at.x * right + at.y * up);
  vec3 plain = d.z > 0.0 ? mix(horizon.rgb, zenith.rgb, sqrt(d.z)) : mix(horizon.rgb, ground.rgb, sqrt(-d.z));
  // OpenGL's cubes have y upward
  color = vec4(with_sky ? texture(sky, vec3(d.x, d.z, -d.y)).rgb : plain, 1.0);
}
