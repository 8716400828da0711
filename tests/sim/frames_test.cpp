// Pictures of environments: what every one keeps, and where the classic ones put their parts.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "sim/core/registry.h"

namespace hotloop {
namespace {

constexpr std::int64_t kWorlds = 37;

// Worlds after some random steps.
class Worlds {
 public:
  Worlds(const EnvEntry& entry, Device device)
      : device_(device),
        batch_(entry.make({.num_envs = kWorlds, .seed = 3, .device = device})),
        buffers_(entry.spec, kWorlds, device),
        actions_(entry.spec.action, kWorlds, device, 3) {
    batch_->reset(exec(), buffers_.observation.data(), buffers_.action_mask.data());
  }
  Exec exec() const { return {device_}; }
  Batch& batch() { return *batch_; }
  void step(int steps) {
    for (int i = 0; i < steps; ++i) {
      actions_.fill(exec(), step_++, buffers_.action.data());
      batch_->step(exec(), buffers_.io());
    }
  }
  std::vector<float> observation() { return host<float>(buffers_.observation.data(), buffers_.observation.size()); }
  std::vector<std::byte> state() { return host<std::byte>(batch_->raw_state(), batch_->raw_state_bytes()); }
  std::vector<Frame> frames(std::int64_t first, std::int64_t count) {
    Buffer<Frame> out(device_, static_cast<std::size_t>(count * batch_->num_frames()));
    batch_->write_frames(exec(), first, count, out.data());
    return host<Frame>(out.data(), out.size());
  }

 private:
  template <class T>
  std::vector<T> host(const T* from, std::size_t count) {
    std::vector<T> out(count);
    copy_async(exec(), out.data(), {}, from, device_, count * sizeof(T));
    synchronize(exec());
    return out;
  }
  Device device_;
  std::unique_ptr<Batch> batch_;
  StepBuffers buffers_;
  RandomActions actions_;
  std::uint64_t step_ = 0;
};

// A point of a frame in the world.
Float3 in_world(const Frame& f, const Float3& p) {
  const float *q = f.quat, w = q[0];
  Float3 out{};
  for (int k = 0; k < 3; ++k) {  // p + 2 w (q x p) + 2 q x (q x p)
    const auto cross = [&](const Float3& a, int i) {
      return q[1 + (i + 1) % 3] * a[(i + 2) % 3] - q[1 + (i + 2) % 3] * a[(i + 1) % 3];
    };
    const Float3 once = {cross(p, 0), cross(p, 1), cross(p, 2)};
    out[k] = f.pos[k] + p[k] + 2 * (w * once[k] + cross(once, k));
  }
  return out;
}

void check_frames(const EnvEntry& entry, Device device) {
  SCOPED_TRACE(entry.spec.name + " on " + device.str());
  ASSERT_NE(entry.visual, nullptr);
  const VisualModel visual = entry.visual({});
  Worlds worlds(entry, device);
  const int n = worlds.batch().num_frames();
  ASSERT_EQ(n, visual.num_frames());
  for (const VisualShape& s : visual.shapes) {
    ASSERT_LT(s.frame, n);
    ASSERT_LT(s.mesh, static_cast<int>(visual.meshes.size()));
  }
  worlds.step(5);
  const std::vector<std::byte> before = worlds.state();
  const std::vector<Frame> all = worlds.frames(0, kWorlds), some = worlds.frames(20, 7);
  EXPECT_EQ(worlds.state(), before);
  EXPECT_EQ(std::memcmp(some.data(), all.data() + 20 * n, some.size() * sizeof(Frame)), 0);
  bool differ = false;
  for (std::int64_t w = 0; w < kWorlds; ++w) {
    for (int k = 0; k < n; ++k) {
      const Frame& f = all[w * n + k];
      const float *q = f.quat, norm = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
      ASSERT_NEAR(norm, 1, 1e-5) << "world " << w << " frame " << k;
      ASSERT_TRUE(std::isfinite(f.pos[0] + f.pos[1] + f.pos[2]));
      if (k == 0) {
        ASSERT_TRUE(f.pos[0] == 0 && f.pos[1] == 0 && f.pos[2] == 0 && q[0] == 1);
      }
      differ = differ || std::memcmp(&f, &all[k], sizeof f) != 0;
    }
  }
  EXPECT_TRUE(differ) << "all worlds look alike";
}

TEST(Frames, EveryEnvironmentHasAPicture) {
  for (const EnvEntry& entry : environments()) check_frames(entry, Device{});
}

TEST(Frames, EveryEnvironmentHasAPictureGpu) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  for (const EnvEntry& entry : environments()) check_frames(entry, parse_device("cuda"));
}

// point(obs): where the point `local` of frame `frame` should be, x and z.
template <class Point>
void check_point(const std::string& name, int frame, const Float3& local, Point point) {
  Worlds worlds(find_environment(name), Device{});
  worlds.step(9);
  const std::vector<float> obs = worlds.observation();
  const std::vector<Frame> frames = worlds.frames(0, kWorlds);
  const int dim = static_cast<int>(obs.size() / kWorlds), n = worlds.batch().num_frames();
  for (std::int64_t w = 0; w < kWorlds; ++w) {
    const Float3 at = in_world(frames[w * n + frame], local);
    const auto [x, z] = point(&obs[w * dim]);
    ASSERT_NEAR(at[0], x, 2e-6) << name << " world " << w;
    ASSERT_NEAR(at[2], z, 2e-6) << name << " world " << w;
  }
}

TEST(Frames, ClassicPartsAreWhereGymnasiumDrawsThem) {
  using Point = std::pair<double, double>;
  const auto hill = [](double x) { return 0.45 * std::sin(3 * x) + 0.55; };
  check_point("CartPole-v1", 1, {0, 0, 0}, [](const float* o) { return Point(o[0], 0); });
  check_point("CartPole-v1", 2, {0, 0, 1},
              [](const float* o) { return Point(o[0] + std::sin(o[2]), 0.06 + std::cos(o[2])); });
  check_point("Pendulum-v1", 1, {0, 0, 1}, [](const float* o) { return Point(-o[1], o[0]); });
  check_point("Acrobot-v1", 1, {0, 0, -1}, [](const float* o) { return Point(o[1], -o[0]); });
  check_point("Acrobot-v1", 2, {0, 0, -1}, [](const float* o) {  // sums of the angles by their sines and cosines
    return Point(o[1] + o[1] * o[2] + o[0] * o[3], -o[0] - o[0] * o[2] + o[1] * o[3]);
  });
  for (const char* name : {"MountainCar-v0", "MountainCarContinuous-v0"}) {
    check_point(name, 1, {0, 0, 0}, [&](const float* o) { return Point(o[0], hill(o[0])); });
    check_point(name, 1, {1, 0, 0}, [&](const float* o) {  // along the tangent
      const double slope = 1.35 * std::cos(3 * o[0]), flat = 1 / std::sqrt(1 + slope * slope);
      return Point(o[0] + flat, hill(o[0]) + slope * flat);
    });
  }
}

}  // namespace
}  // namespace hotloop
