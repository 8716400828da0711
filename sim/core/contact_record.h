// One contact of a world as viewers and logs get it. Kernels compiled at run time use this file.
#pragma once

namespace hotloop {

struct ContactRecord {
  float pos[3], dist;         // world frame; dist: the gap, negative where the geoms overlap [m]
  float normal[3], force[3];  // from geom 1 to geom 2; on geom 2 [N], world frame
  int geom1, geom2;           // MuJoCo's numbers
};
static_assert(sizeof(ContactRecord) == 48);

// Where kernels write the contacts of every world, on the batch's device; null: nowhere.
struct ContactTap {
  ContactRecord* records = nullptr;  // [num_worlds][capacity]
  int* counts = nullptr;             // [num_worlds]
  int capacity = 0;
};

}  // namespace hotloop
