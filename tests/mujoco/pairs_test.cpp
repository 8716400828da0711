// The list of pairs against the contacts that mj_collision finds.
#include <gtest/gtest.h>
#include <mujoco/mujoco.h>

#include <memory>

#include "sim/core/error.h"
#include "sim/mujoco/load.h"
#include "tests/mujoco/random_model.h"

namespace hotloop {
namespace {

using DataHandle = std::unique_ptr<mjData, void (*)(mjData*)>;

DataHandle make_data(const mjModel* m) { return {mj_makeData(m), mj_deleteData}; }

bool immovable(const mjModel* m, int geom1, int geom2) {
  const int weld1 = m->body_weldid[m->geom_bodyid[geom1]], weld2 = m->body_weldid[m->geom_bodyid[geom2]];
  return weld1 == weld2 || (m->body_dofnum[weld1] == 0 && m->body_dofnum[weld2] == 0);
}

void expect_parameters(const mjContact& c, const ModelData& d, int p) {
  EXPECT_EQ(c.dim, d.pair_condim[p]);
  EXPECT_DOUBLE_EQ(c.includemargin, d.pair_margin[p]);
  for (int i = 0; i < 2; ++i) EXPECT_DOUBLE_EQ(c.friction[i], d.pair_friction[2 * p + i]);
  for (int i = 0; i < mjNREF; ++i) EXPECT_DOUBLE_EQ(c.solref[i], d.pair_solref[mjNREF * p + i]);
  for (int i = 0; i < mjNIMP; ++i) EXPECT_DOUBLE_EQ(c.solimp[i], d.pair_solimp[mjNIMP * p + i]);
}

// Walks MuJoCo's contacts along our pairs; returns how many pairs had one.
int match(const mjModel* m, const ModelData& d) {
  const DataHandle data = make_data(m);
  mj_forward(m, data.get());
  int pair = -1, matched = 0;
  for (int i = 0; i < data->ncon; ++i) {
    const mjContact& c = data->contact[i];
    if (immovable(m, c.geom[0], c.geom[1])) continue;
    const auto is = [&](int p) { return c.geom[0] == d.pair_geom1[p] && c.geom[1] == d.pair_geom2[p]; };
    if (pair >= 0 && is(pair)) continue;
    do ++pair;
    while (pair < d.npair && !is(pair));
    if (pair >= d.npair) {
      ADD_FAILURE() << "contact of geoms " << c.geom[0] << " and " << c.geom[1]
                    << " is not in the list, or out of order";
      return matched;
    }
    ++matched;
    expect_parameters(c, d, pair);
    if (testing::Test::HasFailure()) return matched;
  }
  return matched;
}

TEST(Pairs, AllThatTouchInMujocosOrder) {
  std::mt19937 rng(1);
  int pairs = 0;
  for (int k = 0; k < 300; ++k) {
    const std::string xml = random_model(rng, {.max_bodies = 8, .margin = 3, .together = true});
    const auto model = load_model_string(xml, "random.xml");
    const int matched = match(model->mujoco(), model->data());
    EXPECT_EQ(matched, model->data().npair);
    ASSERT_FALSE(HasFailure()) << xml;
    pairs += matched;
  }
  EXPECT_GT(pairs, 5000);
}

TEST(Pairs, NoContactOutsideTheList) {
  std::mt19937 rng(2);
  int pairs = 0;
  for (int k = 0; k < 300; ++k) {
    const std::string xml = random_model(rng, {.max_bodies = 10, .margin = 0.01, .together = false});
    const auto model = load_model_string(xml, "random.xml");
    pairs += match(model->mujoco(), model->data());
    ASSERT_FALSE(HasFailure()) << xml;
  }
  EXPECT_GT(pairs, 500);
}

}  // namespace
}  // namespace hotloop
