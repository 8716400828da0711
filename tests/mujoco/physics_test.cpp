// Laws of mechanics that hold whatever MuJoCo says. Its library only measures energy and momentum of our states.
#include <gtest/gtest.h>
#include <mujoco/mujoco.h>

#include <cmath>
#include <cstring>
#include <random>

#include "sim/core/thread_pool.h"
#include "sim/mujoco/model_batch.h"
#include "tests/mujoco/feature_models.h"
#include "tests/mujoco/stepper.h"

namespace hotloop {
namespace {

constexpr double kPi = 3.14159265358979323846;

// One world of a model, from qpos0 at rest.
template <class Real>
class Sim {
 public:
  explicit Sim(const std::string& xml)
      : model_(load_model_string(xml, "test")), stepper_(model_->data()), data_(mj_makeData(model_->mujoco())) {
    const mjModel* m = model_->mujoco();
    const std::vector<double> zero(static_cast<std::size_t>(m->nv + m->nu) + 1, 0.0);
    stepper_.set_state(m->qpos0, zero.data(), zero.data(), zero.data());
  }
  ~Sim() { mj_deleteData(data_); }
  Sim(const Sim&) = delete;
  Sim& operator=(const Sim&) = delete;

  Real* qpos() { return stepper_.world().qpos(); }
  Real* qvel() { return stepper_.world().qvel(); }
  World<Real> world() { return stepper_.world(); }
  const mjModel* model() const { return model_->mujoco(); }
  void step(int n = 1) {
    for (int i = 0; i < n; ++i) stepper_.step();
  }
  void random_velocities(double size) {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> uniform(-size, size);
    for (int i = 0; i < model()->nv; ++i) qvel()[i] = static_cast<Real>(uniform(random));
  }
  double energy() {
    measure();
    return data_->energy[0] + data_->energy[1];
  }
  // Of everything: linear, then angular about the centre of mass.
  std::array<double, 6> momentum() {
    measure();
    std::array<double, 6> p{};
    for (int k = 0; k < 3; ++k) {
      p[k] = data_->subtree_linvel[k] * model()->body_subtreemass[0];
      p[3 + k] = data_->subtree_angmom[k];
    }
    return p;
  }

 private:
  void measure() {
    const mjModel* m = model();
    for (int i = 0; i < m->nq; ++i) data_->qpos[i] = static_cast<double>(qpos()[i]);
    for (int i = 0; i < m->nv; ++i) data_->qvel[i] = static_cast<double>(qvel()[i]);
    mj_forward(m, data_);
    mj_energyPos(m, data_);
    mj_energyVel(m, data_);
    mj_subtreeVel(m, data_);
  }
  std::shared_ptr<const LoadedModel> model_;
  Stepper<Real> stepper_;
  mjData* data_;
};

const std::string kFree = "<body pos='0 0 2'><freejoint/><geom type='box' size='.1 .2 .3'/></body>";

TEST(Mechanics, FreeFall) {
  const double dt = 0.002, g = 9.81, v0 = 1.5;
  for (const bool rk4 : {false, true}) {
    Sim<double> sim(mjcf(rk4 ? "<option timestep='.002' integrator='RK4'/>" : "<option timestep='.002'/>", kFree));
    sim.qvel()[2] = v0;
    sim.step(500);
    const double t = 500 * dt;
    // the semi-implicit step falls by its last velocity, half a step late
    EXPECT_NEAR(sim.qpos()[2], 2 + v0 * t - 0.5 * g * t * (rk4 ? t : t + dt), 1e-10);
    EXPECT_NEAR(sim.qvel()[2], v0 - g * t, 1e-10);
  }
  Sim<float> sim(mjcf("<option timestep='.002' integrator='RK4'/>", kFree));
  sim.step(500);
  EXPECT_NEAR(sim.qpos()[2], 2 - 0.5 * g, 1e-4);
}

TEST(Mechanics, EnergyIsKeptWithoutDamping) {
  const std::string option = "<option timestep='.001' integrator='RK4'/>";
  for (const std::string& world :
       {chain(3, "<joint axis='0 1 0' stiffness='4'/>"), chain(2, "<joint type='ball' stiffness='1' armature='.01'/>"),
        "<body pos='0 0 1'><freejoint/><geom type='box' size='.1 .2 .3' contype='0' conaffinity='0'/>" +
            chain(2, "<joint axis='1 1 0'/>") + "</body>"}) {
    Sim<double> exact(mjcf(option, world));
    Sim<float> single(mjcf(option, world));
    exact.random_velocities(2);
    single.random_velocities(2);
    const double before = exact.energy(), before_single = single.energy();
    exact.step(1000);
    single.step(1000);
    EXPECT_NEAR(exact.energy(), before, 1e-6 * std::max(1.0, std::fabs(before)));
    EXPECT_NEAR(single.energy(), before_single, 2e-4 * std::max(1.0, std::fabs(before)));
  }
}

TEST(Mechanics, MomentumIsKeptWithoutOutsideForces) {
  // springs, friction and limits within; nothing outside
  const std::string joint =
      "<joint axis='0 1 1' stiffness='3' damping='.1' frictionloss='.02' limited='true' range='-20 20'/>";
  Sim<double> sim(mjcf("<option timestep='.001' integrator='RK4' gravity='0 0 0'/>",
                       "<body pos='0 0 1'><freejoint/><geom type='box' size='.1 .2 .3' contype='0' conaffinity='0'/>" +
                           chain(3, joint) + "</body>"));
  sim.random_velocities(1);
  const auto before = sim.momentum();
  sim.step(1000);
  const auto after = sim.momentum();
  for (int k = 0; k < 6; ++k) EXPECT_NEAR(after[k], before[k], 1e-5) << k;
}

TEST(Mechanics, PendulumPeriod) {
  const double length = 0.7, radius = 0.05, dt = 0.001;
  Sim<double> sim(mjcf("<option timestep='.001' integrator='RK4'/>",
                       "<body pos='0 0 2'><joint axis='0 1 0'/><geom type='sphere' size='.05' pos='0 0 -.7'/></body>"));
  sim.qpos()[0] = 0.01;
  double crossed = 0, first = 0, last = sim.qpos()[0];
  int crossings = 0;
  for (int i = 1; crossings < 21; ++i) {
    sim.step();
    const double now = sim.qpos()[0];
    if ((now < 0) != (last < 0)) {
      crossed = dt * (i - now / (now - last));
      if (crossings++ == 0) first = crossed;
    }
    last = now;
  }
  const double period = 2 * kPi * std::sqrt((length * length + 0.4 * radius * radius) / (9.81 * length));
  EXPECT_NEAR((crossed - first) / 10, period, 2e-5 * period);
}

TEST(Mechanics, TopPrecesses) {
  // A disc on a level axis turns about the vertical at m g L / (I spin), steadily.
  Sim<double> sim(
      mjcf("<option timestep='.0005' integrator='RK4'/>",
           "<body pos='0 0 1'><joint type='ball'/><inertial pos='.3 0 0' mass='1' diaginertia='.02 .01 .01'/>"
           "</body>"));
  const double spin = 80, rate = 1 * 9.81 * 0.3 / (0.02 * spin);
  sim.qvel()[0] = spin;
  sim.qvel()[2] = rate;
  sim.step(1000);
  const double* q = sim.qpos();
  const double x = 1 - 2 * (q[2] * q[2] + q[3] * q[3]), y = 2 * (q[1] * q[2] + q[0] * q[3]),
               z = 2 * (q[1] * q[3] - q[0] * q[2]);
  const double turned = rate * 0.5;
  EXPECT_NEAR(x, std::cos(turned), 1e-5);
  EXPECT_NEAR(y, std::sin(turned), 1e-5);
  EXPECT_NEAR(z, 0, 1e-5);
}

TEST(Mechanics, ThingsAtRestStayAtRest) {
  for (const char* shape :
       {"type='box' size='.1 .2 .15'", "type='sphere' size='.15'", "type='cylinder' size='.1 .15'"}) {
    SCOPED_TRACE(shape);
    Sim<float> sim(mjcf("", "<geom type='plane' size='5 5 1'/><body pos='0 0 .15'><freejoint/><geom " +
                                std::string(shape) + "/></body>"));
    sim.step(1500);
    const float z = sim.qpos()[2], weight = 9.81f * static_cast<float>(sim.model()->body_mass[1]);
    sim.step(1500);
    EXPECT_NEAR(sim.qpos()[2], z, 1e-6);
    EXPECT_GT(z, 0.15 - 2e-3);
    for (int k = 0; k < 2; ++k) EXPECT_NEAR(sim.qpos()[k], 0, 1e-5);
    for (int k = 0; k < 6; ++k) EXPECT_NEAR(sim.qvel()[k], 0, 1e-5);
    EXPECT_NEAR(sim.world().qfrc_constraint()[2], weight, 1e-3 * weight);
  }
}

// Speed along x after a second on a slope of this tangent; friction .5.
double slide(double tangent) {
  const double angle = std::atan(tangent);
  char option[160];
  std::snprintf(option, sizeof option, "<option impratio='20' gravity='%.9f 0 %.9f'/>", 9.81 * std::sin(angle),
                -9.81 * std::cos(angle));
  Sim<float> sim(mjcf(option,
                      "<geom type='plane' size='50 50 1' friction='.5'/><body pos='0 0 .05'><freejoint/>"
                      "<geom type='box' size='.2 .2 .05' friction='.5'/></body>"));
  sim.step(500);
  return sim.qvel()[0];
}

TEST(Mechanics, SlidingBeginsAtTheFrictionAngle) {
  for (const double tangent : {0.1, 0.3, 0.45, 0.49}) EXPECT_LT(slide(tangent), 0.02) << tangent;
  for (const double tangent : {0.55, 0.7, 1.0}) {
    const double angle = std::atan(tangent);
    EXPECT_NEAR(slide(tangent), 9.81 * (std::sin(angle) - 0.5 * std::cos(angle)), 0.08) << tangent;
  }
}

// 64 worlds of the humanoid, controls by a world's `key`; states after 60 steps.
std::vector<float> rollout(const std::shared_ptr<const LoadedModel>& model, const std::vector<int>& keys,
                           ThreadPool* pool) {
  const Exec exec{Device{}, nullptr, pool};
  ModelBatch batch(model, static_cast<std::int64_t>(keys.size()), Device{});
  batch.reset(exec);
  const std::size_t nq = model->data().nq, nv = model->data().nv, nu = model->data().nu;
  for (int block = 0; block < 6; ++block) {
    for (std::size_t w = 0; w < keys.size(); ++w) {
      std::mt19937 random(static_cast<unsigned>(100 * keys[w] + block));
      for (std::size_t u = 0; u < nu; ++u)
        batch.ctrl()[w * nu + u] = static_cast<float>(random()) / static_cast<float>(random.max()) * 2 - 1;
    }
    batch.step(exec, 10);
  }
  std::vector<float> state(batch.qpos(), batch.qpos() + keys.size() * nq);
  state.insert(state.end(), batch.qvel(), batch.qvel() + keys.size() * nv);
  return state;
}

TEST(Determinism, SameBitsWhateverTheOrderAndTheBatch) {
  const auto model = load_model_string(humanoid_model(1).xml, "humanoid");
  const std::size_t nq = model->data().nq;
  std::vector<int> keys(12), reversed(12);
  for (int i = 0; i < 12; ++i) keys[i] = reversed[11 - i] = i;
  const std::vector<float> once = rollout(model, keys, nullptr);
  EXPECT_EQ(std::memcmp(once.data(), rollout(model, keys, nullptr).data(), once.size() * sizeof(float)), 0);
  ThreadPool pool(3);
  EXPECT_EQ(std::memcmp(once.data(), rollout(model, keys, &pool).data(), once.size() * sizeof(float)), 0);
  const std::vector<float> back = rollout(model, reversed, nullptr);
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_EQ(std::memcmp(&once[i * nq], &back[(11 - i) * nq], nq * sizeof(float)), 0) << i;
  for (const int key : {0, 7}) {
    const std::vector<float> alone = rollout(model, {key}, nullptr);
    EXPECT_EQ(std::memcmp(&once[static_cast<std::size_t>(key) * nq], alone.data(), nq * sizeof(float)), 0) << key;
  }
  EXPECT_NE(std::memcmp(&once[0], &once[nq], nq * sizeof(float)), 0);
}

}  // namespace
}  // namespace hotloop
