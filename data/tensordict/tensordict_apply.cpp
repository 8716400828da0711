// The walk over levels, functions applied to leaves, masks and reductions.
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "data/tensordict/tensordict_node.h"

namespace hotloop {
namespace tensordict_detail {

std::string shape_text(at::IntArrayRef shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::int64_t wrap_dim(std::int64_t dim, std::int64_t count, const std::string& op) {
  if (dim < -count || dim >= count)
    throw Error("tensordict: " + op + ": dimension " + std::to_string(dim) + " of " + std::to_string(count) +
                " batch dimensions");
  return dim < 0 ? dim + count : dim;
}

namespace {

// Error naming the first key that only one of the two sorted lists has.
void check_same_keys(const TensorDict::Keys& left, const TensorDict::Keys& right, const std::string& prefix,
                     const std::string& op) {
  if (left == right) return;
  const auto missing_from = [&](const TensorDict::Keys& from, const TensorDict::Keys& keys) {
    for (const std::string& key : keys)
      if (std::find(from.begin(), from.end(), key) == from.end())
        throw Error("tensordict: " + op + ": only one side has key '" + prefix + key + "'" + suggestion(key, from));
  };
  missing_from(right, left);
  missing_from(left, right);
}

TensorDict zip_level(const std::vector<TensorDict>& operands, const std::string& prefix, const std::string& op,
                     const ZipFunction& function, const Shape& batch_size, std::optional<at::Device> device,
                     std::size_t old_dims) {
  const TensorDict& first = operands.front();
  for (std::size_t i = 1; i < operands.size(); ++i) check_same_keys(first.keys(), operands[i].keys(), prefix, op);
  Shape level_batch = batch_size;
  level_batch.insert(level_batch.end(), first.batch_size().begin() + static_cast<std::ptrdiff_t>(old_dims),
                     first.batch_size().end());
  TensorDict result(level_batch, device);
  for (const auto& [name, value] : first.items()) {
    std::vector<at::Tensor> leaves;
    std::vector<TensorDict> dicts;
    for (const TensorDict& operand : operands) {
      if (value.is_tensor())
        leaves.push_back(operand.get(name));
      else
        dicts.push_back(operand.nested(name));
    }
    const std::string key = prefix + name;
    if (value.is_tensor()) {
      const at::Tensor leaf =
          guarded([&] { return "tensordict: " + op + " of '" + key + "'"; }, [&] { return function(key, leaves); });
      if (leaf.defined()) result.set(name, leaf);
    } else {
      const TensorDict level = zip_level(dicts, key + "/", op, function, batch_size, device, old_dims);
      // a level goes with its last leaf, but one that never had any stays
      if (dicts.front().keys().empty() || !level.keys().empty()) result.set(name, level);
    }
  }
  return result;
}

}  // namespace

TensorDict zip(const std::vector<TensorDict>& operands, const std::string& op, const ZipFunction& function,
               const Shape& batch_size, std::optional<at::Device> device) {
  return zip_level(operands, "", op, function, batch_size, device, operands.front().batch_size().size());
}

TensorDict map_leaves(const TensorDict& td, const std::string& op,
                      const std::function<at::Tensor(const at::Tensor&)>& f, const Shape& batch_size) {
  return zip(
      {td}, op, [&](const std::string&, at::ArrayRef<at::Tensor> leaf) { return f(leaf[0]); }, batch_size, td.device());
}

std::vector<at::Tensor> leaves_like(const TensorDict& td, const TensorDict& other, const std::string& op) {
  check_same_keys(td.keys(true, true), other.keys(true, true), "", op);
  return other.leaves();
}

TensorDict with_leaves(const TensorDict& td, const std::vector<at::Tensor>& leaves, const std::string& op) {
  std::size_t next = 0;
  return map_leaves(
      td, op, [&](const at::Tensor&) { return leaves[next++]; }, td.batch_size());
}

at::Tensor expand_right(const at::Tensor& mask, std::int64_t dims) {
  Shape shape = mask.sizes().vec();
  shape.resize(static_cast<std::size_t>(std::max(dims, mask.dim())), 1);
  return mask.reshape(shape);
}

void check_mask(const TensorDict& td, const at::Tensor& mask, const std::string& op) {
  const bool fits = mask.dim() >= 1 && mask.dim() <= td.batch_dims() &&
                    std::equal(mask.sizes().begin(), mask.sizes().end(), td.batch_size().begin());
  if (!fits || mask.scalar_type() != at::kBool)
    throw Error("tensordict: " + op + ": the mask is " + c10::toString(mask.scalar_type()) + shape_text(mask.sizes()) +
                ", not Bool of the leading dimensions of batch size " + shape_text(td.batch_size()));
}

}  // namespace tensordict_detail

using namespace tensordict_detail;

TensorDict TensorDict::apply(const LeafFunction& function, std::optional<Shape> batch) const {
  return map_leaves(*this, "apply", function, batch.value_or(batch_size()));
}

TensorDict TensorDict::named_apply(const NamedLeafFunction& function, std::optional<Shape> batch) const {
  const ZipFunction f = [&](const std::string& key, at::ArrayRef<at::Tensor> leaf) { return function(key, leaf[0]); };
  return zip({*this}, "named_apply", f, batch.value_or(batch_size()), device());
}

TensorDict TensorDict::apply(const std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>& function,
                             const TensorDict& other) const {
  const ZipFunction f = [&](const std::string&, at::ArrayRef<at::Tensor> leaf) { return function(leaf[0], leaf[1]); };
  return zip({*this, other}, "apply", f, batch_size(), device());
}

TensorDict& TensorDict::apply_(const LeafFunction& function) {
  for (const std::string& key : keys(true, true)) {
    const at::Tensor leaf = get(key);
    const at::Tensor result =
        guarded([&] { return "tensordict: apply_ of '" + key + "'"; }, [&] { return function(leaf); });
    if (result.defined() && !result.is_same(leaf)) set_(key, result);
  }
  return *this;
}

TensorDict TensorDict::masked_select(const at::Tensor& mask) const {
  check_mask(*this, mask, "masked_select");
  return index({mask});
}

TensorDict TensorDict::masked_fill(const at::Tensor& mask, const at::Scalar& value) const {
  check_mask(*this, mask, "masked_fill");
  const auto fill = [&](const at::Tensor& leaf) { return leaf.masked_fill(expand_right(mask, leaf.dim()), value); };
  return map_leaves(*this, "masked_fill", fill, batch_size());
}

TensorDict& TensorDict::masked_fill_(const at::Tensor& mask, const at::Scalar& value) {
  check_mask(*this, mask, "masked_fill_");
  return apply_([&](at::Tensor leaf) { return leaf.masked_fill_(expand_right(mask, leaf.dim()), value); });
}

TensorDict TensorDict::where(const at::Tensor& condition, const TensorDict& other,
                             std::optional<at::Scalar> fill) const {
  check_mask(*this, condition, "where");
  TensorDict left = *this, right = other;
  if (fill) {
    left = clone(false), right = other.clone(false);
    const auto complete = [&](TensorDict& to, const TensorDict& from) {
      for (const std::string& key : from.keys(true, true))
        if (!to.contains(key)) to.set(key, at::full_like(from.get(key), *fill));
    };
    complete(left, other), complete(right, *this);
  }
  const ZipFunction f = [&](const std::string&, at::ArrayRef<at::Tensor> leaf) {
    return at::where(expand_right(condition, leaf[0].dim()), leaf[0], leaf[1]);
  };
  return zip({left, right}, "where", f, batch_size(), device());
}

TensorDict TensorDict::where(const at::Tensor& condition, const at::Scalar& other) const {
  check_mask(*this, condition, "where");
  return masked_fill(condition.logical_not(), other);
}

TensorDict pad(const TensorDict& td, at::IntArrayRef pad_size, const at::Scalar& value) {
  if (static_cast<std::int64_t>(pad_size.size()) > 2 * td.batch_dims() || pad_size.size() % 2)
    throw Error("tensordict: pad: " + shape_text(pad_size) + " is not a pair for each of at most " +
                std::to_string(td.batch_dims()) + " batch dimensions");
  Shape batch = td.batch_size();
  for (std::size_t i = 0; i < pad_size.size(); ++i) {
    if (pad_size[i] < 0) throw Error("tensordict: pad: " + shape_text(pad_size) + " has a negative size");
    batch[i / 2] += pad_size[i];
  }
  const auto fill = [&](const at::Tensor& leaf) {
    Shape sizes(static_cast<std::size_t>(2 * leaf.dim()), 0);  // LibTorch lists the last dimension first
    for (std::size_t i = 0; i < pad_size.size(); i += 2) {
      sizes[sizes.size() - 2 - i] = pad_size[i];
      sizes[sizes.size() - 1 - i] = pad_size[i + 1];
    }
    return at::constant_pad_nd(leaf, sizes, value);
  };
  return map_leaves(td, "pad", fill, batch);
}

TensorDict zeros_like(const TensorDict& td) {
  return td.apply([](const at::Tensor& leaf) { return at::zeros_like(leaf); });
}
TensorDict ones_like(const TensorDict& td) {
  return td.apply([](const at::Tensor& leaf) { return at::ones_like(leaf); });
}
TensorDict empty_like(const TensorDict& td) {
  return td.apply([](const at::Tensor& leaf) { return at::empty_like(leaf); });
}

TensorDict& TensorDict::fill_(const NestedKey& key, const at::Scalar& value) {
  const auto fill = [&](at::Tensor leaf) { return leaf.fill_(value); };
  if (contains(key) && find_level(key, key.parts().size())) {
    nested(key).apply_(fill);
  } else {
    at::Tensor leaf = get(key);
    guarded([&] { return "tensordict: fill_ '" + key.str() + "'"; }, [&] { return fill(leaf); });
  }
  return *this;
}

bool TensorDict::all() const {
  for (const at::Tensor& leaf : leaves())
    if (!leaf.all().item<bool>()) return false;
  return true;
}

bool TensorDict::any() const {
  for (const at::Tensor& leaf : leaves())
    if (leaf.any().item<bool>()) return true;
  return false;
}

namespace {

TensorDict reduced(const TensorDict& td, std::int64_t dim, const std::string& op,
                   const std::function<at::Tensor(const at::Tensor&, std::int64_t)>& f) {
  const std::int64_t at_dim = wrap_dim(dim, td.batch_dims(), op);
  Shape batch = td.batch_size();
  batch.erase(batch.begin() + at_dim);
  return map_leaves(
      td, op, [&](const at::Tensor& leaf) { return f(leaf, at_dim); }, batch);
}

}  // namespace

TensorDict TensorDict::all(std::int64_t dim) const {
  return reduced(*this, dim, "all", [](const at::Tensor& leaf, std::int64_t d) { return leaf.all(d); });
}

TensorDict TensorDict::any(std::int64_t dim) const {
  return reduced(*this, dim, "any", [](const at::Tensor& leaf, std::int64_t d) { return leaf.any(d); });
}

TensorDict TensorDict::isfinite() const {
  return apply([](const at::Tensor& leaf) { return at::isfinite(leaf); });
}

TensorDict TensorDict::isnan() const {
  return apply([](const at::Tensor& leaf) { return at::isnan(leaf); });
}

}  // namespace hotloop
