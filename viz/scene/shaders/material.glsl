struct Material {
  vec4 shading;     // emission, specular, shininess, reflectance
  ivec4 texture;    // layer of the flat textures, of the cube textures, 1: a checker; -1: none
  vec4 checker[2];  // its colours, that of the quarter at the origin first
};
