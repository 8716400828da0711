// Two geoms in MuJoCo's library and in ours: random and degenerate poses, and the contacts both find.
#pragma once
#include <mujoco/mujoco.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/mujoco/contact.h"

namespace hotloop::test {

// What the geoms are; names and numbers as MuJoCo's.
struct Kind {
  PairKind kind;
  const char* name;
  int type1, type2;
};

// One situation; everything the library needs to set it up.
struct Pose {
  std::array<std::array<double, 3>, 2> size, pos;
  std::array<std::array<double, 4>, 2> quat;
  double margin;
};

struct Touch {
  double dist;
  std::array<double, 3> pos;
  std::array<double, 9> frame;
};

class Oracle {
 public:
  explicit Oracle(const Kind& kind) : kind_(kind) {
    const auto geom = [](int type, int index) {
      const std::string tag = "<geom name='g" + std::to_string(index) + "' type='" + name(type) +
                              "' size='0.1 0.1 0.1' mass='1' contype='0' conaffinity='0'/>";
      return type == mjGEOM_PLANE ? tag : "<body><freejoint/>" + tag + "</body>";
    };
    const std::string xml = "<mujoco><worldbody>" + geom(kind.type1, 1) + geom(kind.type2, 2) +
                            "</worldbody><contact><pair geom1='g1' geom2='g2'/></contact></mujoco>";
    std::array<char, 1000> error{};
    mjSpec* spec = mj_parseXMLString(xml.c_str(), nullptr, error.data(), error.size());
    if (spec == nullptr) throw std::runtime_error(error.data());
    model_.reset(mj_compile(spec, nullptr));
    if (!model_) throw std::runtime_error(mjs_getError(spec));
    mj_deleteSpec(spec);
    data_.reset(mj_makeData(model_.get()));
    model_->geom_sameframe[0] = mjSAMEFRAME_NONE;
  }

  mjModel* model() { return model_.get(); }

  std::vector<Touch> operator()(const hotloop::test::Pose& pose) {
    int qpos = 0;
    for (int g = 0; g < 2; ++g) {
      const int type = g == 0 ? kind_.type1 : kind_.type2;
      std::copy(pose.size[g].begin(), pose.size[g].end(), model_->geom_size + 3 * g);
      model_->geom_rbound[g] = bounding_radius(type, pose.size[g]);
      double* pos = model_->geom_pos + 3 * g;
      double* quat = model_->geom_quat + 4 * g;
      if (type != mjGEOM_PLANE) {
        pos = data_->qpos + qpos;
        quat = pos + 3;
        qpos += 7;
      }
      std::copy(pose.pos[g].begin(), pose.pos[g].end(), pos);
      std::copy(pose.quat[g].begin(), pose.quat[g].end(), quat);
      mju_normalize4(quat);
    }
    model_->pair_margin[0] = pose.margin;
    mj_kinematics(model_.get(), data_.get());
    mj_collision(model_.get(), data_.get());
    std::vector<Touch> found(data_->ncon);
    for (int i = 0; i < data_->ncon; ++i) {
      const mjContact& c = data_->contact[i];
      found[i].dist = c.dist;
      std::copy(c.pos, c.pos + 3, found[i].pos.begin());
      std::copy(c.frame, c.frame + 9, found[i].frame.begin());
    }
    return found;
  }

  static std::string name(int type) {
    switch (type) {
      case mjGEOM_PLANE:
        return "plane";
      case mjGEOM_SPHERE:
        return "sphere";
      case mjGEOM_CAPSULE:
        return "capsule";
      case mjGEOM_CYLINDER:
        return "cylinder";
      default:
        return "box";
    }
  }

  static double bounding_radius(int type, const std::array<double, 3>& s) {
    switch (type) {
      case mjGEOM_PLANE:
        return 0;
      case mjGEOM_SPHERE:
        return s[0];
      case mjGEOM_CAPSULE:
        return s[0] + s[1];
      case mjGEOM_CYLINDER:
        return std::sqrt(s[0] * s[0] + s[1] * s[1]);
      default:
        return std::sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
    }
  }

 private:
  struct Free {
    void operator()(mjModel* m) const { mj_deleteModel(m); }
    void operator()(mjData* d) const { mj_deleteData(d); }
  };
  Kind kind_;
  std::unique_ptr<mjModel, Free> model_;
  std::unique_ptr<mjData, Free> data_;
};

template <class Real>
Vec3<Real> vec(const std::array<double, 3>& v) {
  return {static_cast<Real>(v[0]), static_cast<Real>(v[1]), static_cast<Real>(v[2])};
}

// Our contacts in precision Real; `collide` is one of the entries.
template <class Real, class Collide>
std::vector<Touch> ours(const Kind& kind, const hotloop::test::Pose& pose, Collide collide) {
  std::array<std::array<Real, 3>, 2> size;
  std::array<Geom<Real>, 2> geom;
  for (int g = 0; g < 2; ++g) {
    // as the loader leaves them: no sizes that the type has not
    const int type = g == 0 ? kind.type1 : kind.type2;
    const int sizes = type == mjGEOM_SPHERE ? 1 : type == mjGEOM_CAPSULE || type == mjGEOM_CYLINDER ? 2 : 3;
    for (int k = 0; k < 3; ++k) size[g][k] = k < sizes ? static_cast<Real>(pose.size[g][k]) : Real(0);
    const auto& q = pose.quat[g];
    geom[g] = {vec<Real>(pose.pos[g]),
               normalized(Quat<Real>{static_cast<Real>(q[0]), static_cast<Real>(q[1]), static_cast<Real>(q[2]),
                                     static_cast<Real>(q[3])}),
               size[g].data()};
  }
  const auto contacts = collide(kind.kind, geom[0], geom[1], static_cast<Real>(pose.margin));
  std::vector<Touch> found(contacts.count);
  for (int i = 0; i < contacts.count; ++i) {
    const ContactPoint<Real>& c = contacts.at[i];
    const Vec3<Real> t1 = contact_frame(c.normal, c.tangent), t2 = cross(c.normal, t1);
    found[i] = {static_cast<double>(c.dist),
                {c.pos.x, c.pos.y, c.pos.z},
                {c.normal.x, c.normal.y, c.normal.z, t1.x, t1.y, t1.z, t2.x, t2.y, t2.z}};
  }
  return found;
}

// Random situations. All numbers are exact in single precision, so that both precisions see the same one.
class Poses {
 public:
  explicit Poses(const Kind& kind, unsigned seed) : kind_(kind), random_(seed) {}

  // Sizes from 2 cm to 50 cm, centres from coincident to barely apart, a third of the margins zero.
  hotloop::test::Pose random() {
    hotloop::test::Pose p = sizes();
    for (auto& q : p.quat) q = rotation();
    const double reach = place(p);
    std::array<double, 3> direction;
    double square = 0;
    for (double& x : direction) {
      x = normal_(random_);
      square += x * x;
    }
    const double distance = uniform(0, 1.1) * reach / std::sqrt(square);
    for (int k = 0; k < 3; ++k) p.pos[1][k] = p.pos[0][k] + distance * direction[k];
    return rounded(p);
  }

  // Axes parallel or at right angles, and centres apart by sums of half sizes, zero among them: edges on edges, rims on
  // axes, centres on faces. `turned`: the whole then turned at random, so that exact ties become ties up to rounding.
  hotloop::test::Pose aligned(bool turned) {
    hotloop::test::Pose p = sizes();
    const std::array<double, 4> whole = turned ? rotation() : std::array<double, 4>{1, 0, 0, 0};
    for (auto& q : p.quat) mju_mulQuat(q.data(), whole.data(), square_rotation().data());
    place(p);
    std::array<double, 3> apart{}, turned_apart;
    for (double& x : apart)
      for (int g = 0; g < 2; ++g)
        for (const double s : p.size[g]) x += (pick(0, 3) == 0 ? 2 * pick(0, 1) - 1 : 0) * s;
    mju_rotVecQuat(turned_apart.data(), apart.data(), whole.data());
    for (int k = 0; k < 3; ++k) p.pos[1][k] = p.pos[0][k] + turned_apart[k];
    return rounded(p);
  }

  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  // Every number of the pose moved by up to `ulps` units of the last place of single precision, sizes and margin too.
  hotloop::test::Pose perturbed(hotloop::test::Pose p, double relative) {
    const double scale = extent(p);
    for (int g = 0; g < 2; ++g) {
      for (double& x : p.size[g]) x *= 1 + relative * uniform(-1, 1);
      for (double& x : p.pos[g]) x += relative * scale * uniform(-1, 1);
      for (double& x : p.quat[g]) x += relative * uniform(-1, 1);
    }
    return p;
  }

  static double extent(const hotloop::test::Pose& p) {
    double e = 0;
    for (int g = 0; g < 2; ++g) {
      for (const double s : p.size[g]) e = std::max(e, std::abs(s));
      for (const double x : p.pos[g]) e = std::max(e, std::abs(x));
    }
    return e;
  }

 private:
  hotloop::test::Pose sizes() {
    hotloop::test::Pose p{};
    for (auto& size : p.size)
      for (double& x : size) x = 0.5 * std::pow(0.04, uniform(0, 1));
    p.margin = std::max(0.0, uniform(-0.05, 0.1));
    return p;
  }
  // The first geom near the origin; returns how far the second can be and still touch.
  double place(hotloop::test::Pose& p) {
    for (double& x : p.pos[0]) x = uniform(-1, 1);
    double reach = p.margin;
    for (int g = 0; g < 2; ++g) reach += Oracle::bounding_radius(g == 0 ? kind_.type1 : kind_.type2, p.size[g]);
    return reach;
  }
  std::array<double, 4> rotation() {
    std::array<double, 4> q;
    for (double& x : q) x = normal_(random_);
    mju_normalize4(q.data());
    return q;
  }
  std::array<double, 4> square_rotation() {
    std::array<double, 4> q{1, 0, 0, 0};
    for (int axis = 1; axis <= 3; ++axis) {
      std::array<double, 4> turn{1, 0, 0, 0}, product;
      const int quarter = pick(0, 3);
      turn[0] = std::array<double, 4>{1, std::sqrt(0.5), 0, -std::sqrt(0.5)}[quarter];
      turn[axis] = std::array<double, 4>{0, std::sqrt(0.5), 1, std::sqrt(0.5)}[quarter];
      mju_mulQuat(product.data(), q.data(), turn.data());
      q = product;
    }
    return q;
  }
  static hotloop::test::Pose rounded(hotloop::test::Pose p) {
    const auto round = [](double& x) { x = static_cast<double>(static_cast<float>(x)); };
    for (int g = 0; g < 2; ++g) {
      std::for_each(p.size[g].begin(), p.size[g].end(), round);
      std::for_each(p.pos[g].begin(), p.pos[g].end(), round);
      std::for_each(p.quat[g].begin(), p.quat[g].end(), round);
    }
    round(p.margin);
    return p;
  }

  Kind kind_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

}  // namespace hotloop::test
