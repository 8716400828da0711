// MuJoCo's haze: a band before the horizon of the first endless floor. It begins at a part of the way to where the
// floor ends, is full there, and gone at the horizon itself.
uniform vec3 haze_color;
uniform vec4 haze_floor;   // its normal; w: height of the eye above it, over the distance at which the haze is full
uniform float haze_width;  // part of that distance that it covers

// Share of the haze in what is seen in a direction of length 1.
float haze_share(vec3 direction) {
  float down = -dot(direction, haze_floor.xyz);
  // the floor's point, in distances at which the haze is full, then how high the ray meets a cone that rises from
  // where the haze begins to the horizon
  float at = haze_floor.w * sqrt(max(1.0 - down * down, 0.0)) / max(down, 1e-6);
  float height = (at + haze_width - 1.0) / (at + haze_width);
  float full = haze_width / (1.0 + haze_width);
  float share = height < full ? height / max(full, 1e-6) : (1.0 - height) / (1.0 - full);
  return down > 0.0 ? clamp(share, 0.0, 1.0) : 0.0;
}
