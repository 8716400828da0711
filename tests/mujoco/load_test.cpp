// Loaded arrays against the mjModel that they are from.
#include "sim/mujoco/load.h"

#include <gtest/gtest.h>
#include <mujoco/mujoco.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/error_text.h"
#include "tests/mujoco/broken_models.h"
#include "tests/mujoco/feature_models.h"
#include "tests/mujoco/random_model.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

constexpr const char* kBall = R"(<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="ball" pos="0 0 1"><freejoint/><geom name="g" type="sphere" size="0.1"/></body></worldbody></mujoco>)";

template <class Real, class Value>
void expect_same(const char* name, const Real* ours, const Value* theirs, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(ours[i], static_cast<Real>(theirs[i])) << name << " " << i;
}

// Arrays that are copies, row for row, under the same name.
template <class Real>
void expect_copies(const Model<Real>& v, const mjModel* m) {
#define SAME(name, rows, columns) expect_same(#name, v.name, m->name, static_cast<std::size_t>(rows) * (columns))
  SAME(body_parentid, m->nbody, 1);
  SAME(body_rootid, m->nbody, 1);
  SAME(body_weldid, m->nbody, 1);
  SAME(body_jntnum, m->nbody, 1);
  SAME(body_jntadr, m->nbody, 1);
  SAME(jnt_type, m->njnt, 1);
  SAME(jnt_qposadr, m->njnt, 1);
  SAME(jnt_dofadr, m->njnt, 1);
  SAME(jnt_bodyid, m->njnt, 1);
  SAME(jnt_limited, m->njnt, 1);
  SAME(dof_bodyid, m->nv, 1);
  SAME(dof_jntid, m->nv, 1);
  SAME(dof_parentid, m->nv, 1);
  SAME(geom_type, m->ngeom, 1);
  SAME(geom_bodyid, m->ngeom, 1);
  SAME(site_bodyid, m->nsite, 1);
  SAME(tendon_adr, m->ntendon, 1);
  SAME(tendon_num, m->ntendon, 1);
  SAME(tendon_limited, m->ntendon, 1);
  SAME(actuator_ctrllimited, m->nu, 1);
  SAME(actuator_forcelimited, m->nu, 1);
  SAME(qpos0, m->nq, 1);
  SAME(qpos_spring, m->nq, 1);
  SAME(body_pos, m->nbody, 3);
  SAME(body_quat, m->nbody, 4);
  SAME(body_iquat, m->nbody, 4);
  SAME(jnt_pos, m->njnt, 3);
  SAME(jnt_axis, m->njnt, 3);
  SAME(jnt_range, m->njnt, 2);
  SAME(jnt_margin, m->njnt, 1);
  SAME(geom_pos, m->ngeom, 3);
  SAME(geom_quat, m->ngeom, 4);
  SAME(geom_rbound, m->ngeom, 1);
  SAME(site_pos, m->nsite, 3);
  SAME(site_quat, m->nsite, 4);
  SAME(tendon_range, m->ntendon, 2);
  SAME(tendon_margin, m->ntendon, 1);
  SAME(tendon_lengthspring, m->ntendon, 2);
  SAME(actuator_gear, m->nu, 6);
  SAME(actuator_ctrlrange, m->nu, 2);
  SAME(actuator_forcerange, m->nu, 2);
#undef SAME
#define SAME(name, rows, columns) expect_same(#name, v.name.of(7), m->name, static_cast<std::size_t>(rows) * (columns))
  SAME(body_mass, m->nbody, 1);
  SAME(body_inertia, m->nbody, 3);
  SAME(body_ipos, m->nbody, 3);
  SAME(jnt_stiffness, m->njnt, 1);
  SAME(dof_armature, m->nv, 1);
  SAME(dof_damping, m->nv, 1);
  SAME(dof_frictionloss, m->nv, 1);
  SAME(tendon_stiffness, m->ntendon, 1);
  SAME(tendon_damping, m->ntendon, 1);
  SAME(tendon_frictionloss, m->ntendon, 1);
  SAME(body_subtreemass, m->nbody, 1);
  SAME(body_invweight0, m->nbody, 2);
  SAME(dof_invweight0, m->nv, 1);
  SAME(tendon_invweight0, m->ntendon, 1);
#undef SAME
  expect_same("gravity", v.gravity.of(0), m->opt.gravity, 3);
  EXPECT_EQ(v.timestep, static_cast<Real>(m->opt.timestep));
  EXPECT_EQ(v.tolerance, static_cast<Real>(m->opt.tolerance));
  EXPECT_EQ(v.meaninertia, static_cast<Real>(m->stat.meaninertia));
}

// Arrays of our own, from what they are meant for.
void expect_topology(const ModelData& d, const mjModel* m) {
  for (int b = 0; b < d.nbody; ++b) {
    int body = b;
    while (body > 0 && m->body_dofnum[body] == 0) body = m->body_parentid[body];
    EXPECT_EQ(d.body_lastdof[b], body == 0 ? -1 : m->body_dofadr[body] + m->body_dofnum[body] - 1);
    EXPECT_EQ(d.bodies.parent[b], m->body_parentid[b] == 0 ? -1 : m->body_parentid[b]);
  }
  EXPECT_EQ(d.dofs.parent, d.dof_parentid);
  for (int i = 0; i < d.nv; ++i) {
    const int joint = m->dof_jntid[i], first = m->jnt_dofadr[joint], type = m->jnt_type[joint];
    const bool rotates = type == mjJNT_BALL || (type == mjJNT_FREE && i >= first + 3);
    EXPECT_EQ(d.dof_fixed_axis[i], type == mjJNT_FREE && i < first + 3 ? 1 : 0);
    const int before = !rotates ? m->dof_parentid[i] : type == mjJNT_FREE ? first + 2 : m->dof_parentid[first];
    EXPECT_EQ(d.dof_before[i], before);
  }
  EXPECT_EQ(d.row % 4, 0);
  EXPECT_TRUE(d.row >= d.nv && d.row < d.nv + 4);
}

void expect_tree(const TreeData& t) {
  ASSERT_EQ(t.order.size(), static_cast<std::size_t>(t.n));
  EXPECT_EQ(std::set<int>(t.order.begin(), t.order.end()).size(), t.order.size());
  for (int i = 0; i < t.n; ++i) {
    int depth = 0;
    for (int up = t.parent[i]; up >= 0; up = t.parent[up]) ++depth;
    const auto at = std::find(t.order.begin(), t.order.end(), i) - t.order.begin();
    EXPECT_TRUE(t.level[depth] <= at && at < t.level[depth + 1]);
    for (int r = 0; r < t.rounds; ++r) {
      int up = i;
      for (int k = 0; k < 1 << r && up >= 0; ++k) up = t.parent[up];
      EXPECT_EQ(t.jump[r * t.n + i], up);
    }
    EXPECT_LT(depth, 1 << t.rounds);
  }
}

void expect_loaded(const LoadedModel& model) {
  const ModelMemory<double> exact(model.data(), Device{});
  expect_copies(exact.view(), model.mujoco());
  const ModelMemory<float> rounded(model.data(), Device{});
  expect_copies(rounded.view(), model.mujoco());
  expect_topology(model.data(), model.mujoco());
  expect_tree(model.data().bodies);
  expect_tree(model.data().dofs);
  const Model<float>& v = rounded.view();
  EXPECT_EQ(v.bodies.n, v.nbody);
  EXPECT_EQ(v.dofs.levels, model.data().dofs.levels);
  EXPECT_EQ(std::memcmp(v.dofs.jump, model.data().dofs.jump.data(), sizeof(int) * v.dofs.rounds * v.nv), 0);
}

TEST(Load, ArraysAreMujocos) {
  expect_loaded(*load_model_string(good_model(), "good.xml"));
  std::mt19937 rng(3);
  for (int k = 0; k < 30; ++k) {
    const std::string xml = random_model(rng, {});
    expect_loaded(*load_model_string(xml, "random.xml"));
    ASSERT_FALSE(HasFailure()) << xml;
  }
}

TEST(Load, CommittedModels) {
  const std::filesystem::path folder = std::filesystem::path(HOTLOOP_SOURCE_DIR) / "assets" / "mjcf";
  ASSERT_TRUE(std::filesystem::exists(folder)) << folder;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".xml") continue;
    SCOPED_TRACE(file.path().filename().string());
    const auto model = load_model(file.path().string());
    expect_loaded(*model);
    EXPECT_TRUE(model->warnings().empty());
  }
}

TEST(Load, OptionsAndFlags) {
  const auto with = [](const std::string& option) {
    const std::string xml = good_model();
    const std::size_t from = xml.find("<option"), to = xml.find("/>", from) + 2;
    return load_model_string(xml.substr(0, from) + option + xml.substr(to), "flags.xml")->data();
  };
  const ModelData all = with("<option/>");
  EXPECT_TRUE(all.has_contacts && all.has_limits && all.has_friction && all.has_springs && all.has_dampers);
  EXPECT_TRUE(all.has_warmstart && all.has_actuation && all.clamps_ctrl && all.safe_ref && all.implicit_damping);
  EXPECT_FALSE(all.has_fluid || all.rk4 || all.pgs);
  const auto off = [&](const char* flag) {
    return with(std::string("<option><flag ") + flag + "=\"disable\"/></option>");
  };
  const ModelData free = off("constraint");
  EXPECT_FALSE(free.has_contacts || free.has_limits || free.has_friction);
  EXPECT_FALSE(off("contact").has_contacts);
  EXPECT_FALSE(off("limit").has_limits);
  EXPECT_FALSE(off("frictionloss").has_friction);
  EXPECT_FALSE(off("spring").has_springs);
  EXPECT_FALSE(off("damper").has_dampers);
  EXPECT_FALSE(off("damper").implicit_damping);
  EXPECT_FALSE(off("eulerdamp").implicit_damping);
  EXPECT_FALSE(off("warmstart").has_warmstart);
  EXPECT_FALSE(off("actuation").has_actuation);
  EXPECT_FALSE(off("clampctrl").clamps_ctrl);
  EXPECT_FALSE(off("refsafe").safe_ref);
  EXPECT_EQ(off("gravity").gravity, std::vector<double>(3, 0));
  EXPECT_TRUE(with("<option density=\"1\"/>").has_fluid);
  EXPECT_TRUE(with("<option density=\"1\"><flag spring=\"disable\"/></option>").has_fluid);
  EXPECT_FALSE(with("<option density=\"1\"><flag spring=\"disable\" damper=\"disable\"/></option>").has_fluid);
  EXPECT_TRUE(with("<option integrator=\"RK4\" solver=\"PGS\"/>").rk4);
  EXPECT_TRUE(with("<option integrator=\"RK4\" solver=\"PGS\"/>").pgs);
}

TEST(Load, ActuatorsHaveOneFormula) {
  const ModelData d = load_model_string(good_model(), "good.xml")->data();
  EXPECT_EQ(d.actuator_gainprm, (std::vector<double>{1, 0, 0, 5, 0, 0}));
  EXPECT_EQ(d.actuator_biasprm, (std::vector<double>{0, 0, 0, 0, -5, 0}));
  EXPECT_EQ(d.actuator_trnid, (std::vector<int>{1, 2}));
  EXPECT_EQ(d.jnt_actfrcrange[0], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(d.wrap_dofid, (std::vector<int>{6, 7}));
  EXPECT_EQ(d.wrap_qposid, (std::vector<int>{7, 8}));
  EXPECT_EQ(d.wrap_coef, (std::vector<double>{1, -0.5}));
  EXPECT_EQ(d.friction_dofid, std::vector<int>{7});
  EXPECT_EQ(d.key_qpos[0][2], 1);
  EXPECT_EQ(d.geom_names[0], "floor");
}

TEST(Load, Capacities) {
  const ModelData ball = load_model_string(kBall, "ball.xml")->data();
  EXPECT_EQ(ball.max_contacts, 1);
  EXPECT_EQ(ball.max_blocks, 1);
  EXPECT_EQ(ball.max_rows, 3);
  EXPECT_EQ(load_model_string(kBall, "ball.xml", 9)->data().max_contacts, 9);
  // floor with capsule 2, sphere 1, box 4, capsule with sphere 1; sphere with box is parent and child, the other
  // excluded
  const ModelData good = load_model_string(good_model(), "good.xml")->data();
  EXPECT_EQ(good.npair, 3);
  EXPECT_EQ(good.max_contacts, 7);
  EXPECT_EQ(good.max_blocks, 7 + 2 + 1);  // two limits, one friction loss
}

// One tree has room for three quarters of its geoms, trees that can pile up for another of each; but a world never
// grows beyond the shared memory of small cards for piles.
TEST(Load, RoomForPiles) {
  const auto contacts = [](int people) {
    return load_model_string(humanoid_model(people).xml, "people")->data().max_contacts;
  };
  EXPECT_EQ(contacts(1), 19);
  EXPECT_EQ(contacts(2), 71);
  EXPECT_EQ(contacts(3), 47);
  const auto cube = [](int side, const std::string& geom) {
    std::string xml = "<mujoco><worldbody><geom type=\"plane\" size=\"5 5 1\"/>";
    for (int i = 0; i < side * side * side; ++i)
      xml += "<body pos=\"" + std::to_string(.199 * (i % side)) + " " + std::to_string(.199 * (i / side % side)) + " " +
             std::to_string(.0995 + .199 * (i / side / side)) + "\"><freejoint/><geom " + geom + "/></body>";
    return load_model_string(xml + "</worldbody></mujoco>", "cube")->data().max_contacts;
  };
  EXPECT_EQ(cube(2, "size=\".1\""), 24);                      // 16 at a time
  EXPECT_EQ(cube(2, "type=\"box\" size=\".1 .1 .1\""), 100);  // as fits 99 KB
}

TEST(Load, FilesInTheModelsFolder) {
  const TempFolder folder;
  std::filesystem::create_directories(folder / "parts");
  std::ofstream(folder / "parts/ball.xml")
      << "<mujoco><worldbody><body><freejoint/><geom size=\"0.1\"/></body></worldbody></mujoco>";
  std::ofstream(folder / "m.xml") << "<mujoco><include file=\"parts/ball.xml\"/></mujoco>";
  EXPECT_EQ(load_model((folder / "m.xml").string())->data().nv, 6);
  std::ofstream(folder / "n.xml") << "<mujoco><include file=\"" << (folder / "parts/ball.xml").string()
                                  << "\"/></mujoco>";
  EXPECT_EQ(load_model((folder / "n.xml").string())->data().nv, 6);
}

TEST(Load, WarningsOfTheCompilerAreKept) {
  const auto model = load_model_string(
      "<mujoco><worldbody><body><joint/><geom size=\"0.1\" contype=\"0\" conaffinity=\"0\"/></body></worldbody>"
      "<custom><numeric name=\"n\" data=\"nan\"/></custom></mujoco>",
      "nan.xml");
  ASSERT_EQ(model->warnings().size(), 1u);
  EXPECT_NE(model->warnings()[0].find("NaN"), std::string::npos);
}

}  // namespace
}  // namespace hotloop
