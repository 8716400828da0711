// Moves, copies, updates between TensorDicts, gradients, and operations on keys.
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "data/tensordict/module.h"
#include "data/tensordict/tensordict_node.h"

namespace hotloop {

using namespace tensordict_detail;

namespace {

constexpr std::int64_t kStorageAlignment = 64;  // [bytes] vector loads and every element type

std::int64_t leaf_bytes(const at::Tensor& leaf) {
  return leaf.numel() * static_cast<std::int64_t>(leaf.element_size());
}

// A leaf like `like` inside `storage`, `offset` bytes from its start.
at::Tensor placed(const at::Tensor& storage, std::int64_t offset, const at::Tensor& like) {
  return storage.narrow(0, offset, leaf_bytes(like)).view(like.scalar_type()).view(like.sizes());
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t i = 0; (i = text.find(from, i)) != std::string::npos; i += to.size())
    text.replace(i, from.size(), to);
  return text;
}

}  // namespace

TensorDict TensorDict::to(at::Device wanted, bool non_blocking) const {
  const at::Device device = *TensorDict(Shape{}, wanted).device();  // with its index
  if (storage().defined()) {
    // one copy moves everything; the leaves keep their places in it
    const at::Tensor moved = guarded([&] { return "tensordict: to " + device.str(); },
                                     [&] { return storage().to(device, storage().scalar_type(), non_blocking); });
    const auto* base = static_cast<const char*>(storage().data_ptr());
    const auto place = [&](const std::string&, at::ArrayRef<at::Tensor> leaf) {
      return leaf[0].numel() ? placed(moved, static_cast<const char*>(leaf[0].data_ptr()) - base, leaf[0])
                             : leaf[0].to(device);
    };
    TensorDict result = zip({*this}, "to", place, batch_size(), device);
    result.set_consolidated(moved);
    return result;
  }
  const auto move = [&](const std::string&, at::ArrayRef<at::Tensor> leaf) {
    return leaf[0].to(device, leaf[0].scalar_type(), non_blocking);
  };
  return zip({*this}, "to " + device.str(), move, batch_size(), device);
}

TensorDict TensorDict::to(at::ScalarType dtype, bool non_blocking) const {
  return map_leaves(
      *this, "to", [&](const at::Tensor& leaf) { return leaf.to(dtype, non_blocking); }, batch_size());
}

TensorDict TensorDict::cuda(int index, bool non_blocking) const {
  return to(at::Device(at::kCUDA, static_cast<at::DeviceIndex>(index)), non_blocking);
}

TensorDict TensorDict::cpu() const { return to(at::Device(at::kCPU)); }

TensorDict TensorDict::pin_memory() const {
  return map_leaves(
      *this, "pin_memory", [](const at::Tensor& leaf) { return leaf.pin_memory(); }, batch_size());
}

TensorDict TensorDict::clone(bool recurse) const {
  return map_leaves(
      *this, "clone", [&](const at::Tensor& leaf) { return recurse ? leaf.clone() : leaf; }, batch_size());
}

TensorDict TensorDict::contiguous() const {
  return map_leaves(
      *this, "contiguous", [](const at::Tensor& leaf) { return leaf.contiguous(); }, batch_size());
}

TensorDict TensorDict::consolidate(std::optional<at::Device> wanted) const {
  const std::vector<at::Tensor> all = leaves();
  at::Device target = wanted.value_or(all.empty() ? device().value_or(at::kCPU) : all[0].device());
  target = *TensorDict(Shape{}, target).device();
  std::int64_t total = 0;
  for (const at::Tensor& leaf : all) {
    if (!wanted && leaf.device() != target)
      throw Error("tensordict: consolidate: leaves are on " + target.str() + " and " + leaf.device().str() +
                  "; name the device");
    total += (leaf_bytes(leaf) + kStorageAlignment - 1) / kStorageAlignment * kStorageAlignment;
  }
  const auto options = at::TensorOptions(at::kByte).device(target);
  const at::Tensor storage =
      guarded([&] { return "tensordict: consolidate " + std::to_string(total) + " bytes on " + target.str(); },
              [&] { return at::empty({total}, options); });
  std::int64_t offset = 0;
  const auto place = [&](const std::string&, at::ArrayRef<at::Tensor> leaf) {
    at::Tensor copy = placed(storage, offset, leaf[0]);
    offset += (leaf_bytes(leaf[0]) + kStorageAlignment - 1) / kStorageAlignment * kStorageAlignment;
    const c10::NoGradGuard no_grad;
    return copy.copy_(leaf[0]);
  };
  TensorDict result = zip({*this}, "consolidate", place, batch_size(), wanted ? target : device());
  result.set_consolidated(storage);
  return result;
}

TensorDict& TensorDict::update(const TensorDict& source) {
  for (const auto& [name, value] : source.items()) {
    const bool merge = !value.is_tensor() && contains(name) && find_level(name, 1);
    if (merge)
      nested(name).update(value.dict());
    else
      set(name, value.is_tensor() ? value : Value(value.dict().clone(false)));
  }
  return *this;
}

TensorDict& TensorDict::update_(const TensorDict& source) {
  const auto items = source.items(true, true);
  for (const auto& [key, value] : items) get(key);  // a missing key before anything is written
  for (const auto& [key, value] : items) set_(key, value.tensor());
  return *this;
}

TensorDict& TensorDict::copy_(const TensorDict& source) {
  leaves_like(*this, source, "copy_");
  return update_(source);
}

std::map<std::string, at::Tensor> TensorDict::state_dict() const {
  std::map<std::string, at::Tensor> state;
  for (const auto& [key, value] : items(true, true))
    if (!state.emplace(replaced(key, "/", "."), value.tensor()).second)
      throw Error("tensordict: state_dict: two keys become '" + replaced(key, "/", ".") + "'");
  return state;
}

TensorDict& TensorDict::load_state_dict(const std::map<std::string, at::Tensor>& state, bool strict) {
  const auto own = state_dict();
  Keys own_keys, given_keys;
  for (const auto& [key, leaf] : own) own_keys.push_back(key);
  for (const auto& [key, leaf] : state) given_keys.push_back(key);
  for (const std::string& key : given_keys)
    if (strict && !own.count(key))
      throw Error("tensordict: load_state_dict: unknown key '" + key + "'" + suggestion(key, own_keys));
  for (const std::string& key : own_keys)
    if (strict && !state.count(key))
      throw Error("tensordict: load_state_dict: no value for key '" + key + "'" + suggestion(key, given_keys));
  for (const auto& [key, leaf] : own) {
    const auto given = state.find(key);
    if (given != state.end() && given->second.sizes() != leaf.sizes())
      throw Error("tensordict: load_state_dict: '" + key + "' has shape " + shape_text(given->second.sizes()) +
                  ", not " + shape_text(leaf.sizes()));
  }
  const c10::NoGradGuard no_grad;
  for (auto [key, leaf] : own)
    if (const auto given = state.find(key); given != state.end()) leaf.copy_(given->second);
  return *this;
}

TensorDict& TensorDict::requires_grad_(bool value) {
  for (const std::string& key : keys(true, true)) {
    const at::Tensor leaf = get(key);
    guarded([&] { return "tensordict: requires_grad_ of '" + key + "'"; }, [&] { return leaf.requires_grad_(value); });
  }
  return *this;
}

TensorDict TensorDict::detach() const {
  return map_leaves(
      *this, "detach", [](const at::Tensor& leaf) { return leaf.detach(); }, batch_size());
}

TensorDict TensorDict::grad() const {
  return map_leaves(
      *this, "grad", [](const at::Tensor& leaf) { return leaf.grad(); }, batch_size());
}

TensorDict& TensorDict::zero_grad(bool set_to_none) {
  for (at::Tensor leaf : leaves()) {
    at::Tensor& grad = leaf.mutable_grad();
    if (!grad.defined()) continue;
    if (set_to_none)
      grad.reset();
    else
      grad.detach_().zero_();
  }
  return *this;
}

TensorDict TensorDict::select(const Keys& wanted, bool strict) const {
  TensorDict result(batch_size(), device());
  for (const NestedKey key : wanted) {
    if (!contains(key)) {
      if (strict) throw_missing(key);
      continue;
    }
    // the levels above a selected entry keep their own batch size
    for (std::size_t depth = 1; depth < key.parts().size(); ++depth) {
      std::string path;
      for (std::size_t i = 0; i < depth; ++i) path += (i ? "/" : "") + key.parts()[i];
      if (!result.contains(path)) result.set(path, TensorDict(nested(path).batch_size(), nested(path).device()));
    }
    if (find_level(key, key.parts().size()))
      result.set(key, nested(key).clone(false));
    else
      result.set(key, get(key));
  }
  return result;
}

TensorDict TensorDict::exclude(const Keys& unwanted) const {
  TensorDict result = clone(false);
  for (const std::string& key : unwanted)
    if (result.contains(key)) result.del_(key);
  return result;
}

std::vector<TensorDict> TensorDict::split_keys(const std::vector<Keys>& sets) const {
  std::vector<TensorDict> parts;
  TensorDict rest = clone(false);
  for (const Keys& keys : sets) {
    parts.push_back(rest.select(keys));
    for (const std::string& key : keys) rest.del_(key);
  }
  parts.push_back(rest);
  return parts;
}

TensorDict TensorDict::replace(const TensorDict& entries) const { return clone(false).update(entries); }

TensorDict TensorDict::flatten_keys(const std::string& separator) const {
  if (separator.empty() || separator.find('/') != std::string::npos)
    throw Error("tensordict: flatten_keys: separator '" + separator + "' is empty or holds '/'");
  TensorDict result(batch_size(), device());
  for (const auto& [key, value] : items(true, true)) {
    const std::string flat = replaced(key, "/", separator);
    if (result.contains(flat)) throw Error("tensordict: flatten_keys: two keys become '" + flat + "'");
    result.set(flat, value);
  }
  return result;
}

TensorDict TensorDict::unflatten_keys(const std::string& separator) const {
  if (separator.empty()) throw Error("tensordict: unflatten_keys: the separator is empty");
  TensorDict result(batch_size(), device());
  for (const auto& [key, value] : items()) {
    const std::string nested_key = replaced(key, separator, "/");
    if (result.contains(nested_key)) throw Error("tensordict: unflatten_keys: two keys become '" + nested_key + "'");
    result.set(nested_key, value.is_tensor() ? value : Value(value.dict().unflatten_keys(separator)));
  }
  return result;
}

TensorDict TensorDict::empty(bool recurse) const {
  TensorDict result(batch_size(), device());
  for (const auto& [name, value] : items())
    if (recurse && !value.is_tensor()) result.set(name, value.dict().empty(true));
  return result;
}

TensorDict from_parameters(const NamedTensors& parameters) {
  TensorDict result;
  for (const auto& [name, parameter] : parameters) {
    const std::string key = replaced(name, ".", "/");
    if (result.contains(key)) throw Error("tensordict: from_parameters: '" + name + "' is there twice");
    result.set(key, parameter);
  }
  return result;
}

void to_parameters(const TensorDict& values, const NamedTensors& parameters) {
  from_parameters(parameters).load_state_dict(values.state_dict());
}

}  // namespace hotloop
