// Fields that differ from world to world, against MuJoCo's library: each world beside an mjModel with its numbers,
// whose derived constants mj_setConst computes.
#include "sim/mujoco/world_fields.h"

#include <gtest/gtest.h>
#include <mujoco/mujoco.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "sim/core/rng.h"
#include "sim/mujoco/load.h"
#include "sim/mujoco/model_batch.h"
#include "sim/mujoco/set_const.h"
#include "sim/mujoco/specialize.h"
#include "tests/error_text.h"
#include "tests/mujoco/feature_models.h"
#include "tests/mujoco/stepper.h"

namespace hotloop {
namespace {

constexpr int kWorlds = 3;

// Every field has something to act on: joints of all types, springs, tendons, position actuators, contacts whose
// friction comes from either geom, from the larger, and from a pair; a body that only slides.
std::string rich_model() {
  return mjcf(
      "<option timestep='.002'/>",
      "<geom name='floor' type='plane' size='5 5 1' friction='.6'/>"
      "<body name='torso' pos='0 0 .139'><freejoint/><geom name='box' type='box' size='.2 .15 .138' friction='.3'/>"
      "<body pos='.2 .1 0'><joint name='a' axis='0 1 0' stiffness='4' damping='.3' frictionloss='.05' armature='.02'/>"
      "<geom name='leg' type='capsule' fromto='0 0 0 .3 0 -.1' size='.04' friction='.9' priority='1'/>"
      "<body pos='.3 0 -.1'><joint name='b' axis='0 1 .4' stiffness='1' damping='.1' limited='true' range='-40 40'/>"
      "<geom name='foot' type='sphere' size='.06' pos='.1 0 .02'/></body></body>"
      "<body pos='-.2 0 0'><joint type='ball' stiffness='2' damping='.1' armature='.01'/>"
      "<geom name='tail' type='capsule' fromto='0 0 0 -.3 .05 0' size='.03' contype='0' conaffinity='0'/></body></body>"
      "<body pos='2 0 .3'><joint name='c' type='slide' axis='0 0 1' damping='.2' armature='.1'/>"
      "<geom name='puck' type='sphere' size='.1'/></body>"
      "<body pos='0 2 .09'><freejoint/><geom name='low' type='sphere' size='.1' priority='-1'/></body>"
      "<body pos='-2 0 .09'><freejoint/><geom name='ball' type='sphere' size='.1'/></body>",
      "<contact><pair geom1='ball' geom2='floor' condim='3' friction='.4 .4 .1 .1 .1'/></contact>"
      "<tendon><fixed stiffness='20' damping='1' frictionloss='.1'><joint joint='a' coef='.5'/>"
      "<joint joint='b' coef='-1'/></fixed></tendon>"
      "<actuator><position joint='a' kp='10' kv='.5'/><motor joint='b' gear='3'/><motor joint='c'/></actuator>");
}

struct Deleter {
  void operator()(mjModel* m) const { mj_deleteModel(m); }
  void operator()(mjData* d) const { mj_deleteData(d); }
};
using Reference = std::unique_ptr<mjModel, Deleter>;
using ReferenceData = std::unique_ptr<mjData, Deleter>;

// A field's numbers in an mjModel: element e, column c at e * stride + c.
struct Place {
  mjtNum* data;
  int stride;
};
Place place(mjModel* m, const std::string& name) {
  if (name == "gravity") return {m->opt.gravity, 3};
  if (name == "body_mass") return {m->body_mass, 1};
  if (name == "body_inertia") return {m->body_inertia, 3};
  if (name == "body_ipos") return {m->body_ipos, 3};
  if (name == "geom_friction") return {m->geom_friction, 3};
  if (name == "jnt_stiffness") return {m->jnt_stiffness, 1};
  if (name == "dof_armature") return {m->dof_armature, 1};
  if (name == "dof_damping") return {m->dof_damping, 1};
  if (name == "dof_frictionloss") return {m->dof_frictionloss, 1};
  if (name == "tendon_stiffness") return {m->tendon_stiffness, 1};
  if (name == "tendon_damping") return {m->tendon_damping, 1};
  if (name == "tendon_frictionloss") return {m->tendon_frictionloss, 1};
  if (name == "actuator_gainprm") return {m->actuator_gainprm, mjNGAIN};
  if (name == "actuator_biasprm") return {m->actuator_biasprm, mjNBIAS};
  throw std::invalid_argument(name);
}

// Largest difference over the largest number, or over 1.
template <class Ours>
double difference(const Ours* ours, const mjtNum* theirs, mjtSize n) {
  double most = 0, scale = 1;
  for (mjtSize i = 0; i < n; ++i) {
    const double d = std::fabs(static_cast<double>(ours[i]) - theirs[i]);
    most = d <= most ? most : d;  // NaN counts
    scale = std::max(scale, std::fabs(theirs[i]));
  }
  return most / scale;
}

// Worlds of one model on the CPU in both precisions, and MuJoCo's model of each.
class Rig {
 public:
  Rig(std::shared_ptr<const LoadedModel> loaded, const std::vector<std::string>& names, unsigned seed)
      : model_(std::move(loaded)),
        batch_(model_, kWorlds, Device{}, false, names),
        exact_(model_->data()),
        random_(seed) {
    for (int w = 0; w < kWorlds; ++w) {
      references_.emplace_back(mj_copyModel(nullptr, model_->mujoco()));
      mjOption& opt = references_.back()->opt;
      opt.tolerance = opt.ls_tolerance = 0;
      data_.emplace_back(mj_makeData(references_.back().get()));
    }
    for (const std::string& name : names) draw(name);
    for (int w = 0; w < kWorlds; ++w) mj_setConst(references_[w].get(), data_[w].get());
    batch_.fields().set_const({});
    exact_.model().tolerance = 0;
    take_rows();
  }

  // Derived constants in both precisions.
  void expect_same_constants() {
    for (int w = 0; w < kWorlds; ++w) {
      SCOPED_TRACE("world " + std::to_string(w));
      const mjModel* m = references_[w].get();
      const auto same = [&](const auto& v, double tolerance) {
        EXPECT_LT(difference(v.body_subtreemass.of(w), m->body_subtreemass, m->nbody), tolerance);
        EXPECT_LT(difference(v.body_invweight0.of(w), m->body_invweight0, 2 * m->nbody), tolerance);
        EXPECT_LT(difference(v.dof_invweight0.of(w), m->dof_invweight0, m->nv), tolerance);
        EXPECT_LT(difference(v.tendon_invweight0.of(w), m->tendon_invweight0, m->ntendon), tolerance);
      };
      same(exact_.model(), 1e-9);
      same(batch_.fields().view(), 3e-5);
    }
  }

  // One step at a time from MuJoCo's states. Both solvers end some 1e-8 from the solution.
  void expect_same_steps(int steps) {
    const mjModel* m = references_[0].get();
    for (int step = 0; step < steps; ++step) {
      begin_step(step);
      batch_.step({}, 1);
      for (int w = 0; w < kWorlds; ++w) {
        SCOPED_TRACE("step " + std::to_string(step) + " world " + std::to_string(w));
        mjData* d = data_[w].get();
        exact_.set_index(w);
        exact_.set_state(d->qpos, d->qvel, d->qacc_warmstart, d->ctrl);
        exact_.step();
        mj_step(references_[w].get(), d);
        const World<double> exact = exact_.world();
        EXPECT_LT(difference(exact.qfrc_smooth(), d->qfrc_smooth, m->nv), 1e-9);
        EXPECT_LT(difference(exact.qpos(), d->qpos, m->nq), 1e-9);
        EXPECT_LT(difference(exact.qvel(), d->qvel, m->nv), 1e-7);
        EXPECT_LT(difference(batch_.qvel() + w * m->nv, d->qvel, m->nv), 2e-4);
        contacts_ += d->ncon;
      }
    }
    // they began alike
    for (int w = 1; w < kWorlds; ++w)
      EXPECT_GT(difference(data_[w]->qvel, data_[0]->qvel, m->nv), 1e-6) << "world " << w;
  }
  int contacts() const { return contacts_; }

 private:
  // World w: every number scaled by a draw of its own.
  void draw(const std::string& name) {
    const FieldInfo& info = find_field(name);
    const std::vector<double>& model = field_values(model_->data(), name);
    std::uniform_real_distribution<double> factor(0.5, 2), shift(-0.05, 0.05);
    std::vector<float> rows;
    for (int w = 0; w < kWorlds; ++w) {
      const Place to = place(references_[w].get(), name);
      for (std::size_t e = 0; e < model.size() / info.columns; ++e) {
        const bool simple = name == "body_ipos" && model_->mujoco()->body_simple[e] != 0;  // MuJoCo refuses these
        const double scale = factor(random_);
        for (int c = 0; c < info.columns; ++c) {
          const double value = model[e * info.columns + c];
          rows.push_back(static_cast<float>(!info.adds ? value * scale : simple ? value : value + shift(random_)));
          to.data[e * to.stride + c] = rows.back();
        }
      }
    }
    batch_.fields().set_rows({}, name, rows.data(), Device{}, kWorlds);
  }

  // The rows of the float worlds, in double; derived constants from our own set_const.
  void take_rows() {
    const ModelData& d = model_->data();
    Model<double>& to = exact_.model();
    const Model<float>& from = batch_.fields().view();
    const auto take = [&](Field<double>& field, const Field<float>& worlds, std::size_t size) {
      if (worlds.stride == 0) return;
      rows_.emplace_back(worlds.data, worlds.data + size * kWorlds);
      field = {rows_.back().data(), static_cast<int>(size)};
    };
#define HOTLOOP_TAKE(name, rows, columns) take(to.name, from.name, d.name.size());
    HOTLOOP_MODEL_FIELDS(HOTLOOP_TAKE)
#undef HOTLOOP_TAKE
    if (to.body_invweight0.stride == 0) return;
    const WorldLayout layout = set_const_layout(d);
    std::vector<double> memory(static_cast<std::size_t>(layout.reals) + 4);
    for (int w = 0; w < kWorlds; ++w) {
      const auto row = [&](const Field<double>& field) { return const_cast<double*>(field.of(w)); };
      const DerivedRows<double> out{row(to.body_subtreemass), row(to.body_invweight0), row(to.dof_invweight0),
                                    row(to.tendon_invweight0)};
      set_const<kMaxDofs>(SerialGroup<32>{}, to, World<double>{memory.data(), layout, w}, out);
    }
  }

  // Rounded to single precision; at first all worlds alike.
  void begin_step(int step) {
    const mjModel* m = references_[0].get();
    std::uniform_real_distribution<double> uniform(-1, 1);
    if (step == 0) {
      std::vector<double> velocity(static_cast<std::size_t>(m->nv));
      for (double& v : velocity) v = uniform(random_);
      for (const ReferenceData& d : data_) {
        mj_resetData(m, d.get());
        std::copy(velocity.begin(), velocity.end(), d->qvel);
      }
    }
    for (mjtSize u = 0; u < m->nu; ++u) {
      const float control = static_cast<float>(uniform(random_));
      for (const ReferenceData& d : data_) d->ctrl[u] = control;
    }
    for (int w = 0; w < kWorlds; ++w) {
      mjData* d = data_[w].get();
      const auto round = [&](mjtNum* from, float* to, mjtSize n) {
        for (mjtSize i = 0; i < n; ++i) from[i] = to[w * n + i] = static_cast<float>(from[i]);
      };
      round(d->qpos, batch_.qpos(), m->nq);
      round(d->qvel, batch_.qvel(), m->nv);
      round(d->qacc_warmstart, batch_.qacc_warmstart(), m->nv);
      round(d->ctrl, batch_.ctrl(), m->nu);
    }
  }

  std::shared_ptr<const LoadedModel> model_;
  ModelBatch batch_;
  Stepper<double> exact_;
  std::mt19937 random_;
  std::vector<Reference> references_;
  std::vector<ReferenceData> data_;
  std::vector<std::vector<double>> rows_;
  int contacts_ = 0;
};

std::vector<std::string> all_fields() {
  std::vector<std::string> names;
  for (const FieldInfo& info : field_infos()) names.emplace_back(info.name);
  return names;
}

TEST(WorldFields, EachFieldIsMujocos) {
  const auto model = load_model_string(rich_model(), "rich.xml");
  for (const std::string& name : all_fields()) {
    SCOPED_TRACE(name);
    Rig rig(model, {name}, 1);
    rig.expect_same_constants();
    rig.expect_same_steps(40);
    EXPECT_GT(rig.contacts(), 50);
  }
}

TEST(WorldFields, AllFieldsTogetherAreMujocos) {
  Rig rig(load_model_string(rich_model(), "rich.xml"), all_fields(), 2);
  rig.expect_same_constants();
  rig.expect_same_steps(40);
}

std::string asset(const std::string& name) { return std::string(HOTLOOP_SOURCE_DIR) + "/assets/mjcf/" + name; }

TEST(WorldFields, DerivedConstantsOfTheTasksAreMujocos) {
  for (const char* name : {"ant.xml", "humanoid.xml", "pusher.xml", "swimmer.xml", "inverted_double_pendulum.xml"}) {
    SCOPED_TRACE(name);
    Rig(load_model(asset(name)), {"body_mass", "body_inertia", "dof_armature"}, 3).expect_same_constants();
  }
  Rig(load_model_string(humanoid_model(4).xml, "four"), {"body_mass", "body_ipos"}, 4).expect_same_constants();
}

TEST(WorldFields, SharedFieldsTakeNoMemoryAndStayConstants) {
  const auto model = load_model(asset("ant.xml"));
  const ModelData& d = model->data();
  const ModelMemory<float> memory(d, Device{});
  const WorldLayout layout = make_layout(d, 0);
  const WorldFields none(d, memory.view(), 1000, Device{}, {});
  EXPECT_EQ(none.world_bytes(), 0u);
  EXPECT_EQ(none.view().body_mass.data, memory.view().body_mass.data);
  EXPECT_EQ(none.view().body_mass.stride, 0);
  const std::string shared = special_source(d, layout, none.view());
  EXPECT_EQ(shared.find("worlds."), std::string::npos);

  const WorldFields damping(d, memory.view(), 1000, Device{}, {"dof_damping"});
  EXPECT_EQ(damping.world_bytes(), sizeof(float) * d.nv);
  const std::string own = special_source(d, layout, damping.view());
  EXPECT_NE(own.find("Field<float> dof_damping{nullptr, 14};"), std::string::npos);
  EXPECT_NE(own.find("    dof_damping.data = worlds.dof_damping.data;\n  }\n"), std::string::npos);
  EXPECT_NE(own.find("Field<float> body_mass{k_body_mass, 0};"), std::string::npos);
  EXPECT_EQ(own.find("k_dof_damping[]"), std::string::npos) << "an array that nothing reads";

  const WorldFields mass(d, memory.view(), 1000, Device{}, {"body_mass"});
  EXPECT_EQ(mass.world_bytes(), sizeof(float) * (4 * d.nbody + d.nv)) << "its own, and what derives from it";
}

TEST(WorldFields, SelectedWorldsChange) {
  const auto model = load_model(asset("ant.xml"));
  ModelBatch batch(model, 4, Device{}, true, {"dof_damping"});
  const Field<float>& field = batch.fields().view().dof_damping;
  std::vector<float> rows(2 * 14, 0.0f);
  for (int i = 6; i < 14; ++i) rows[i] = 3, rows[14 + i] = 4;
  const std::int64_t worlds[] = {3, 1};
  batch.fields().set_rows({}, "dof_damping", rows.data(), Device{}, 2, worlds);
  for (const auto& [world, value] : {std::pair(0, 1.0f), {1, 4.0f}, {2, 1.0f}, {3, 3.0f}})
    EXPECT_EQ(field.of(world)[7], value) << world;
}

TEST(WorldFields, RefusalsNameFieldWorldAndWhatIsAccepted) {
  const auto model = load_model(asset("ant.xml"));
  EXPECT_EQ(error_text([&] { ModelBatch(model, 2, Device{}, true, {"body_mas"}); }),
            "body_mas: no field that worlds may differ in (did you mean 'body_mass'?)");
  ModelBatch batch(model, 2, Device{}, true, {"dof_damping", "body_mass"});
  const auto refusal = [&](const std::string& name, std::size_t element, float value, std::int64_t world) {
    const std::vector<double>& values = field_values(model->data(), name);
    std::vector<float> row(values.begin(), values.end());
    row[element] = value;
    return error_text([&] { batch.fields().set_rows({}, name, row.data(), Device{}, 1, &world); });
  };
  EXPECT_EQ(refusal("gravity", 0, 0, 0), "gravity: is shared by all worlds of this batch");
  EXPECT_EQ(refusal("body_mass", 1, 1, 2), "body_mass: world 2 is not one of 2");
  EXPECT_EQ(refusal("body_mass", 1, -1, 1),
            "body_mass of element 1 in world 1 is -1.000000; accepted: finite numbers, not negative");
  EXPECT_EQ(refusal("body_mass", 1, NAN, 1),
            "body_mass of element 1 in world 1 is nan; accepted: finite numbers, not negative");
  EXPECT_EQ(refusal("dof_damping", 0, 1, 0),
            "dof_damping of element 0 in world 0 is 1.000000; accepted: 0, as in the model");
}

std::vector<float> fetch(const Field<float>& field, Device device) {
  std::vector<float> host(static_cast<std::size_t>(field.stride) * kWorlds);
  const Exec exec{device};
  copy_async(exec, host.data(), Device{}, field.data, device, host.size() * sizeof(float));
  synchronize(exec);
  return host;
}

FieldDraw draws(const FieldInfo& info, std::uint64_t seed = 5) {
  return {info.adds ? -0.01 : 0.8, info.adds ? 0.01 : 1.25, seed, static_cast<std::uint32_t>(RngStream::model)};
}

TEST(WorldFields, DrawsAreOfTheSeedTheWorldAndTheElement) {
  const auto model = load_model_string(rich_model(), "rich.xml");
  const auto drawn = [&](std::int64_t worlds, std::uint64_t seed, const std::vector<std::string>& names) {
    auto batch = std::make_unique<ModelBatch>(model, worlds, Device{}, true, names);
    for (const std::string& name : names) batch->fields().draw_rows({}, name, draws(find_field(name), seed));
    return batch;
  };
  const auto few = drawn(kWorlds, 5, {"body_mass"}), many = drawn(200, 5, {"body_inertia", "body_mass"}),
             other = drawn(200, 6, {"body_mass"});
  const Field<float>&mass = many->fields().view().body_mass, &inertia = many->fields().view().body_inertia;
  EXPECT_EQ(fetch(few->fields().view().body_mass, Device{}), fetch(mass, Device{}));
  const ModelData& d = model->data();
  double least = 2, most = 0, sum = 0;
  for (int w = 0; w < 200; ++w)
    for (int b = 1; b < d.nbody; ++b) {
      const double factor = mass.of(w)[b] / d.body_mass[b];
      least = std::min(least, factor), most = std::max(most, factor), sum += factor;
      for (int c = 0; c < 3; ++c)
        EXPECT_NEAR(inertia.of(w)[3 * b + c] / d.body_inertia[3 * b + c], factor, 1e-6) << "another density";
      EXPECT_NE(mass.of(w)[b], other->fields().view().body_mass.of(w)[b]);
      const double before = b > 1 ? mass.of(w)[b - 1] / d.body_mass[b - 1] : 0;
      EXPECT_GT(std::fabs(factor - before), 1e-7) << "bodies have draws of their own";
      EXPECT_NE(mass.of(w)[b], w > 0 ? mass.of(w - 1)[b] : 0.0f);
    }
  EXPECT_GE(least, 0.8 - 1e-6);
  EXPECT_LT(least, 0.81);
  EXPECT_LE(most, 1.25 + 1e-6);
  EXPECT_GT(most, 1.24);
  EXPECT_NEAR(sum / (200 * (d.nbody - 1)), 1.025, 0.02);
}

// Draws, mixed frictions and derived constants of the card are the CPU's; so is a step of worlds that differ.
void compare_with_cpu(bool specialised) {
  const Device card = parse_device("cuda");
  for (const bool rich : {true, false}) {
    SCOPED_TRACE(rich ? "rich" : "ant");
    const auto model = rich ? load_model_string(rich_model(), "rich.xml") : load_model(asset("ant.xml"));
    std::vector<std::string> names = rich ? all_fields() : std::vector<std::string>{"body_mass", "geom_friction"};
    ModelBatch cpu(model, kWorlds, Device{}, specialised, names), gpu(model, kWorlds, card, specialised, names);
    for (ModelBatch* batch : {&cpu, &gpu}) {
      const Exec exec{batch == &gpu ? card : Device{}};
      for (const std::string& name : names) batch->fields().draw_rows(exec, name, draws(find_field(name)));
      batch->fields().set_const(exec);
      batch->reset(exec);
      batch->random_controls(exec, 1);
      batch->step(exec, 1);
    }
    const auto near = [](const std::vector<float>& a, const std::vector<float>& b, double tolerance) {
      ASSERT_EQ(a.size(), b.size());
      float scale = 1e-3f;
      for (const float x : a) scale = std::max(scale, std::fabs(x));
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance * scale) << i;
    };
    const Model<float>&a = cpu.fields().view(), &b = gpu.fields().view();
#define HOTLOOP_NEAR(name, rows, columns) near(fetch(a.name, Device{}), fetch(b.name, card), 1e-5);
    HOTLOOP_MODEL_FIELDS(HOTLOOP_NEAR)
#undef HOTLOOP_NEAR
    const int nv = model->data().nv;
    near(fetch({cpu.qvel(), nv}, Device{}), fetch({gpu.qvel(), nv}, card), 2e-4);
  }
}

TEST(WorldFields, GpuGenericKernelAgreesWithTheCpu) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  compare_with_cpu(false);
}

TEST(WorldFields, GpuSpecialisedKernelAgreesWithTheCpu) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  compare_with_cpu(true);
}

// Rows that already lie on the card: no check, no wait.
TEST(WorldFields, GpuTakesRowsOfTheCard) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  const Device card = parse_device("cuda");
  const Exec exec{card};
  ModelBatch batch(load_model(asset("ant.xml")), kWorlds, card, true, {"dof_damping"});
  std::vector<float> rows(14, 2.0f), expected = fetch(batch.fields().view().dof_damping, card);
  std::copy(rows.begin(), rows.end(), expected.begin() + 14);
  const std::int64_t world = 1;
  const Buffer<float> values(card, rows.size());
  const Buffer<std::int64_t> worlds(card, 1);
  copy_async(exec, values.data(), card, rows.data(), Device{}, values.bytes());
  copy_async(exec, worlds.data(), card, &world, Device{}, worlds.bytes());
  batch.fields().set_rows(exec, "dof_damping", values.data(), card, 1, worlds.data());
  EXPECT_EQ(fetch(batch.fields().view().dof_damping, card), expected);
}

}  // namespace
}  // namespace hotloop
