#include "sim/mujoco/world_fields.h"

#include "sim/core/error.h"
#include "sim/core/launch.h"
#include "sim/core/rng.h"
#include "sim/mujoco/set_const.h"

namespace hotloop {
namespace {

// rows[worlds[k]] = values[k]; worlds null: k itself. repeat: the same row for all.
struct SetRowsOp {
  float* rows;
  const float* values;
  const std::int64_t* worlds;
  std::int64_t size;
  bool repeat;
  SIM_HD void operator()(std::int64_t i) const {
    const std::int64_t k = i / size, element = i % size;
    rows[(worlds != nullptr ? worlds[k] : k) * size + element] = values[repeat ? element : i];
  }
};

// The friction of pairs out of that of their geoms, [count][ngeom] (mj_contactParam, mj_assignFriction).
struct MixFrictionOp {
  Model<float> model;
  float* rows;
  const float* values;
  const std::int64_t* worlds;
  SIM_HD void operator()(std::int64_t i) const {
    const std::int64_t k = i / model.npair;
    const int pair = static_cast<int>(i % model.npair);
    const auto mix = static_cast<FrictionMix>(model.pair_frictionmix[pair]);
    if (mix == FrictionMix::pair) return;
    const float one = values[k * model.ngeom + model.pair_geom1[pair]];
    const float two = values[k * model.ngeom + model.pair_geom2[pair]];
    float friction = mix == FrictionMix::geom1 ? one : mix == FrictionMix::geom2 ? two : maximum(one, two);
    friction = maximum(friction, static_cast<float>(kMinFriction));
    float* out = rows + 2 * ((worlds != nullptr ? worlds[k] : k) * model.npair + pair);
    out[0] = out[1] = friction;
  }
};

// out[world][element][column]: an element draws from a block of numbers of its own.
struct DrawRowsOp {
  float* out;
  const float* base;
  std::int64_t elements;
  int columns, draw;
  bool adds;
  float low, high;
  std::uint64_t seed;
  std::uint32_t stream;
  SIM_HD void operator()(std::int64_t i) const {
    const std::int64_t world = i / elements, element = i % elements;
    Rng rng = Rng(seed, stream, static_cast<std::uint32_t>(world), 0)
                  .at_block(static_cast<std::uint32_t>(draw) << 20 | static_cast<std::uint32_t>(element));
    const float factor = rng.uniform(low, high);
    for (int c = 0; c < columns; ++c) {
      const float value = base[element * columns + c];
      out[i * columns + c] = !adds ? value * factor : value + (c == 0 ? factor : rng.uniform(low, high));
    }
  }
};

template <int N>
struct SetConstOp {
  static constexpr int kMinBlocks = 8;
  Model<float> model;
  WorldLayout layout;
  float *subtreemass, *body_invweight0, *dof_invweight0, *tendon_invweight0;

  template <class G>
  SIM_HD void operator()(const G& g, std::int64_t world, std::byte* memory) const {
    const World<float> w{reinterpret_cast<float*>(memory), layout, static_cast<int>(world)};
    const auto row = [&](float* rows, int size) { return rows + world * size; };
    const DerivedRows<float> out{row(subtreemass, model.nbody), row(body_invweight0, 2 * model.nbody),
                                 row(dof_invweight0, model.nv), row(tendon_invweight0, model.ntendon)};
    set_const<N>(g, model, w, out);
  }
};

const char* const kDerived[] = {"body_subtreemass", "body_invweight0", "dof_invweight0", "tendon_invweight0"};

// What the step reads for a field that users name.
std::string step_name(const std::string& name) { return name == "geom_friction" ? "pair_friction" : name; }

// Host memory on the device; waits for exec.
template <class T>
Buffer<T> upload(const Exec& exec, const T* from, std::size_t count) {
  Buffer<T> buffer(exec.device, count);
  copy_async(exec, buffer.data(), exec.device, from, Device{}, buffer.bytes());
  synchronize(exec);
  return buffer;
}

}  // namespace

WorldFields::WorldFields(const ModelData& data, const Model<float>& shared, std::int64_t num_worlds, Device device,
                         const std::vector<std::string>& names)
    : data_(data), view_(shared), num_worlds_(num_worlds), device_(device) {
  for (const std::string& name : names) {
    if (name == kExternalForces) {
      external_ = Buffer<float>(device, 6 * static_cast<std::size_t>(num_worlds * data.nbody));
      view_.xfrc_applied = {external_.data(), 6 * data.nbody};
      continue;
    }
    derives_ = derives_ || find_field(name).decides_consts;
    add_rows(step_name(name));
  }
  if (derives_)
    for (const char* name : kDerived) add_rows(name);
}

std::size_t WorldFields::world_bytes() const {
  std::size_t sum = external_.bytes() / static_cast<std::size_t>(num_worlds_);
  for (const auto& [name, buffer] : rows_) sum += buffer.bytes() / static_cast<std::size_t>(num_worlds_);
  return sum;
}

WorldFields::Member WorldFields::member(const std::string& name) {
#define HOTLOOP_FIND(field, rows, columns) \
  if (name == #field) return {&view_.field, data_.field.size()};
  HOTLOOP_MODEL_FIELDS(HOTLOOP_FIND)
#undef HOTLOOP_FIND
  throw Error(name + ": no such field");
}

void WorldFields::add_rows(const std::string& name) {
  const Member f = member(name);
  if (f.size == 0 || rows_.count(name) > 0) return;
  const auto size = static_cast<std::int64_t>(f.size);
  float* const rows = (rows_[name] = Buffer<float>(device_, f.size * static_cast<std::size_t>(num_worlds_))).data();
  const Exec exec{device_};
  parallel_for(exec, num_worlds_ * size, SetRowsOp{rows, f.field->data, nullptr, size, true});
  synchronize(exec);
  *f.field = {rows, static_cast<int>(f.size)};
}

float* WorldFields::rows(const std::string& name) {
  const auto at = rows_.find(name);
  return at == rows_.end() ? nullptr : at->second.data();
}

void WorldFields::write(const Exec& exec, const std::string& name, const float* values, std::int64_t count,
                        const std::int64_t* worlds) {
  float* const to = rows(step_name(name));
  const auto size = static_cast<std::int64_t>(field_values(data_, name).size());
  if (name == "geom_friction")
    parallel_for(exec, count * view_.npair, MixFrictionOp{view_, to, values, worlds});
  else
    parallel_for(exec, count * size, SetRowsOp{to, values, worlds, size, false});
}

void WorldFields::set_rows(const Exec& exec, const std::string& name, const float* values, Device where,
                           std::int64_t count, const std::int64_t* worlds) {
  const FieldInfo& info = find_field(name);
  if (rows(step_name(name)) == nullptr) throw Error(name + ": is shared by all worlds of this batch");
  if (where.is_cuda()) return write(exec, name, values, count, worlds);
  check_rows(info, values, count, worlds);
  if (!device_.is_cuda()) return write(exec, name, values, count, worlds);
  const std::size_t n = static_cast<std::size_t>(count);
  const Buffer<float> there = upload(exec, values, n * field_values(data_, name).size());
  const Buffer<std::int64_t> which = worlds != nullptr ? upload(exec, worlds, n) : Buffer<std::int64_t>(device_, 0);
  write(exec, name, there.data(), count, worlds != nullptr ? which.data() : nullptr);
  synchronize(exec);
}

void WorldFields::draw_rows(const Exec& exec, const std::string& name, const FieldDraw& draw) {
  const FieldInfo& info = find_field(name);
  const std::vector<double>& model = field_values(data_, name);
  const std::vector<float> host(model.begin(), model.end());
  const Buffer<float> base = upload(exec, host.data(), host.size());
  const Buffer<float> drawn(device_, host.size() * static_cast<std::size_t>(num_worlds_));
  const auto elements = static_cast<std::int64_t>(host.size()) / info.columns;
  parallel_for(exec, num_worlds_ * elements,
               DrawRowsOp{drawn.data(), base.data(), elements, info.columns, info.draw, info.adds,
                          static_cast<float>(draw.low), static_cast<float>(draw.high), draw.seed, draw.stream});
  write(exec, name, drawn.data(), num_worlds_, nullptr);
  synchronize(exec);
}

void WorldFields::set_const(const Exec& exec) {
  if (!derives_) return;
  const WorldLayout layout = set_const_layout(data_);
  const auto run = [&](auto bound) {
    constexpr int N = decltype(bound)::value;
    parallel_warps<lanes_for(N)>(
        exec, num_worlds_, hotloop::world_bytes<float>(layout),
        SetConstOp<N>{view_, layout, rows(kDerived[0]), rows(kDerived[1]), rows(kDerived[2]), rows(kDerived[3])});
  };
  switch (data_.bound) {
    case 16:
      return run(std::integral_constant<int, 16>{});
    case 32:
      return run(std::integral_constant<int, 32>{});
    default:
      return run(std::integral_constant<int, kMaxDofs>{});
  }
}

}  // namespace hotloop
