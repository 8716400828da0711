// The pose of a frame in its world, as environments and models write it and viewers read it. Kernels compiled at run
// time use this file.
#pragma once

namespace hotloop {

// Frame 0 of a world is the world itself; the others are bodies.
struct alignas(16) Frame {
  float pos[3] = {0, 0, 0};
  float unused = 0;              // shaders read arrays of frames as pairs of four numbers
  float quat[4] = {1, 0, 0, 0};  // w x y z
};
static_assert(sizeof(Frame) == 32);

}  // namespace hotloop
