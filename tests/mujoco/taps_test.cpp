// What viewers give worlds and take from them, against MuJoCo's library: forces from outside, contacts with their
// forces, frames.
#include <gtest/gtest.h>
#include <mujoco/mujoco.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "sim/core/registry.h"
#include "sim/mujoco/model_batch.h"
#include "sim/mujoco/visual.h"
#include "tests/mujoco/feature_models.h"
#include "tests/mujoco/stepper.h"

namespace hotloop {
namespace {

constexpr std::int64_t kWorlds = 11;  // on the CPU: more than a pack

struct DataDeleter {
  void operator()(mjData* d) const { mj_deleteData(d); }
};

std::shared_ptr<const LoadedModel> asset(const std::string& name) {
  return load_model(std::string(HOTLOOP_SOURCE_DIR) + "/assets/mjcf/" + name + ".xml");
}

template <class T>
std::vector<T> fetch(const T* from, Device device, std::int64_t count) {
  std::vector<T> host(static_cast<std::size_t>(count));
  copy_async({device}, host.data(), {}, from, device, host.size() * sizeof(T));
  synchronize({device});
  return host;
}

template <class T>
void send(T* to, Device device, const std::vector<T>& from) {
  copy_async({device}, to, device, from.data(), {}, from.size() * sizeof(T));
  synchronize({device});
}

// Now and then a push somewhere, as strong as what the model's weight exerts.
std::vector<float> random_forces(const ModelData& m, std::mt19937& random, std::int64_t worlds) {
  std::vector<float> forces(static_cast<std::size_t>(worlds * m.nbody * 6));
  const float weight = 10 * static_cast<float>(m.body_subtreemass[0]);
  std::uniform_real_distribution<float> force(-weight, weight);
  for (std::size_t i = 0; i < forces.size(); i += 6)
    if (random() % 4 == 0)
      for (std::size_t k = 0; k < 6; ++k) forces[i + k] = (k < 3 ? 1.0f : 0.1f) * force(random);
  return forces;
}

// A world of a batch beside MuJoCo's.
class Beside {
 public:
  explicit Beside(const LoadedModel& model) : model_(model), data_(mj_makeData(model.mujoco())) {}
  mjData* data() { return data_.get(); }
  const mjModel* mujoco() const { return model_.mujoco(); }

  // The state and inputs of a world of the batch.
  void take(const ModelBatch& batch, std::int64_t w) {
    const mjModel* m = mujoco();
    const auto copy = [&](mjtNum* to, const float* from, mjtSize n) {
      const std::vector<float> row = fetch(from + w * n, batch.device(), n);
      std::copy(row.begin(), row.end(), to);
    };
    copy(data_->qpos, batch.qpos(), m->nq);
    copy(data_->qvel, batch.qvel(), m->nv);
    copy(data_->qacc_warmstart, batch.qacc_warmstart(), m->nv);
    copy(data_->ctrl, batch.ctrl(), m->nu);
    if (batch.xfrc_applied() != nullptr) copy(data_->xfrc_applied, batch.xfrc_applied(), 6 * m->nbody);
  }

 private:
  const LoadedModel& model_;
  std::unique_ptr<mjData, DataDeleter> data_;
};

double scaled_difference(const float* ours, const mjtNum* theirs, mjtSize n) {
  double most = 0, scale = 1;
  for (mjtSize i = 0; i < n; ++i) {
    most = std::max(most, std::fabs(ours[i] - theirs[i]));
    scale = std::max(scale, std::fabs(theirs[i]));
  }
  return most / scale;
}

// ---- forces from outside -------------------------------------------------------------------------------------------

// In double, one step at a time: the same accelerations but for the solver's last digits.
void check_forces_exactly(const std::shared_ptr<const LoadedModel>& model) {
  SCOPED_TRACE(model->data().path);
  const ModelData& d = model->data();
  Beside reference(*model);
  mjData* data = reference.data();
  std::unique_ptr<mjModel, LoadedModel::Deleter> m(mj_copyModel(nullptr, model->mujoco()));
  m->opt.tolerance = d.pgs ? 0 : 1e-16;
  if (!d.pgs) m->opt.iterations = m->opt.ls_iterations = 100;
  Stepper<double> ours(d);
  ours.model().tolerance = 0;
  ours.model().iterations = m->opt.iterations;
  ours.model().ls_iterations = m->opt.ls_iterations;
  std::mt19937 random(5);
  std::vector<double> forces(static_cast<std::size_t>(6 * d.nbody)), errors;
  ours.model().xfrc_applied = {forces.data(), 6 * d.nbody};
  for (int step = 0; step < 60; ++step) {
    if (step % 5 == 0) {
      const std::vector<float> drawn = random_forces(d, random, 1);
      std::copy(drawn.begin(), drawn.end(), forces.begin());
      std::copy(drawn.begin(), drawn.end(), data->xfrc_applied);
      for (int u = 0; u < d.nu; ++u) data->ctrl[u] = std::uniform_real_distribution<double>(-1, 1)(random);
    }
    ours.set_state(data->qpos, data->qvel, data->qacc_warmstart, data->ctrl);
    ours.step();
    mj_step(m.get(), data);
    double most = 0, scale = 1;
    for (int i = 0; i < d.nv; ++i) {
      most = std::max(most, std::fabs(ours.world().qvel()[i] - data->qvel[i]));
      scale = std::max(scale, std::fabs(data->qvel[i]));
    }
    errors.push_back(most / scale);
    if (scale > 1e3) mj_resetData(m.get(), data);
  }
  std::sort(errors.begin(), errors.end());
  EXPECT_LT(errors[errors.size() * 9 / 10], 1e-8);
  EXPECT_LT(errors.back(), 1e-5);
}

TEST(ExternalForces, StepsAreMuJoCos) {
  for (const char* name :
       {"hopper", "half_cheetah", "ant", "humanoid", "pusher", "swimmer", "inverted_double_pendulum"})
    check_forces_exactly(asset(name));
}

// A batch that takes forces and tells its contacts has the bits of one that does not, as long as there are no forces.
void check_bits(const std::shared_ptr<const LoadedModel>& model, Device device) {
  SCOPED_TRACE(model->data().path);
  const ModelData& m = model->data();
  ModelBatch plain(model, kWorlds, device), open(model, kWorlds, device, true, {kExternalForces}, true);
  EXPECT_EQ(plain.xfrc_applied(), nullptr);
  for (ModelBatch* batch : {&plain, &open}) {
    batch->reset({device});
    for (std::uint64_t step = 0; step < 30; ++step) {
      batch->random_controls({device}, step);
      batch->step({device}, 3);
    }
  }
  EXPECT_EQ(fetch(plain.qvel(), device, kWorlds * m.nv), fetch(open.qvel(), device, kWorlds * m.nv));
  EXPECT_TRUE(plain.contacts({device}, 0).empty());
}

TEST(ExternalForces, ChangeNoBitsWhereThereAreNone) {
  for (const char* name : {"ant", "humanoid"}) check_bits(asset(name), Device{});
}

// ---- forces and contacts of a batch --------------------------------------------------------------------------------

// Every contact of MuJoCo's, in its data, that made constraints, has its record.
void check_contacts(Beside& reference, const std::vector<ContactRecord>& ours, std::vector<double>& errors) {
  const mjModel* m = reference.mujoco();
  const mjData* d = reference.data();
  double most = 1;
  for (const ContactRecord& c : ours)
    for (const float f : c.force) most = std::max(most, std::fabs(static_cast<double>(f)));
  for (int i = 0; i < d->ncon; ++i) {
    const mjContact& contact = d->contact[i];
    if (contact.efc_address < 0) continue;
    const ContactRecord* near = nullptr;
    double distance = 1e-3;
    for (const ContactRecord& c : ours) {
      if (c.geom1 != contact.geom[0] || c.geom2 != contact.geom[1]) continue;
      double apart = 0;
      for (int k = 0; k < 3; ++k) apart = std::max(apart, std::fabs(c.pos[k] - contact.pos[k]));
      if (apart < distance) near = &c, distance = apart;
    }
    ASSERT_NE(near, nullptr) << "geoms " << contact.geom[0] << " and " << contact.geom[1];
    EXPECT_NEAR(near->dist, contact.dist, 1e-5);
    mjtNum in_frame[6], force[3];
    mj_contactForce(m, d, i, in_frame);
    mju_mulMatTVec(force, contact.frame, in_frame, 3, 3);
    for (int k = 0; k < 3; ++k) {
      EXPECT_NEAR(near->normal[k], contact.frame[k], 1e-4);
      errors.push_back(std::fabs(near->force[k] - force[k]) / most);
    }
  }
}

void check_batch(const std::shared_ptr<const LoadedModel>& model, Device device, bool specialised) {
  SCOPED_TRACE(model->data().path + " on " + device.str());
  const ModelData& m = model->data();
  ModelBatch batch(model, kWorlds, device, specialised, {kExternalForces}, true);
  Beside reference(*model);
  const Exec exec{device};
  batch.reset(exec);
  std::mt19937 random(9);
  std::vector<double> speeds, forces;
  for (std::uint64_t step = 0; step < 40; ++step) {
    batch.random_controls(exec, step / 5);
    if (step == 20) send(batch.xfrc_applied(), device, random_forces(m, random, kWorlds));
    const std::int64_t w = static_cast<std::int64_t>(step) % kWorlds;
    reference.take(batch, w);
    batch.step(exec, 1);
    mj_step(reference.mujoco(), reference.data());
    speeds.push_back(
        scaled_difference(fetch(batch.qvel() + w * m.nv, device, m.nv).data(), reference.data()->qvel, m.nv));
    check_contacts(reference, batch.contacts(exec, w), forces);
  }
  std::sort(speeds.begin(), speeds.end());
  std::sort(forces.begin(), forces.end());
  EXPECT_LT(speeds[speeds.size() * 9 / 10], 1e-4);
  if (m.npair == 0) return;
  ASSERT_GT(forces.size(), 10u);
  EXPECT_LT(forces[forces.size() * 9 / 10], 2e-3);
}

const char* const kTouching[] = {"hopper", "walker2d", "ant", "humanoid_standup"};

TEST(ContactTap, ContactsAndForcesAreMuJoCos) {
  for (const char* name : kTouching) check_batch(asset(name), Device{}, false);
}
TEST(ContactTap, GpuContactsAndForcesAreMuJoCos) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  for (const char* name : kTouching) {
    check_batch(asset(name), parse_device("cuda"), true);
    check_batch(asset(name), parse_device("cuda"), false);
    check_bits(asset(name), parse_device("cuda"));
  }
}

// A block at rest: the floor carries its weight.
TEST(ContactTap, TheFloorCarriesTheWeight) {
  const auto model = load_model_string(mjcf("",
                                            "<geom type='plane' size='1 1 1'/><body pos='0 0 .1'><freejoint/>"
                                            "<geom type='box' size='.2 .2 .1' mass='2'/></body>"),
                                       "block.xml");
  ModelBatch batch(model, 1, Device{}, false, {}, true);
  batch.reset({});
  batch.step({}, 500);
  double force = 0;
  for (const ContactRecord& c : batch.contacts({}, 0)) {
    EXPECT_EQ(c.geom2, 1);
    force += c.force[2];
  }
  EXPECT_NEAR(force, 2 * 9.81, 0.02);
}

// ---- tasks ---------------------------------------------------------------------------------------------------------

// Worlds of a task after some steps with pushes: frames where MuJoCo puts the bodies; contacts and forces from outside
// in the observation as in the tap.
void check_task(const EnvEntry& entry, Device device) {
  SCOPED_TRACE(entry.spec.name + " on " + device.str());
  const auto batch =
      entry.make({.num_envs = kWorlds, .seed = 4, .device = device, .external_forces = true, .contact_tap = true});
  const auto model = load_model(std::string(HOTLOOP_SOURCE_DIR) + "/assets/mjcf/" + entry.model);
  const Exec exec{device};
  StepBuffers buffers(entry.spec, kWorlds, device);
  RandomActions actions(entry.spec.action, kWorlds, device, 4);
  batch->reset(exec, buffers.observation.data(), nullptr);
  std::mt19937 random(2);
  ASSERT_NE(batch->xfrc_applied(), nullptr);
  send(batch->xfrc_applied(), device, random_forces(model->data(), random, kWorlds));
  const ModelState state = batch->model_state();
  const mjModel* m = model->mujoco();
  ASSERT_EQ(state.nq, m->nq);
  Beside reference(*model);
  for (std::uint64_t step = 0; step < 12; ++step) {
    actions.fill(exec, step, buffers.action.data());
    batch->step(exec, buffers.io());
  }
  const Buffer<Frame> out(device, static_cast<std::size_t>(kWorlds * m->nbody));
  batch->write_frames(exec, 0, kWorlds, out.data());
  const std::vector<Frame> frames = fetch(out.data(), device, kWorlds * m->nbody);
  mjData* d = reference.data();
  for (std::int64_t w = 0; w < kWorlds; ++w) {
    const std::vector<float> qpos = fetch(state.qpos + w * state.stride, device, m->nq);
    std::copy(qpos.begin(), qpos.end(), d->qpos);
    mj_kinematics(m, d);
    for (int b = 0; b < m->nbody; ++b) {
      const Frame& f = frames[w * m->nbody + b];
      for (int k = 0; k < 3; ++k) ASSERT_NEAR(f.pos[k], d->xpos[3 * b + k], 1e-5) << "world " << w << " body " << b;
      for (int k = 0; k < 4; ++k) ASSERT_NEAR(f.quat[k], d->xquat[4 * b + k], 1e-5) << "world " << w << " body " << b;
    }
  }
}

TEST(TaskFrames, AreWhereMuJoCoPutsTheBodies) {
  for (const EnvEntry& entry : environments())
    if (!entry.model.empty()) check_task(entry, Device{});
}
TEST(TaskFrames, GpuFramesAreWhereMuJoCoPutsTheBodies) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  for (const EnvEntry& entry : environments())
    if (!entry.model.empty()) check_task(entry, parse_device("cuda"));
}

// cfrc_ext, which Ant observes, tells of forces from outside too. One step, in the air.
TEST(TaskFrames, ObservedForcesHoldThoseFromOutside) {
  const EnvEntry& entry = find_environment("Ant-v5");
  const auto batch = entry.make({.num_envs = kWorlds, .device = Device{}, .external_forces = true});
  StepBuffers buffers(entry.spec, kWorlds, Device{});
  batch->reset({}, buffers.observation.data(), nullptr);
  const LoadedModel& model = *batch->model();
  const int nbody = model.data().nbody;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> force(-0.4f, 0.4f);
  std::vector<float> forces(static_cast<std::size_t>(kWorlds * nbody * 6));
  for (float& f : forces) f = force(random);
  send(batch->xfrc_applied(), Device{}, forces);
  const ModelState state = batch->model_state();
  std::vector<std::unique_ptr<Beside>> references;
  for (std::int64_t w = 0; w < kWorlds; ++w) {
    Beside& reference = *references.emplace_back(std::make_unique<Beside>(model));
    mjData* d = reference.data();
    std::copy_n(state.qpos + w * state.stride, state.nq, d->qpos);
    std::copy_n(state.qvel + w * state.stride, state.nv, d->qvel);
    std::copy_n(forces.data() + w * nbody * 6, nbody * 6, d->xfrc_applied);
  }
  batch->step({}, buffers.io());
  for (std::int64_t w = 0; w < kWorlds; ++w) {
    mjData* d = references[static_cast<std::size_t>(w)]->data();
    for (int k = 0; k < 5; ++k) mj_step(model.mujoco(), d);
    mj_rnePostConstraint(model.mujoco(), d);
    const float* seen = buffers.observation.data() + w * 105 + 27;
    for (int i = 0; i < 78; ++i) {
      ASSERT_NE(d->cfrc_ext[6 + i], 0);
      EXPECT_NEAR(seen[i], std::clamp(d->cfrc_ext[6 + i], -1.0, 1.0), 1e-4) << "world " << w << " number " << i;
    }
  }
}

// Without pushes a batch that could take them has the bits of one that could not.
TEST(TaskFrames, OpenWorldsHaveTheSameBits) {
  for (const char* name : {"Ant-v5", "Humanoid-v5", "HalfCheetah-v5"}) {
    const EnvEntry& entry = find_environment(name);
    std::vector<std::vector<std::byte>> states;
    for (const bool open : {false, true}) {
      const auto batch = entry.make(
          {.num_envs = kWorlds, .seed = 4, .device = Device{}, .external_forces = open, .contact_tap = open});
      StepBuffers buffers(entry.spec, kWorlds, Device{});
      RandomActions actions(entry.spec.action, kWorlds, Device{}, 4);
      batch->reset({}, buffers.observation.data(), nullptr);
      for (std::uint64_t step = 0; step < 60; ++step) {
        actions.fill({}, step, buffers.action.data());
        batch->step({}, buffers.io());
      }
      states.push_back(fetch(batch->raw_state(), Device{}, static_cast<std::int64_t>(batch->raw_state_bytes())));
    }
    EXPECT_EQ(states[0], states[1]) << name;
  }
}

}  // namespace
}  // namespace hotloop
