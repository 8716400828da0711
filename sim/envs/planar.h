// What the pictures of planar environments share: they lie in the x-z plane, x to the right, z upward.
#pragma once
#include "sim/core/frame.h"
#include "sim/core/math.h"

namespace hotloop {

// At (x, z), turned clockwise (about y) by `angle`.
SIM_HD Frame planar_frame(float x, float z, float angle) {
  Frame frame;
  frame.pos[0] = x;
  frame.pos[2] = z;
  sin_cos(0.5f * wrap_angle(angle), frame.quat[2], frame.quat[0]);
  return frame;
}

// ---- the mountain car, as Gymnasium draws it: the hill's height is 0.45 sin(3 x) + 0.55 ----------------------------

// The car on the slope.
SIM_HD Frame car_frame(float x) {
  float sine, cosine;
  sin_cos(3.0f * x, sine, cosine);
  const float slope = 1.35f * cosine, flat = 1.0f / sqrtf(1.0f + slope * slope);  // flat: cosine of the angle
  Frame frame;
  frame.pos[0] = x;
  frame.pos[2] = 0.45f * sine + 0.55f;
  frame.quat[0] = sqrtf(0.5f * (1.0f + flat));
  frame.quat[2] = -0.5f * slope * flat / frame.quat[0];
  return frame;
}

template <class Shapes>
void mountain_car_visual(float left, float right, float goal, Shapes& shapes) {
  const auto height = [](float x) {
    float sine, cosine;
    sin_cos(3.0f * x, sine, cosine);
    return 0.45f * sine + 0.55f;
  };
  constexpr int kPieces = 120;
  typename Shapes::Curve curve;
  for (int i = 0; i <= kPieces; ++i) {
    const float x = left + (right - left) * static_cast<float>(i) / kPieces;
    curve.push_back(x);
    curve.push_back(height(x));
  }
  shapes.terrain(curve, 0.0f, 0.12f, {0.45f, 0.55f, 0.35f});
  const float foot = height(goal);
  shapes.cylinder(0, {goal, 0.06f, foot}, {goal, 0.06f, foot + 0.15f}, 0.003f, {0.2f, 0.2f, 0.2f});
  shapes.box(0, {goal + 0.035f, 0.06f, foot + 0.13f}, {0.035f, 0.002f, 0.02f}, {0.8f, 0.8f, 0.0f});

  const int car = shapes.frame("car");
  shapes.box(car, {0, 0, 0.06f}, {0.06f, 0.04f, 0.03f}, {0.15f, 0.25f, 0.55f});
  const float wheels[] = {-0.03f, 0.03f};
  for (const float x : wheels)
    shapes.cylinder(car, {x, -0.045f, 0.024f}, {x, 0.045f, 0.024f}, 0.024f, {0.5f, 0.5f, 0.5f});
  shapes.look_at({0.5f * (left + right), 0, 0.5f}, 0.9f, 2.2f, -12);
}

}  // namespace hotloop
