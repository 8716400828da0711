// Which geoms can touch, and how: MuJoCo's broad phase without positions (engine_collision_driver.c, mj_collision).
#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "sim/core/error.h"
#include "sim/mujoco/features.h"
#include "sim/mujoco/read_model.h"

namespace hotloop {
namespace {

struct Pair {
  int geom1 = 0, geom2 = 0;
  std::array<double, mjNREF> solref;
  std::array<double, mjNIMP> solimp;
  std::array<double, 2> friction;
  double margin = 0, gap = 0;
  int condim = 1;
  PairKind kind = PairKind::sphere_sphere;
  FrictionMix mix = FrictionMix::pair;
};

// Types in ascending order; nothing where we have no collision function.
std::optional<PairKind> kind_of(int type1, int type2) {
  for (const Collision& c : collisions())
    if (c.type1 == type1 && c.type2 == type2) return c.kind;
  return std::nullopt;
}

bool is_plane_or_field(int type) { return type == mjGEOM_PLANE || type == mjGEOM_HFIELD; }

// Geoms in order of type, as MuJoCo hands them to its collision functions; nothing where MuJoCo itself has none.
std::optional<Pair> ordered(const mjModel* m, int geom1, int geom2) {
  if (m->geom_type[geom1] > m->geom_type[geom2]) std::swap(geom1, geom2);
  if (is_plane_or_field(m->geom_type[geom1]) && is_plane_or_field(m->geom_type[geom2])) return std::nullopt;
  Pair pair;
  pair.geom1 = geom1;
  pair.geom2 = geom2;
  return pair;
}

void check(const mjModel* m, const std::string& path, Pair& pair) {
  const auto say = [&](const std::string& what) {
    return Error(path + ": " + element_name(m, mjOBJ_GEOM, pair.geom1) + " and " +
                 element_name(m, mjOBJ_GEOM, pair.geom2) + " can collide: " + what);
  };
  const int type1 = m->geom_type[pair.geom1], type2 = m->geom_type[pair.geom2];
  const std::optional<PairKind> kind = kind_of(type1, type2);
  if (!kind)
    throw say(std::string("collisions of ") + geom_type_name(type1) + " and " + geom_type_name(type2) +
              " are not supported; accepted: " + collisions_text() +
              "; or contype and conaffinity that keep them apart");
  pair.kind = *kind;
  if (pair.condim != 1 && pair.condim != 3)
    throw say("condim " + std::to_string(pair.condim) + " is not supported; accepted: 1, 3");
}

// The weight of the first geom's solver parameters.
double mix_of(double solmix1, double solmix2) {
  const bool first = solmix1 >= mjMINVAL, second = solmix2 >= mjMINVAL;
  if (first && second) return solmix1 / (solmix1 + solmix2);
  return first == second ? 0.5 : first ? 1.0 : 0.0;
}

// Parameters of two geoms that no <pair> names (mj_contactParam).
void mix_parameters(const mjModel* m, Pair& pair) {
  const int g1 = pair.geom1, g2 = pair.geom2;
  const int priority1 = m->geom_priority[g1], priority2 = m->geom_priority[g2];
  const bool same = priority1 == priority2;
  const double mix = same ? mix_of(m->geom_solmix[g1], m->geom_solmix[g2]) : priority1 > priority2 ? 1.0 : 0.0;
  const mjtNum *ref1 = m->geom_solref + mjNREF * g1, *ref2 = m->geom_solref + mjNREF * g2;
  const mjtNum *imp1 = m->geom_solimp + mjNIMP * g1, *imp2 = m->geom_solimp + mjNIMP * g2;
  const bool standard = ref1[0] > 0 && ref2[0] > 0;
  for (int i = 0; i < mjNREF; ++i)
    pair.solref[i] = same && !standard ? std::min(ref1[i], ref2[i]) : mix * ref1[i] + (1 - mix) * ref2[i];
  for (int i = 0; i < mjNIMP; ++i) pair.solimp[i] = mix * imp1[i] + (1 - mix) * imp2[i];
  const double friction1 = m->geom_friction[3 * g1], friction2 = m->geom_friction[3 * g2];
  pair.mix = same ? FrictionMix::larger : priority1 > priority2 ? FrictionMix::geom1 : FrictionMix::geom2;
  const double friction = same ? std::max(friction1, friction2) : priority1 > priority2 ? friction1 : friction2;
  pair.friction = {friction, friction};
  const int condim1 = m->geom_condim[g1], condim2 = m->geom_condim[g2];
  pair.condim = same ? std::max(condim1, condim2) : priority1 > priority2 ? condim1 : condim2;
  pair.margin = m->geom_margin[g1] + m->geom_margin[g2];
  pair.gap = m->geom_gap[g1] + m->geom_gap[g2];
}

void explicit_parameters(const mjModel* m, int id, Pair& pair) {
  std::copy_n(m->pair_solref + mjNREF * id, mjNREF, pair.solref.begin());
  std::copy_n(m->pair_solimp + mjNIMP * id, mjNIMP, pair.solimp.begin());
  std::copy_n(m->pair_friction + 5 * id, 2, pair.friction.begin());
  pair.condim = m->pair_dim[id];
  pair.margin = m->pair_margin[id];
  pair.gap = m->pair_gap[id];
}

// Bodies whose contacts nothing can move, or that the model keeps apart.
bool bodies_kept_apart(const mjModel* m, int body1, int body2) {
  const int weld1 = m->body_weldid[body1], weld2 = m->body_weldid[body2];
  if (weld1 == weld2) return true;
  if (m->body_dofnum[weld1] == 0 && m->body_dofnum[weld2] == 0) return true;
  if ((m->opt.disableflags & mjDSBL_FILTERPARENT) != 0 || weld1 == 0 || weld2 == 0) return false;
  return m->body_weldid[m->body_parentid[weld1]] == weld2 || m->body_weldid[m->body_parentid[weld2]] == weld1;
}

int signature(int body1, int body2) { return (body1 << 16) + body2; }

bool excluded(const mjModel* m, int body1, int body2) {
  int* const end = m->exclude_signature + m->nexclude;
  return std::find(m->exclude_signature, end, signature(body1, body2)) != end;
}

bool masks_meet(const mjModel* m, int geom1, int geom2) {
  return (m->geom_contype[geom1] & m->geom_conaffinity[geom2]) != 0 ||
         (m->geom_contype[geom2] & m->geom_conaffinity[geom1]) != 0;
}

class PairList {
 public:
  PairList(const mjModel* m, const std::string& path) : m_(m), path_(path) {}

  // <pair>s with signatures up to `last` that are not in the list yet.
  void add_explicit(int last) {
    for (; next_explicit_ < m_->npair && m_->pair_signature[next_explicit_] <= last; ++next_explicit_) {
      const int id = next_explicit_, g1 = m_->pair_geom1[id], g2 = m_->pair_geom2[id];
      named_.insert(std::minmax(g1, g2));
      const int weld1 = m_->body_weldid[m_->geom_bodyid[g1]], weld2 = m_->body_weldid[m_->geom_bodyid[g2]];
      // a contact that moves nothing is no constraint
      if (weld1 == weld2 || (m_->body_dofnum[weld1] == 0 && m_->body_dofnum[weld2] == 0)) continue;
      if (auto pair = ordered(m_, g1, g2)) {
        explicit_parameters(m_, id, *pair);
        add(*pair);
      }
    }
  }

  void add_bodies(int body1, int body2) {
    const std::size_t first = pairs_.size();
    for (int i = 0; i < m_->body_geomnum[body1]; ++i)
      for (int k = 0; k < m_->body_geomnum[body2]; ++k) {
        const int g1 = m_->body_geomadr[body1] + i, g2 = m_->body_geomadr[body2] + k;
        if (!masks_meet(m_, g1, g2) || named_.count(std::minmax(g1, g2))) continue;
        if (auto pair = ordered(m_, g1, g2)) {
          mix_parameters(m_, *pair);
          add(*pair);
        }
      }
    // contacts found through bounding volumes are sorted, and sorted by the geoms as ordered by type
    const bool single = m_->body_geomnum[body1] == 1 && m_->body_geomnum[body2] == 1;
    if (single || (m_->opt.disableflags & mjDSBL_MIDPHASE) != 0) return;
    std::sort(pairs_.begin() + static_cast<std::ptrdiff_t>(first), pairs_.end(),
              [](const Pair& a, const Pair& b) { return std::pair(a.geom1, a.geom2) < std::pair(b.geom1, b.geom2); });
  }

  const std::vector<Pair>& pairs() const { return pairs_; }

 private:
  void add(Pair& pair) {
    check(m_, path_, pair);
    pairs_.push_back(pair);
  }

  const mjModel* m_;
  const std::string& path_;
  int next_explicit_ = 0;
  std::set<std::pair<int, int>> named_;
  std::vector<Pair> pairs_;
};

}  // namespace

void read_pairs(const mjModel* m, ModelData& data) {
  PairList list(m, data.path);
  for (int body1 = 0; body1 < m->nbody; ++body1)
    for (int body2 = body1 + 1; body2 < m->nbody; ++body2) {
      list.add_explicit(signature(body1, body2));
      if (!bodies_kept_apart(m, body1, body2) && !excluded(m, body1, body2)) list.add_bodies(body1, body2);
    }
  list.add_explicit(signature(static_cast<int>(m->nbody), 0));
  for (const Pair& pair : list.pairs()) {
    data.pair_geom1.push_back(pair.geom1);
    data.pair_geom2.push_back(pair.geom2);
    data.pair_kind.push_back(static_cast<int>(pair.kind));
    data.pair_condim.push_back(pair.condim);
    data.pair_frictionmix.push_back(static_cast<int>(pair.mix));
    data.pair_solref.insert(data.pair_solref.end(), pair.solref.begin(), pair.solref.end());
    data.pair_solimp.insert(data.pair_solimp.end(), pair.solimp.begin(), pair.solimp.end());
    // MuJoCo's contacts have at least this much friction (mj_assignFriction)
    for (const double mu : pair.friction) data.pair_friction.push_back(std::max(mu, kMinFriction));
    data.pair_margin.push_back(pair.margin);
    data.pair_gap.push_back(pair.gap);
  }
}

}  // namespace hotloop
