#include <algorithm>
#include <cstring>

#include "sim/mujoco/model_data.h"

namespace hotloop {
namespace {

constexpr std::size_t kAlign = 16;  // vector loads of whole rows

// Lays arrays one after another. A first pass without memory only measures.
class Packer {
 public:
  explicit Packer(std::byte* host) : host_(host) {}

  // Appends the values, converted to T; returns their offset.
  template <class T, class From>
  std::size_t put(const std::vector<From>& values) {
    const std::size_t at = used_;
    if (host_) {
      auto* to = reinterpret_cast<T*>(host_ + at);
      std::transform(values.begin(), values.end(), to, [](From x) { return static_cast<T>(x); });
    }
    used_ += (values.size() * sizeof(T) + kAlign - 1) / kAlign * kAlign;
    return at;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* host_;
  std::size_t used_ = 0;
};

Tree pack(const TreeData& from, Packer& to, const std::byte* base) {
  const auto put = [&](const std::vector<int>& values) {
    return reinterpret_cast<const int*>(base + to.put<int>(values));
  };
  return {from.n, from.rounds, from.levels, put(from.parent), put(from.jump), put(from.level), put(from.order)};
}

// All arrays in the order of the lists in model.h; `base` is where they will lie.
template <class Real>
void pack(const ModelData& data, Packer& to, const std::byte* base, Model<Real>& view) {
  view.bodies = pack(data.bodies, to, base);
  view.dofs = pack(data.dofs, to, base);
#define HOTLOOP_PACK(name, rows, columns) view.name = reinterpret_cast<const int*>(base + to.put<int>(data.name));
  HOTLOOP_MODEL_INTS(HOTLOOP_PACK)
#undef HOTLOOP_PACK
#define HOTLOOP_PACK(name, rows, columns) view.name = reinterpret_cast<const Real*>(base + to.put<Real>(data.name));
  HOTLOOP_MODEL_REALS(HOTLOOP_PACK)
#undef HOTLOOP_PACK
#define HOTLOOP_PACK(name, rows, columns) \
  view.name.data = reinterpret_cast<const Real*>(base + to.put<Real>(data.name));
  HOTLOOP_MODEL_FIELDS(HOTLOOP_PACK)
#undef HOTLOOP_PACK
}

}  // namespace

template <class Real>
ModelMemory<Real>::ModelMemory(const ModelData& data, Device device) {
  static_cast<ModelSizes&>(view_) = data;
  convert_options(data, view_);
  Packer measure(nullptr);
  pack(data, measure, nullptr, view_);
  std::vector<std::byte> host(measure.used());
  memory_ = Memory(device, host.size());
  Packer packer(host.data());
  pack(data, packer, memory_.data(), view_);
  const Exec exec{device};
  copy_async(exec, memory_.data(), device, host.data(), Device{}, host.size());
  synchronize(exec);
}

template class ModelMemory<float>;
template class ModelMemory<double>;

}  // namespace hotloop
