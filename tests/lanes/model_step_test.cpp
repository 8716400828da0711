// The physics step as kernels run it, on emulated lanes: the same bits in whatever order the lanes run, and what one
// thread computes.
#include "tests/lanes/cuda_on_cpu.h"
// the emulation before all else
#include <gtest/gtest.h>

#include <random>

#include "sim/mujoco/load.h"
#include "sim/mujoco/model_step.h"
#include "tests/mujoco/feature_models.h"

namespace hotloop {
namespace {

constexpr int kWorlds = 3;  // one more than two: a group of a warp, and a warp of a block, stays empty

// What a step reads and writes of all worlds.
struct States {
  std::vector<float> qpos, qvel, qacc_warmstart, qacc, ctrl;
  std::vector<int> counters;

  std::string bits() const {
    std::string all(reinterpret_cast<const char*>(counters.data()), counters.size() * sizeof(int));
    for (const std::vector<float>* part : {&qpos, &qvel, &qacc_warmstart, &qacc})
      all.append(reinterpret_cast<const char*>(part->data()), part->size() * sizeof(float));
    return all;
  }
};

class Rig {
 public:
  Rig(const ModelData& data, double speed) : data_(data), memory_(data_, Device{}), layout_(make_layout(data_, 0)) {
    const std::vector<double>& start = data_.key_qpos.empty() ? data_.qpos0 : data_.key_qpos[0];
    const auto dofs = static_cast<std::size_t>(data_.nv);
    for (int w = 0; w < kWorlds; ++w) {
      for (const double q : start) states_.qpos.push_back(static_cast<float>(q));
      for (std::size_t i = 0; i < dofs; ++i) states_.qvel.push_back(uniform(-speed, speed));
    }
    states_.qacc_warmstart.resize(kWorlds * dofs);
    states_.qacc.resize(kWorlds * dofs);
    states_.ctrl.resize(static_cast<std::size_t>(kWorlds * data_.nu));
    states_.counters.resize(kWorlds * kModelCounters);
  }

  const ModelData& data() const { return data_; }
  const States& states() const { return states_; }

  void random_controls() {
    for (std::size_t i = 0; i < states_.ctrl.size(); ++i) {
      const std::size_t u = i % static_cast<std::size_t>(data_.nu);
      const bool limited = data_.actuator_ctrllimited[u] != 0;
      states_.ctrl[i] =
          uniform(limited ? data_.actuator_ctrlrange[2 * u] : -1, limited ? data_.actuator_ctrlrange[2 * u + 1] : 1);
    }
  }

  // The next states, by one thread.
  void step() {
    with_bound([&](auto bound) {
      constexpr int N = bound();
      const ModelStepArgs a = args(states_);
      for (int w = 0; w < kWorlds; ++w) {
        std::vector<Quad<float>> memory(static_cast<std::size_t>(layout_.reals) / 4 + 1);
        a.run<N>(SerialGroup<lanes_for(N)>{}, w, memory.data(), a.model, a.layout);
      }
    });
  }
  // The same by lanes, in blocks of so many warps; the rig's own states stay.
  States step_on_lanes(LaneOrder order, int warps) {
    States next = states_;
    with_bound([&](auto bound) {
      constexpr int N = bound();
      const ModelStepArgs a = args(next);
      run_lanes<lanes_for(N)>(
          order, kWorlds, warps, world_bytes<float>(layout_),
          [&](const auto& g, long long world, void* shared) { a.run<N>(g, world, shared, a.model, a.layout); });
    });
    return next;
  }

 private:
  template <class F>
  void with_bound(F f) const {
    if (data_.bound == 16) return f(std::integral_constant<int, 16>{});
    if (data_.bound == 32) return f(std::integral_constant<int, 32>{});
    f(std::integral_constant<int, kMaxDofs>{});
  }
  ModelStepArgs args(States& s) const {
    std::fill(s.counters.begin(), s.counters.end(), 0);
    return {
        memory_.view(),    layout_, s.qpos.data(), s.qvel.data(), s.qacc_warmstart.data(), s.qacc.data(), s.ctrl.data(),
        s.counters.data(), 1};
  }
  float uniform(double low, double high) {
    return static_cast<float>(std::uniform_real_distribution<double>(low, high)(random_));
  }

  const ModelData& data_;
  ModelMemory<float> memory_;
  WorldLayout layout_;
  States states_;
  std::mt19937 random_{5};
};

// Differences of the worlds, scaled by the largest number of each world (at least 1).
void add_differences(const std::vector<float>& a, const std::vector<float>& b, std::vector<double>& all) {
  const std::size_t row = a.size() / kWorlds;
  for (std::size_t w = 0; w < kWorlds; ++w) {
    double scale = 1, most = 0;
    for (std::size_t i = w * row; i < (w + 1) * row; ++i) {
      scale = std::max(scale, std::fabs(static_cast<double>(a[i])));
      const double d = std::fabs(static_cast<double>(a[i]) - b[i]);
      most = d <= most ? most : d;  // NaN counts
    }
    all.push_back(most / scale);
  }
}

// What the steps of one or more models showed.
struct Findings {
  std::vector<double> qpos, qvel;
  int by_matrix = 0, by_rows = 0;  // evaluations by the two forms of PGS

  void add(const ModelData& model, int steps, double speed = 0.1) {
    SCOPED_TRACE(model.path);
    Rig rig(model, speed);
    for (int step = 0; step < steps; ++step) {
      if (step % 5 == 0) rig.random_controls();
      const bool looks = step % 3 == 0;
      States lanes[3];
      for (int k = 0; k < 3 && looks; ++k) lanes[k] = rig.step_on_lanes(kLaneOrders[k], k == 1 ? 2 : 1);
      rig.step();
      if (!looks) continue;
      ASSERT_EQ(lanes[0].bits(), lanes[1].bits()) << "lanes from the last on, step " << step;
      ASSERT_EQ(lanes[0].bits(), lanes[2].bits()) << "lanes in random order, step " << step;
      compare(rig, lanes[0]);
    }
  }

  void compare(const Rig& rig, const States& lanes) {
    add_differences(rig.states().qpos, lanes.qpos, qpos);
    add_differences(rig.states().qvel, lanes.qvel, qvel);
    for (int w = 0; w < kWorlds; ++w) {
      const int* c = &lanes.counters[static_cast<std::size_t>(w * kModelCounters)];
      EXPECT_EQ(c[3], rig.states().counters[static_cast<std::size_t>(w * kModelCounters + 3)]);
      EXPECT_EQ(c[4], 0) << "status";
      if (rig.data().pgs) ++(c[1] > c[3] * rig.data().max_edges ? by_rows : by_matrix);
    }
  }

  // The tolerances for a card beside the CPU (model_batch_test.cpp): sums are in another order. most: of a velocity.
  void expect_agreement(double most = 2e-2) {
    ASSERT_FALSE(qpos.empty());
    std::sort(qpos.begin(), qpos.end());
    std::sort(qvel.begin(), qvel.end());
    EXPECT_LT(qpos[qpos.size() * 99 / 100], 3e-6);
    EXPECT_LT(qvel[qvel.size() * 99 / 100], 2e-4);
    EXPECT_LT(qvel.back(), most);
  }
};

void expect_group(const std::vector<FeatureModel>& models, int steps, double most = 2e-2) {
  Findings all;
  for (const FeatureModel& model : models)
    all.add(load_model_string(model.xml, model.name)->data(), steps, model.speed);
  all.expect_agreement(most);
}

TEST(LaneModelStep, Joints) { expect_group(joint_models(), 21); }
TEST(LaneModelStep, Forces) { expect_group(force_models(), 21); }
// Boxes whose edges touch now and then: which contact comes first is a matter of rounding.
TEST(LaneModelStep, Contacts) { expect_group(contact_models(), 30, 0.2); }

// PGS in both of its forms: with the matrix, and with room for hardly any edge in it.
TEST(LaneModelStep, Solvers) {
  Findings all;
  for (const FeatureModel& model : solver_models()) {
    const auto loaded = load_model_string(model.xml, model.name);
    ModelData data = loaded->data();
    all.add(data, 15, model.speed);
    if (!data.pgs) continue;
    data.max_edges = std::min(data.max_edges, 2);
    all.add(data, 15, model.speed);
  }
  all.expect_agreement();
  EXPECT_GT(all.by_matrix, 50);
  EXPECT_GT(all.by_rows, 50);
}
TEST(LaneModelStep, ManyDofs) { expect_group({humanoid_model(3)}, 4); }

TEST(LaneModelStep, GymnasiumModels) {
  for (const char* name : {"ant", "half_cheetah", "hopper", "humanoid", "humanoid_standup", "inverted_double_pendulum",
                           "inverted_pendulum", "pusher", "reacher", "swimmer", "walker2d"}) {
    SCOPED_TRACE(name);
    const auto model = load_model(std::string(HOTLOOP_SOURCE_DIR "/assets/mjcf/") + name + ".xml");
    Findings one;
    one.add(model->data(), 60);
    one.expect_agreement();
  }
}

}  // namespace
}  // namespace hotloop
