// The tasks on models against single steps of Gymnasium's environments (tests/golden/gymnasium_mujoco, made by
// make_gymnasium_golden.py, which says what is in the files).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "data/safetensors.h"
#include "sim/core/registry.h"
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

namespace hotloop {
namespace {

Safetensors golden(const char* task) {
  return Safetensors::read(std::string(HOTLOOP_SOURCE_DIR "/tests/golden/gymnasium_mujoco/") + task + ".safetensors",
                           {.require_checksum = false});
}

// The options of a variant, as a user would write them.
EnvOptions variant_options(const Safetensors& file, std::size_t variant) {
  EnvOptions options;
  const auto all = nlohmann::json::parse(file.metadata_value("variants"));
  for (const auto& [key, value] : all.at(variant).items())
    options.push_back({key, value.is_string() ? value.get<std::string>() : value.dump()});
  return options;
}

std::size_t num_variants(const Safetensors& file) {
  return nlohmann::json::parse(file.metadata_value("variants")).size();
}

// A table of rows.
struct Column {
  std::vector<double> values;
  std::size_t width = 0;
  const double* row(std::size_t r) const { return &values[r * width]; }
};

Column column(const Safetensors& file, const std::string& name) {
  const NamedTensor& t = file.get(name);
  Column c;
  if (t.dtype == DType::f64) c.values = file.values<double>(name);
  if (t.dtype == DType::f32)
    for (const float x : file.values<float>(name)) c.values.push_back(x);
  if (t.dtype == DType::boolean)
    for (const std::byte x : t.bytes) c.values.push_back(static_cast<double>(x));
  c.width = c.values.size() / static_cast<std::size_t>(t.shape[0]);
  return c;
}

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
        reals_(static_cast<std::size_t>(layout_.reals) + 2),
        ints_(static_cast<std::size_t>(layout_.ints)),
        options_(read_options<T>(options, &loaded_->data())),
        w_{aligned(), ints_.data(), layout_, 0},
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
    for (int i = 0; i < T::kNv; ++i) w_.qacc_warmstart()[i] = w_.qacc()[i];
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
    std::size_t space = (reals_.size()) * sizeof(Real);
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
  std::vector<int> ints_;
  typename T::Options options_;
  World<Real> w_;
  std::vector<double> observation_;
  SerialGroup<lanes_for(kBound)> g_;
  typename T::Memory carried_ = {};
  TaskResult<Real> result_ = {};
  Real terms_[T::kTerms] = {};
};

// Largest difference of n numbers.
template <class A>
double distance(const A* a, const double* b, std::size_t n) {
  double most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double d = std::abs(static_cast<double>(a[i]) - b[i]);
    most = d <= most ? most : d;  // NaN counts
  }
  return most;
}
double scale(const double* b, std::size_t n) {
  double most = 1;
  for (std::size_t i = 0; i < n; ++i) most = std::max(most, std::abs(b[i]));
  return most;
}

// Does the step reward what lies between two evaluations of forces, rather than two states?
template <class T>
constexpr bool kIsStale = std::is_same_v<T, Ant<typename T::Real>> || std::is_same_v<T, Humanoid<typename T::Real>>;

// floor(row): what rounding of the inputs alone changes, by quantity; relative: the tolerance of everything else.
template <class T>
void check_steps(const Safetensors& file, const std::string& prefix, const EnvOptions& options, double relative) {
  TaskWorld<T> world(options);
  const auto col = [&](const std::string& name) { return column(file, prefix + name); };
  const Column qpos = col("qpos"), qvel = col("qvel"), warm = col("qacc_warmstart"), action = col("action"),
               observation = col("observation"), reward = col("reward"), terminated = col("terminated"),
               next_qpos = col("next_qpos"), next_qvel = col("next_qvel");
  const bool is_float = std::is_same_v<typename T::Real, float>;
  std::map<std::string, Column> floors;
  for (const char* name : {"qpos", "qvel", "observation", "reward"})
    if (is_float && prefix.empty()) floors[name] = column(file, std::string("sensitivity/") + name);
  ASSERT_EQ(observation.width, world.observation().size());
  for (std::size_t r = 0; r < reward.values.size(); ++r) {
    SCOPED_TRACE(std::string(T::kName) + " " + prefix + "row " + std::to_string(r));
    const auto floor = [&](const char* name) { return floors.empty() ? 0.0 : 4 * floors[name].values[r]; };
    world.set(qpos.row(r), qvel.row(r), warm.row(r));
    world.carry(static_cast<typename T::Real>(kIsStale<T> ? col("stale_xy").row(r)[0] : qpos.row(r)[0]));
    world.step(action.row(r));
    const auto near = [&](const char* what, auto* ours, const double* theirs, std::size_t n, double extra) {
      EXPECT_LE(distance(ours, theirs, n), relative * scale(theirs, n) + extra) << what;
    };
    near("qpos", world.world().qpos(), next_qpos.row(r), next_qpos.width, floor("qpos"));
    near("qvel", world.world().qvel(), next_qvel.row(r), next_qvel.width, floor("qvel"));
    near("observation", world.observation().data(), observation.row(r), observation.width, floor("observation"));
    near("reward", &world.result().reward, reward.row(r), 1, floor("reward"));
    for (int k = 0; k < T::kTerms; ++k)
      near(T::kTermNames[k], world.terms() + k, col(std::string("info/") + T::kTermNames[k]).row(r), 1,
           floor("reward"));
    EXPECT_EQ(world.result().terminated ? 1.0 : 0.0, terminated.row(r)[0]);
    if (kIsStale<T>) EXPECT_NEAR(world.carried(), col("next_stale_xy").row(r)[0], relative + floor("qpos"));
  }
}

template <class T>
void check_resets(const Safetensors& file, double relative) {
  TaskWorld<T> world({});
  const Column qpos = column(file, "reset/qpos"), qvel = column(file, "reset/qvel"),
               warm = column(file, "reset/qacc_warmstart"), observation = column(file, "reset/observation");
  for (std::size_t r = 0; r < qpos.values.size() / qpos.width; ++r) {
    SCOPED_TRACE(std::string(T::kName) + " reset " + std::to_string(r));
    world.set(qpos.row(r), qvel.row(r), nullptr);
    world.begin();
    EXPECT_LE(distance(world.observation().data(), observation.row(r), observation.width),
              relative * scale(observation.row(r), observation.width));
    EXPECT_LE(distance(world.world().qacc_warmstart(), warm.row(r), warm.width),
              10 * relative * scale(warm.row(r), warm.width));
  }
}

template <class Pair>
class TaskTest : public testing::Test {};

template <template <class> class Task>
struct Both {
  using Float = Task<float>;
  using Double = Task<double>;
};
using Tasks =
    testing::Types<Both<InvertedPendulum>, Both<InvertedDoublePendulum>, Both<Reacher>, Both<Pusher>, Both<Swimmer>,
                   Both<HalfCheetah>, Both<Hopper>, Both<Walker2d>, Both<Ant>, Both<Humanoid>, Both<HumanoidStandup>>;
struct TaskNames {
  template <class Pair>
  static std::string GetName(int) {
    const std::string name = Pair::Float::kName;
    return name.substr(0, name.find('-'));
  }
};
TYPED_TEST_SUITE(TaskTest, Tasks, TaskNames);

TYPED_TEST(TaskTest, StepsAreGymnasiums) {
  const Safetensors file = golden(TypeParam::Double::kName);
  check_steps<typename TypeParam::Double>(file, "", {}, 1e-7);
  check_steps<typename TypeParam::Float>(file, "", {}, 1e-4);
}

TYPED_TEST(TaskTest, StepsWithOtherOptionsAreGymnasiums) {
  const Safetensors file = golden(TypeParam::Double::kName);
  for (std::size_t k = 0; k < num_variants(file); ++k) {
    const std::string prefix = "variant" + std::to_string(k) + "/";
    check_steps<typename TypeParam::Double>(file, prefix, variant_options(file, k), 1e-7);
  }
}

TYPED_TEST(TaskTest, ResetsAreGymnasiums) {
  const Safetensors file = golden(TypeParam::Double::kName);
  check_resets<typename TypeParam::Double>(file, 1e-7);
  check_resets<typename TypeParam::Float>(file, 1e-3);
}

TYPED_TEST(TaskTest, SpacesAndLimitsAreGymnasiums) {
  using T = typename TypeParam::Double;
  const Safetensors file = golden(T::kName);
  const EnvSpec& spec = find_environment(T::kName).spec;
  EXPECT_EQ(spec.action.low, file.values<float>("action_low"));
  EXPECT_EQ(spec.action.high, file.values<float>("action_high"));
  EXPECT_EQ(spec.obs_dim(), file.get("observation").shape[1]);
  EXPECT_EQ(std::to_string(spec.max_episode_steps), file.metadata_value("max_episode_steps"));
  EXPECT_EQ(std::to_string(typename T::Options().frame_skip), file.metadata_value("frame_skip"));
}

}  // namespace
}  // namespace hotloop
