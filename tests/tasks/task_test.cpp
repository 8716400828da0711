// The tasks on models, in double precision, against single steps of Gymnasium's environments: states, observations,
// every term of the reward, terminations, also with other options. batch_golden_test.cpp does it in single precision.
#include <gtest/gtest.h>

#include <memory>

#include "sim/mujoco/step.h"
#include "sim/tasks/ant.h"
#include "sim/tasks/half_cheetah.h"
#include "sim/tasks/hopper.h"
#include "sim/tasks/humanoid.h"
#include "sim/tasks/humanoid_standup.h"
#include "sim/tasks/inverted_double_pendulum.h"
#include "sim/tasks/inverted_pendulum.h"
#include "sim/tasks/pusher.h"
#include "sim/tasks/reacher.h"
#include "sim/tasks/swimmer.h"
#include "sim/tasks/task_host.h"
#include "sim/tasks/walker2d.h"
#include "tests/tasks/golden.h"

namespace hotloop {
namespace {

// Compiled once for all tasks: the stages are inlined wherever they are called.
template <int N, class Real>
__attribute__((noinline)) void evaluate(const Model<Real>& m, const World<Real>& w, bool forces) {
  forward<N>(SerialGroup<lanes_for(N)>{}, m, w, forces);
}
template <int N, class Real>
__attribute__((noinline)) void advance(const Model<Real>& m, const World<Real>& w, int stage) {
  integrate<N>(SerialGroup<lanes_for(N)>{}, m, w, stage);
}

// One world of a task in precision T::Real, without a batch.
template <class T>
class TaskWorld {
 public:
  using Real = typename T::Real;
  static constexpr int kBound = dof_bound(T::kNv);

  explicit TaskWorld(const EnvOptions& options)
      : loaded_(load_task_model(task_sizes<T>())),
        memory_(loaded_->data(), Device{}),
        layout_(make_layout(loaded_->data(), T::kKeep)),
        reals_(static_cast<std::size_t>(layout_.reals) + 4),
        options_(read_options<T>(options, &loaded_->data())),
        w_{aligned(), layout_, 0},
        observation_(static_cast<std::size_t>(T::obs_dim(options_))) {}

  void set(const double* qpos, const double* qvel, const double* warm) {
    for (int i = 0; i < T::kNq; ++i) w_.qpos()[i] = static_cast<Real>(qpos[i]);
    for (int i = 0; i < T::kNv; ++i) w_.qvel()[i] = static_cast<Real>(qvel[i]);
    for (int i = 0; i < T::kNv; ++i) w_.qacc_warmstart()[i] = warm == nullptr ? Real(0) : static_cast<Real>(warm[i]);
    for (int i = 0; i < T::kNu; ++i) w_.ctrl()[i] = 0;
    w_.counts()[kStatus] = 0;
  }
  // What a batch does at the start of an episode.
  void begin() {
    evaluate<kBound>(m(), w_, T::kForces);
    w_.counts()[kContacts] = 0;
    T::begin(g_, m(), w_, options_, carried_);
    observe();
  }
  void carry(Real x) {
    if constexpr (requires { carried_.x; }) carried_.x = x;
  }
  void step(const double* action) {
    for (int i = 0; i < T::kNu; ++i) w_.ctrl()[i] = static_cast<Real>(action[i]);
    for (int k = 0; k < options_.frame_skip * stages_of(m()); ++k) {
      evaluate<kBound>(m(), w_, T::kForces);
      advance<kBound>(m(), w_, k % stages_of(m()));
    }
    result_ = T::result(g_, m(), w_, options_, carried_, terms_);
    observe();
  }
  double carried() const {
    if constexpr (requires { carried_.x; })
      return carried_.x;
    else
      return 0;
  }
  const World<Real>& world() const { return w_; }
  const TaskResult<Real>& result() const { return result_; }
  const Real* terms() const { return terms_; }
  const std::vector<double>& observation() const { return observation_; }

 private:
  const Model<Real>& m() const { return memory_.view(); }
  Real* aligned() {
    void* p = reals_.data();
    std::size_t space = reals_.size() * sizeof(Real);
    return static_cast<Real*>(std::align(16, sizeof(Real), p, space));
  }
  void observe() {
    std::fill(observation_.begin(), observation_.end(), std::nan(""));
    T::observe(g_, m(), w_, options_, [&](int i, Real value) {
      EXPECT_TRUE(std::isnan(observation_[static_cast<std::size_t>(i)])) << "component " << i << " is put twice";
      observation_[static_cast<std::size_t>(i)] = value;
    });
  }

  std::shared_ptr<const LoadedModel> loaded_;
  ModelMemory<Real> memory_;
  WorldLayout layout_;
  std::vector<Real> reals_;
  typename T::Options options_;
  World<Real> w_;
  std::vector<double> observation_;
  SerialGroup<lanes_for(kBound)> g_;
  typename T::Memory carried_ = {};
  TaskResult<Real> result_ = {};
  Real terms_[T::kTerms] = {};
};

// Does the step reward what lies between two evaluations of forces, rather than two states?
template <class T>
constexpr bool kIsStale = std::is_same_v<T, Ant<typename T::Real>> || std::is_same_v<T, Humanoid<typename T::Real>>;

// Newton stops at a tolerance, which contact forces show (Ant observes them); MuJoCo finds the contacts of Pusher's
// capsules with its cylinder by iteration.
template <class T>
constexpr double kRelative = std::is_same_v<T, Pusher<double>> ? 1e-4
                             : std::is_same_v<T, Ant<double>>  ? 3e-6
                                                               : 1e-7;

template <class T>
void check_steps(const Safetensors& file, const std::string& prefix, const EnvOptions& options) {
  TaskWorld<T> world(options);
  const auto col = [&](const std::string& name) { return column(file, prefix + name); };
  const Column qpos = col("qpos"), qvel = col("qvel"), warm = col("qacc_warmstart"), action = col("action"),
               observation = col("observation"), reward = col("reward"), terminated = col("terminated"),
               next_qpos = col("next_qpos"), next_qvel = col("next_qvel");
  ASSERT_EQ(observation.width, world.observation().size());
  for (std::size_t r = 0; r < reward.values.size(); ++r) {
    SCOPED_TRACE(std::string(T::kName) + " " + prefix + "row " + std::to_string(r));
    world.set(qpos.row(r), qvel.row(r), warm.row(r));
    world.carry(kIsStale<T> ? col("stale_xy").row(r)[0] : qpos.row(r)[0]);
    world.step(action.row(r));
    const auto near = [&](const char* what, auto* ours, const double* theirs, std::size_t n) {
      EXPECT_LE(distance(ours, theirs, n), kRelative<T> * scale(theirs, n)) << what;
    };
    near("qpos", world.world().qpos(), next_qpos.row(r), next_qpos.width);
    near("qvel", world.world().qvel(), next_qvel.row(r), next_qvel.width);
    near("observation", world.observation().data(), observation.row(r), observation.width);
    near("reward", &world.result().reward, reward.row(r), 1);
    for (int k = 0; k < T::kTerms; ++k)
      near(T::kTermNames[k], world.terms() + k, col(std::string("info/") + T::kTermNames[k]).row(r), 1);
    EXPECT_EQ(world.result().terminated ? 1.0 : 0.0, terminated.row(r)[0]);
    if constexpr (kIsStale<T>) {
      EXPECT_NEAR(world.carried(), col("next_stale_xy").row(r)[0], kRelative<T>);
    }
  }
}

template <class T>
void check_resets(const Safetensors& file) {
  TaskWorld<T> world({});
  const Column qpos = column(file, "reset/qpos"), qvel = column(file, "reset/qvel"),
               warm = column(file, "reset/qacc_warmstart"), observation = column(file, "reset/observation");
  for (std::size_t r = 0; r < qpos.values.size() / qpos.width; ++r) {
    SCOPED_TRACE(std::string(T::kName) + " reset " + std::to_string(r));
    world.set(qpos.row(r), qvel.row(r), nullptr);
    world.begin();
    EXPECT_LE(distance(world.observation().data(), observation.row(r), observation.width),
              kRelative<T> * scale(observation.row(r), observation.width));
    EXPECT_EQ(distance(world.world().qacc_warmstart(), warm.row(r), warm.width), 0);
  }
}

template <class T>
class TaskTest : public testing::Test {};
using Tasks = testing::Types<InvertedPendulum<double>, InvertedDoublePendulum<double>, Reacher<double>, Pusher<double>,
                             Swimmer<double>, HalfCheetah<double>, Hopper<double>, Walker2d<double>, Ant<double>,
                             Humanoid<double>, HumanoidStandup<double>>;
struct TaskNames {
  template <class T>
  static std::string GetName(int) {
    const std::string name = T::kName;
    return name.substr(0, name.find('-'));
  }
};
TYPED_TEST_SUITE(TaskTest, Tasks, TaskNames);

TYPED_TEST(TaskTest, StepsAreGymnasiums) { check_steps<TypeParam>(golden(TypeParam::kName), "", {}); }

TYPED_TEST(TaskTest, StepsWithOtherOptionsAreGymnasiums) {
  const Safetensors file = golden(TypeParam::kName);
  for (std::size_t k = 0; k < num_variants(file); ++k)
    check_steps<TypeParam>(file, "variant" + std::to_string(k) + "/", variant_options(file, k));
}

TYPED_TEST(TaskTest, ResetsAreGymnasiums) { check_resets<TypeParam>(golden(TypeParam::kName)); }

}  // namespace
}  // namespace hotloop
