// How much time moves in a picture.
#include "viz/ui/pacer.h"

#include <gtest/gtest.h>

#include "tests/viz/fake_source.h"

namespace hotloop {
namespace {

TEST(UiPacer, KeepsThePaceOfTheClock) {
  FakeSource source;  // 0.01 s a step
  Pacer pacer;
  for (int i = 0; i < 60; ++i) pacer.advance(source, 1.0 / 60, 1);
  EXPECT_NEAR(source.steps, 100, 1);
  pacer.set_exponent(3);
  source.steps = 0;
  for (int i = 0; i < 60; ++i) pacer.advance(source, 1.0 / 60, 1);
  EXPECT_NEAR(source.steps, 800, 1);
  EXPECT_NEAR(pacer.real_time_factor(), 8, 0.2);
  EXPECT_NEAR(pacer.steps_per_second(), 800, 20);
  pacer.set_exponent(-6);
  source.steps = 0;
  for (int i = 0; i < 640; ++i) pacer.advance(source, 0.01, 1);
  EXPECT_NEAR(source.steps, 10, 1);
}

TEST(UiPacer, RunsBackwardToTheStart) {
  FakeSource source;
  Pacer pacer;
  pacer.advance(source, 0.5, 10);
  EXPECT_NEAR(source.position(), 50, 1);
  pacer.backward = true;
  pacer.advance(source, 0.2, 10);
  EXPECT_NEAR(source.position(), 30, 2);
  pacer.advance(source, 5, 10);
  EXPECT_EQ(source.position(), 0);
  EXPECT_NEAR(source.steps, 50, 1);
}

TEST(UiPacer, SpeedHasBounds) {
  Pacer pacer;
  pacer.set_exponent(99);
  EXPECT_EQ(pacer.speed(), 64);
  pacer.set_exponent(-99);
  EXPECT_EQ(pacer.speed(), 1.0 / 64);
}

TEST(UiPacer, StopsAtTheBudgetAndDoesNotCatchUp) {
  FakeSource source;
  Pacer pacer;
  double now = 0;
  pacer.clock = [&] { return now += 0.004; };  // every look at the clock takes that long
  pacer.advance(source, 1, 0.010);             // 100 steps are due
  EXPECT_LE(source.steps, 3);
  EXPECT_GE(source.steps, 1);
  EXPECT_TRUE(pacer.behind());
  source.steps = 0;
  pacer.advance(source, 0, 1);
  EXPECT_EQ(source.steps, 0) << "what was missed is not made up for";
}

TEST(UiPacer, PauseStepsAndHistory) {
  FakeSource source;
  Pacer pacer;
  pacer.paused = true;
  pacer.advance(source, 10, 1);
  EXPECT_EQ(source.steps, 0);
  pacer.step(5);
  pacer.advance(source, 0, 1);
  EXPECT_EQ(source.position(), 5);
  pacer.step(-2);
  pacer.advance(source, 0, 1);
  EXPECT_EQ(source.position(), 3);
  pacer.step(-20);
  pacer.advance(source, 0, 1);
  EXPECT_EQ(source.position(), 0);
  pacer.step(4);
  pacer.advance(source, 0, 1);
  EXPECT_EQ(source.position(), 4);
  EXPECT_EQ(source.steps, 5) << "what is remembered is not simulated again";
  pacer.seek(1000);
  pacer.advance(source, 0, 1);
  EXPECT_EQ(source.position(), 5);
  EXPECT_TRUE(pacer.paused);
}

TEST(UiPacer, LeavesATrainingAlone) {
  FakeSource source;
  source.what.can_step = false;
  Pacer pacer;
  pacer.advance(source, 10, 1);
  pacer.step(3);
  pacer.advance(source, 10, 1);
  EXPECT_EQ(source.steps, 0);
}

}  // namespace
}  // namespace hotloop
