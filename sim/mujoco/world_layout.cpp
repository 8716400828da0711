#include <algorithm>
#include <functional>
#include <vector>

#include "sim/mujoco/pgs_space.h"
#include "sim/mujoco/set_const.h"
#include "sim/mujoco/world.h"

namespace hotloop {
namespace {

struct Array {
  int* offset;
  int length, from, to;  // length: a multiple of 4, so that every array is aligned to 16 bytes
};

struct Slot {
  int begin, end, from, to;
};

// Places each array at the lowest address that is free during its whole life; returns the size of the whole.
int place(const std::vector<Array>& arrays) {
  std::vector<Slot> slots;
  int size = 0;
  for (const Array& a : arrays) {
    int begin = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const Slot& t : slots)
        if (t.from <= a.to && a.from <= t.to && begin < t.end && t.begin < begin + a.length) {
          begin = t.end;
          moved = true;
        }
    }
    *a.offset = begin;
    slots.push_back({begin, begin + a.length, a.from, a.to});
    size = std::max(size, begin + a.length);
  }
  return size;
}

}  // namespace

WorldLayout make_layout(const ModelSizes& s, unsigned keep) {
  WorldLayout at;
  at.keep = static_cast<int>(keep);
  std::vector<Array> arrays;
  const auto add = [&](int& offset, int elements, int from, int to, unsigned bits) {
    if (elements > 0) arrays.push_back({&offset, (elements + 3) / 4 * 4, from, (bits & keep) != 0 ? kFinish : to});
  };
#define HOTLOOP_ADD(name, elements, from, to, bits) add(at.name, elements, from, to, bits);
  HOTLOOP_WORLD_REALS(HOTLOOP_ADD)
  HOTLOOP_WORLD_INTS(HOTLOOP_ADD)
#undef HOTLOOP_ADD
  // several orders, each good for some models: the one that needs least
  const auto life = [](const Array& a) { return a.to - a.from; };
  const std::vector<std::function<bool(const Array&, const Array&)>> orders = {
      [&](const Array& a, const Array& b) { return life(a) != life(b) ? life(a) > life(b) : a.length > b.length; },
      [&](const Array& a, const Array& b) { return a.length > b.length; },
      [&](const Array& a, const Array& b) { return a.to != b.to ? a.to > b.to : a.length > b.length; },
      [&](const Array& a, const Array& b) { return a.from != b.from ? a.from < b.from : a.length > b.length; },
      [&](const Array& a, const Array& b) { return a.from != b.from ? a.from > b.from : a.length > b.length; },
      [&](const Array& a, const Array& b) { return a.to != b.to ? a.to < b.to : a.length > b.length; },
  };
  const std::function<bool(const Array&, const Array&)>* best = nullptr;
  for (const auto& order : orders) {
    std::stable_sort(arrays.begin(), arrays.end(), order);
    const int size = place(arrays);
    if (best == nullptr || size < at.reals) {
      best = &order;
      at.reals = size;
    }
  }
  std::stable_sort(arrays.begin(), arrays.end(), *best);
  at.reals = place(arrays);
  return at;
}

WorldLayout set_const_layout(const ModelSizes& sizes) {
  ModelSizes s = sizes;
  s.max_contacts = s.max_blocks = s.max_rows = s.max_edges = s.npair = 0;
  s.rk4 = s.has_fluid = false;
  s.pgs = true;  // the inverse takes H
  return make_layout(s, kKeepCom | kKeepVelocity);
}

}  // namespace hotloop
