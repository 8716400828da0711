#include "sim/mujoco/load.h"

#include <gtest/gtest.h>
#include <mujoco/mujoco.h>

namespace hotloop {
namespace {

constexpr const char* kModel = R"(<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="ball" pos="0 0 1"><freejoint/><geom name="g" type="sphere" size="0.1"/></body></worldbody></mujoco>)";

TEST(Load, OneBall) {
  const auto model = load_model_string(kModel, "ball.xml");
  EXPECT_EQ(model->data().nv, 6);
  EXPECT_EQ(model->data().npair, 1);
  EXPECT_EQ(model->data().max_contacts, 1);
  const ModelMemory<float> memory(model->data(), Device{});
  EXPECT_EQ(memory.view().body_mass.of(3)[1], static_cast<float>(model->mujoco()->body_mass[1]));
}

}  // namespace
}  // namespace hotloop
