// Worlds stepped in packs get the bits that each gets alone: models of every feature, every world with fields of its
// own.
#include "sim/mujoco/cpu_step.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "sim/mujoco/load.h"
#include "sim/mujoco/pgs_space.h"
#include "tests/mujoco/feature_models.h"
#include "tests/mujoco/random_mjcf.h"
#include "tests/mujoco/stepper.h"

namespace hotloop {
namespace {

constexpr int kSteps = 3;

// A model whose every field has a row a world.
class ManyWorlds {
 public:
  explicit ManyWorlds(const ModelData& data) : memory_(data, Device{}), model_(memory_.view()) {
#define HOTLOOP_SPREAD(name, rows, columns) spread(data.name, model_.name);
    HOTLOOP_MODEL_FIELDS(HOTLOOP_SPREAD)
#undef HOTLOOP_SPREAD
  }
  const Model<float>& model() const { return model_; }

 private:
  void spread(const std::vector<double>& values, Field<float>& field) {
    std::vector<float>& rows = rows_.emplace_back();
    std::uniform_real_distribution<double> factor(0.9, 1.1);
    for (int k = 0; k < kPackWorlds; ++k)
      for (const double x : values) rows.push_back(static_cast<float>(x * factor(random_)));
    field = {rows.data(), static_cast<int>(values.size())};
  }
  ModelMemory<float> memory_;
  Model<float> model_;
  std::mt19937 random_{5};
  std::vector<std::vector<float>> rows_;
};

void set_random_state(const Model<float>& m, const FeatureModel& from, unsigned seed, const World<float>& w) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  const auto fill = [&](float* values, int n, double scale) {
    for (int i = 0; i < n; ++i) values[i] = static_cast<float>(scale) * normal(random);
  };
  fill(w.qpos(), m.nq, 0.1 + from.displacement);
  for (int i = 0; i < m.nq; ++i) w.qpos()[i] += m.qpos0[i];
  fill(w.qvel(), m.nv, from.speed);
  fill(w.qacc_warmstart(), m.nv, 1);
  fill(w.ctrl(), m.nu, 1);
  w.counts()[kStatus] = 0;
}

// Name and place of every array that outlives a step, except what the integrator keeps for itself.
struct KeptArray {
  const char* name;
  int at, length;
};
std::vector<KeptArray> kept_arrays(ModelSizes s, const WorldLayout& layout, const int* counts) {
  s.max_contacts = counts[kContacts];  // what lies beyond is not of this step
  s.max_blocks = counts[kBlocks];
  std::vector<KeptArray> arrays = {{"qpos", layout.qpos, s.nq},
                                   {"qvel", layout.qvel, s.nv},
                                   {"qacc_warmstart", layout.qacc_warmstart, s.nv},
                                   {"counts", layout.counts, 8}};
#define HOTLOOP_KEPT(name, elements, from, to, bits) \
  if ((bits) != 0) arrays.push_back({#name, layout.name, elements});
  HOTLOOP_WORLD_REALS(HOTLOOP_KEPT)
#undef HOTLOOP_KEPT
  return arrays;
}

template <int N>
void check(const FeatureModel& from, const ModelData& data) {
  const ManyWorlds worlds(data);
  const Model<float>& m = worlds.model();
  const WorldLayout layout = make_layout(data, kKeepAll);
  const PackStepper packs(m, layout, kKeepAll, 0);
  std::vector<Pack<float>> memory(packs.bytes() / sizeof(Pack<float>) + 1);
  for (int k = 0; k < kPackWorlds; ++k)
    set_random_state(m, from, 100U + k, {static_cast<float*>(packs.world_memory(memory.data(), k)), layout, k});
  packs.step<N>(memory.data(), 0, kSteps, true);
  for (int k = 0; k < kPackWorlds; ++k) {
    std::vector<Pack<float>> alone(layout.reals / kPackWorlds + 1);
    const World<float> w{reinterpret_cast<float*>(alone.data()), layout, k};
    set_random_state(m, from, 100U + k, w);
    const int stages = m.rk4 ? 4 : 1;
    for (int e = 0; e < kSteps * stages; ++e) {
      forward<N>(CpuGroup{}, m, w, e == kSteps * stages - 1);
      integrate<N>(CpuGroup{}, m, w, e % stages);
    }
    const auto* together = static_cast<const float*>(packs.world_memory(memory.data(), k));
    for (const KeptArray& a : kept_arrays(data, layout, w.counts()))
      EXPECT_EQ(0, std::memcmp(together + a.at, w.reals + a.at, a.length * sizeof(float)))
          << a.name << " of world " << k;
  }
}

void check_all(const std::vector<FeatureModel>& models) {
  for (const FeatureModel& model : models) {
    SCOPED_TRACE(model.name);
    const auto loaded = load_model_string(model.xml, model.name);
    const ModelData& data = loaded->data();
    if (data.bound == 16)
      check<16>(model, data);
    else if (data.bound == 32)
      check<32>(model, data);
    else
      check<kMaxDofs>(model, data);
  }
}

TEST(CpuStep, PacksOfJoints) { check_all(joint_models()); }
TEST(CpuStep, PacksOfForces) { check_all(force_models()); }
TEST(CpuStep, PacksOfContacts) { check_all(contact_models()); }
TEST(CpuStep, PacksOfSolvers) { check_all(solver_models()); }
TEST(CpuStep, PacksOfPersons) { check_all({humanoid_model(1), humanoid_model(3)}); }
TEST(CpuStep, PacksOfRandomModels) {
  std::vector<FeatureModel> models;
  for (unsigned seed = 0; seed < 60; ++seed) models.push_back({"random " + std::to_string(seed), random_mjcf(seed)});
  check_all(models);
}

}  // namespace
}  // namespace hotloop
