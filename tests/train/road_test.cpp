// Which road a configuration takes, and that the fused one needs no LibTorch.
#include "train/road.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "sim/core/registry.h"
#include "tests/error_text.h"
#include "train/ppo.h"

namespace hotloop {
namespace {

TrainConfig config_of(const std::string& road, const std::string& precision = "fp32") {
  TrainConfig c;
  c.task = "CartPole-v1";
  c.road = road;
  c.precision = precision;
  return c;
}

constexpr Device kCpu;

TEST(Road, AutoIsTheFusedOneWhereItCan) {
  EXPECT_EQ(choose_road(config_of("auto"), kCpu).road, Road::fused);
  EXPECT_EQ(choose_road(config_of("auto"), kCpu).reason, "");
  EXPECT_EQ(choose_road(config_of("auto", "bf16"), kCpu).road, Road::generic);
  EXPECT_NE(choose_road(config_of("auto", "bf16"), kCpu).reason.find("bf16"), std::string::npos);
  EXPECT_EQ(choose_road(config_of("generic"), kCpu).road, Road::generic);
  EXPECT_EQ(choose_road(config_of("generic"), kCpu).reason, "");
}

TEST(Road, RefusesWhatItCannotRun) {
  EXPECT_NE(error_text([] { choose_road(config_of("fused", "tf32"), kCpu); }).find("precision tf32"),
            std::string::npos);
  for (const char* road : {"auto", "fused", "generic"})
    EXPECT_NE(error_text([&] { choose_road(config_of(road, "fp16"), kCpu); }).find("precision fp16"),
              std::string::npos);
}

TEST(Road, FusedLoadsNoLibTorch) {
  TrainConfig c = config_of("fused");
  PpoTrainer trainer(c, find_environment(c.task), kCpu);
  trainer.enqueue();
  trainer.wait();
  std::ifstream file("/proc/self/maps");
  const std::string maps((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(maps.find("libc.so"), std::string::npos);
  for (const char* library : {"libtorch", "libc10", "libhotloop_generic"})
    EXPECT_EQ(maps.find(library), std::string::npos) << library;
}

}  // namespace
}  // namespace hotloop
