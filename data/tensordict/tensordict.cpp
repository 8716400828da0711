#include "data/tensordict/tensordict.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

#include "data/tensordict/tensordict_node.h"

namespace hotloop {
namespace {

using tensordict_detail::guarded;
using tensordict_detail::shape_text;

// "cuda" means the current card, as in PyTorch: a leaf's device always has an index.
std::optional<at::Device> with_index(std::optional<at::Device> device) {
  if (device && !device->is_cpu() && !device->has_index())
    return guarded([&] { return "tensordict: device '" + device->str() + "'"; },
                   [&] { return at::Device(c10::impl::VirtualGuardImpl(device->type()).getDevice()); });
  return device;
}

bool begins_with(at::IntArrayRef shape, const Shape& batch_size) {
  return shape.size() >= batch_size.size() && std::equal(batch_size.begin(), batch_size.end(), shape.begin());
}

void check_batch(const std::string& key, at::IntArrayRef shape, const Shape& batch_size) {
  if (!begins_with(shape, batch_size))
    throw Error("tensordict: '" + key + "' has shape " + shape_text(shape) + ", which does not begin with batch size " +
                shape_text(batch_size));
}

bool reaches(const TensorDict& from, const TensorDict& wanted) {
  if (from.is_same(wanted)) return true;
  for (const TensorDict::Value& value : from.values())
    if (!value.is_tensor() && reaches(value.dict(), wanted)) return true;
  return false;
}

std::string joined(const std::string& prefix, const std::string& part) {
  return prefix.empty() ? part : prefix + "/" + part;
}

}  // namespace

TensorDict::TensorDict(Shape batch_size, std::optional<at::Device> device) : node_(std::make_shared<Node>()) {
  for (const std::int64_t n : batch_size)
    if (n < 0) throw Error("tensordict: batch size " + shape_text(batch_size) + " has a negative dimension");
  node_->batch_size = std::move(batch_size);
  node_->device = with_index(device);
}

TensorDict::TensorDict(std::initializer_list<Entry> entries, Shape batch_size, std::optional<at::Device> device)
    : TensorDict(std::move(batch_size), device) {
  for (const Entry& entry : entries) set(entry.key, entry.value);
}

const Shape& TensorDict::batch_size() const { return node_->batch_size; }
std::optional<at::Device> TensorDict::device() const { return node_->device; }

std::int64_t TensorDict::size(std::int64_t dim) const {
  return batch_size()[static_cast<std::size_t>(tensordict_detail::wrap_dim(dim, batch_dims(), "size"))];
}

std::int64_t TensorDict::numel() const {
  std::int64_t n = 1;
  for (const std::int64_t size : batch_size()) n *= size;
  return std::max<std::int64_t>(n, 1);
}

std::int64_t TensorDict::param_count() const {
  std::int64_t n = 0;
  for (const at::Tensor& leaf : leaves()) n += leaf.numel();
  return n;
}

std::int64_t TensorDict::bytes() const {
  std::int64_t n = 0;
  for (const at::Tensor& leaf : leaves()) n += leaf.numel() * static_cast<std::int64_t>(leaf.element_size());
  return n;
}

TensorDict& TensorDict::set_batch_size(Shape batch_size) {
  for (const std::string& key : keys(true, true)) check_batch(key, get(key).sizes(), batch_size);
  for (auto& [name, value] : node_->entries) {
    if (value.is_tensor()) continue;
    TensorDict dict = value.dict();
    if (!begins_with(dict.batch_size(), batch_size)) dict.set_batch_size(batch_size);
  }
  node_->batch_size = std::move(batch_size);
  return *this;
}

const TensorDict::Node* TensorDict::find_level(const NestedKey& key, std::size_t depth) const {
  const Node* node = node_.get();
  for (std::size_t i = 0; i < depth; ++i) {
    const auto found = node->entries.find(key.parts()[i]);
    if (found == node->entries.end() || found->second.is_tensor()) return nullptr;
    node = found->second.dict_.get();
  }
  return node;
}

void TensorDict::throw_missing(const NestedKey& key) const {
  throw Error("tensordict: no key '" + key.str() + "'" + suggestion(key.str(), keys(true)));
}

at::Tensor TensorDict::get(const NestedKey& key) const {
  const Node* level = find_level(key, key.parts().size() - 1);
  if (!level) throw_missing(key);
  const auto found = level->entries.find(key.parts().back());
  if (found == level->entries.end()) throw_missing(key);
  if (!found->second.is_tensor())
    throw Error("tensordict: '" + key.str() + "' is a nested TensorDict, not a tensor; nested() returns it");
  return found->second.tensor();
}

at::Tensor TensorDict::get(const NestedKey& key, at::Tensor otherwise) const {
  return contains(key) ? get(key) : std::move(otherwise);
}

TensorDict TensorDict::nested(const NestedKey& key) const {
  if (find_level(key, key.parts().size())) {
    const Node* parent = find_level(key, key.parts().size() - 1);
    return parent->entries.at(key.parts().back()).dict();
  }
  if (contains(key)) throw Error("tensordict: '" + key.str() + "' is a tensor, not a nested TensorDict");
  throw_missing(key);
}

bool TensorDict::contains(const NestedKey& key) const {
  const Node* level = find_level(key, key.parts().size() - 1);
  return level && level->entries.count(key.parts().back()) > 0;
}

// The node whose entries change when `key` is set or removed; nested levels that are missing are made.
std::shared_ptr<TensorDict::Node> TensorDict::level_for_write(const NestedKey& key) {
  std::shared_ptr<Node> node = node_;
  for (std::size_t i = 0; i + 1 < key.parts().size(); ++i) {
    const auto found = node->entries.find(key.parts()[i]);
    if (found != node->entries.end()) {
      if (found->second.is_tensor())
        throw Error("tensordict: cannot set '" + key.str() + "': '" + key.parts()[i] + "' is a tensor");
      node = found->second.dict_;
      continue;
    }
    if (node->locked) throw Error("tensordict: cannot set '" + key.str() + "': the TensorDict is locked");
    const TensorDict level(node->batch_size, node->device);
    node->entries.emplace(key.parts()[i], Value(level));
    node = level.node_;
  }
  if (node->locked) throw Error("tensordict: cannot change '" + key.str() + "': the TensorDict is locked");
  return node;
}

TensorDict& TensorDict::set(const NestedKey& key, const Value& value, bool inplace) {
  if (inplace && value.is_tensor() && contains(key)) return set_(key, value.tensor());
  if (value.is_tensor() && !value.tensor().defined())
    throw Error("tensordict: '" + key.str() + "' is set to an undefined tensor");
  // checked against the deepest level that is there, so that a wrong value makes no new levels
  const Node* deepest = node_.get();
  for (std::size_t i = 1; i < key.parts().size(); ++i)
    if (const Node* level = find_level(key, i)) deepest = level;
  const Shape batch_size = deepest->batch_size;
  if (value.is_tensor()) {
    check_batch(key.str(), value.tensor().sizes(), batch_size);
    const std::shared_ptr<Node> level = level_for_write(key);
    const auto move = [&] { return level->device ? value.tensor().to(*level->device) : value.tensor(); };
    level->entries.insert_or_assign(key.parts().back(),
                                    guarded([&] { return "tensordict: set '" + key.str() + "'"; }, move));
    return *this;
  }
  TensorDict dict = value.dict();
  if (!begins_with(dict.batch_size(), batch_size)) {
    if (dict.batch_dims() >= static_cast<std::int64_t>(batch_size.size()))
      check_batch(key.str(), dict.batch_size(), batch_size);
    dict = dict.clone(false).set_batch_size(batch_size);
  }
  const std::shared_ptr<Node> level = level_for_write(key);
  if (reaches(dict, TensorDict(level))) throw Error("tensordict: '" + key.str() + "' would hold itself");
  if (level->device && dict.device() != level->device) dict = dict.to(*level->device);
  level->entries.insert_or_assign(key.parts().back(), Value(dict));
  return *this;
}

TensorDict& TensorDict::set_(const NestedKey& key, const at::Tensor& value) {
  at::Tensor leaf = get(key);
  if (value.sizes() != leaf.sizes())
    throw Error("tensordict: set_ '" + key.str() + "': shape " + shape_text(value.sizes()) + " does not fit " +
                shape_text(leaf.sizes()));
  guarded([&] { return "tensordict: set_ '" + key.str() + "'"; }, [&] { return leaf.copy_(value); });
  return *this;
}

at::Tensor TensorDict::setdefault(const NestedKey& key, const at::Tensor& value) {
  if (!contains(key)) set(key, value);
  return get(key);
}

at::Tensor TensorDict::pop(const NestedKey& key) {
  at::Tensor leaf = get(key);
  del_(key);
  return leaf;
}

TensorDict& TensorDict::del_(const NestedKey& key) {
  if (!contains(key)) throw_missing(key);
  level_for_write(key)->entries.erase(key.parts().back());
  return *this;
}

TensorDict& TensorDict::rename_key_(const NestedKey& from, const NestedKey& to) {
  if (!contains(from)) throw_missing(from);
  if (from.str() == to.str()) return *this;
  if (to.str().rfind(from.str() + "/", 0) == 0)
    throw Error("tensordict: cannot rename '" + from.str() + "' to '" + to.str() + "', which lies inside it");
  const Value value = find_level(from, from.parts().size() - 1)->entries.at(from.parts().back());
  level_for_write(from);
  set(to, value);
  return del_(from);
}

TensorDict::Keys TensorDict::keys(bool include_nested, bool leaves_only) const {
  Keys names;
  for (const auto& item : items(include_nested, leaves_only)) names.push_back(item.first);
  return names;
}

std::vector<TensorDict::Value> TensorDict::values(bool include_nested, bool leaves_only) const {
  std::vector<Value> all;
  for (const auto& item : items(include_nested, leaves_only)) all.push_back(item.second);
  return all;
}

std::vector<std::pair<std::string, TensorDict::Value>> TensorDict::items(bool include_nested, bool leaves_only) const {
  std::vector<std::pair<std::string, Value>> all;
  const std::function<void(const Node&, const std::string&)> visit = [&](const Node& node, const std::string& prefix) {
    for (const auto& [name, value] : node.entries) {
      if (value.is_tensor() || !leaves_only) all.emplace_back(joined(prefix, name), value);
      if (!value.is_tensor() && include_nested) visit(*value.dict_, joined(prefix, name));
    }
  };
  visit(*node_, "");
  return all;
}

std::vector<at::Tensor> TensorDict::leaves() const {
  std::vector<at::Tensor> all;
  for (const Value& value : values(true, true)) all.push_back(value.tensor());
  return all;
}

TensorDict& TensorDict::lock_() {
  const std::function<void(const std::shared_ptr<Node>&)> lock = [&](const std::shared_ptr<Node>& node) {
    node->locked = true;
    for (auto& [name, value] : node->entries) {
      if (value.is_tensor()) continue;
      auto& parents = value.dict_->lock_parents;
      const auto is_node = [&](const std::weak_ptr<Node>& p) { return p.lock() == node; };
      if (std::none_of(parents.begin(), parents.end(), is_node)) parents.push_back(node);
      lock(value.dict_);
    }
  };
  lock(node_);
  return *this;
}

TensorDict& TensorDict::unlock_() {
  const auto held = [](const Node& node) {
    const auto locks = [](const std::weak_ptr<Node>& p) {
      const std::shared_ptr<Node> parent = p.lock();
      return parent && parent->locked;
    };
    return std::any_of(node.lock_parents.begin(), node.lock_parents.end(), locks);
  };
  if (held(*node_)) throw Error("tensordict: cannot unlock a nested TensorDict whose parent is locked");
  const std::function<void(Node&)> unlock = [&](Node& node) {
    if (held(node)) return;  // another locked TensorDict holds it too
    node.locked = false;
    node.storage = at::Tensor();
    node.lock_parents.clear();
    for (auto& [name, value] : node.entries)
      if (!value.is_tensor()) unlock(*value.dict_);
  };
  unlock(*node_);
  return *this;
}

bool TensorDict::is_locked() const { return node_->locked; }
at::Tensor TensorDict::storage() const { return node_->storage; }
void TensorDict::set_consolidated(at::Tensor storage) {
  lock_();
  node_->storage = std::move(storage);
}

}  // namespace hotloop
