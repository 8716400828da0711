// Indexing and shape of the batch dimensions.
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <numeric>

#include "data/tensordict/tensordict_node.h"

namespace hotloop {

using namespace tensordict_detail;

namespace {

using at::indexing::TensorIndex;

Shape tail_of(const at::Tensor& leaf, std::size_t batch_dims) { return leaf.sizes().slice(batch_dims).vec(); }

Shape concatenated(Shape a, at::IntArrayRef b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::int64_t product(at::IntArrayRef sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

// Replaces one -1 so that `shape` has `numel` elements. Error where none does.
Shape inferred(at::IntArrayRef shape, std::int64_t numel, const std::string& op) {
  Shape result = shape.vec();
  const auto unknown = std::find(result.begin(), result.end(), -1);
  if (unknown != result.end()) {
    *unknown = 1;
    const std::int64_t known = product(result);
    *unknown = known > 0 ? numel / known : -1;
  }
  if (std::any_of(result.begin(), result.end(), [](std::int64_t n) { return n < 0; }) || product(result) != numel)
    throw Error("tensordict: " + op + ": shape " + shape_text(shape) + " does not fit a batch of " +
                std::to_string(numel));
  return result;
}

template <class F>  // f(leaf, shape that the leaf takes)
TensorDict reshaped(const TensorDict& td, const std::string& op, const Shape& batch, F f) {
  const auto dims = static_cast<std::size_t>(td.batch_dims());
  return map_leaves(
      td, op, [&](const at::Tensor& leaf) { return f(leaf, concatenated(batch, tail_of(leaf, dims))); }, batch);
}

// Indices for the batch dimensions alone: "..." becomes whole slices, so that it cannot reach into a leaf's own
// dimensions, and a mask is looked up once instead of once a leaf.
std::vector<TensorIndex> batch_indices(const TensorDict& td, at::ArrayRef<TensorIndex> indices) {
  std::int64_t used = 0;
  int ellipses = 0;
  const auto is_mask = [](const TensorIndex& i) { return i.is_tensor() && i.tensor().scalar_type() == at::kBool; };
  for (const TensorIndex& i : indices) {
    if (is_mask(i))
      used += i.tensor().dim();
    else if (i.is_integer() || i.is_slice() || i.is_tensor())
      ++used;
    ellipses += i.is_ellipsis() ? 1 : 0;
  }
  if (used > td.batch_dims() || ellipses > 1)
    throw Error("tensordict: index: " + std::to_string(used) + " indices and " + std::to_string(ellipses) +
                " '...' for " + std::to_string(td.batch_dims()) + " batch dimensions");
  std::vector<TensorIndex> result;
  std::int64_t dim = 0;
  for (const TensorIndex& i : indices) {
    if (i.is_ellipsis()) {
      const std::int64_t rest = td.batch_dims() - used;
      result.insert(result.end(), static_cast<std::size_t>(rest), at::indexing::Slice());
      dim += rest;
    } else if (is_mask(i)) {
      const at::Tensor& mask = i.tensor();
      for (std::int64_t d = 0; d < mask.dim(); ++d)
        if (mask.size(d) != td.batch_size()[static_cast<std::size_t>(dim + d)])
          throw Error("tensordict: index: a mask of shape " + shape_text(mask.sizes()) + " does not fit batch size " +
                      shape_text(td.batch_size()) + " at dimension " + std::to_string(dim));
      for (const at::Tensor& positions : mask.nonzero_numpy()) result.emplace_back(positions);
      dim += mask.dim();
    } else {
      result.push_back(i);
      dim += i.is_none() || i.is_boolean() ? 0 : 1;
    }
  }
  return result;
}

// The batch size after indexing. A leaf without elements of its own shows it at no cost.
Shape indexed_batch(const TensorDict& td, const std::vector<TensorIndex>& indices) {
  at::Device device = at::kCPU;
  for (const TensorIndex& i : indices)
    if (i.is_tensor()) device = i.tensor().device();
  const at::Tensor shown = at::empty(concatenated(td.batch_size(), {0}), at::TensorOptions(at::kByte).device(device));
  Shape batch =
      guarded([] { return std::string("tensordict: index"); }, [&] { return shown.index(indices); }).sizes().vec();
  batch.pop_back();
  return batch;
}

}  // namespace

TensorDict TensorDict::index(at::ArrayRef<TensorIndex> indices) const {
  const std::vector<TensorIndex> all = batch_indices(*this, indices);
  return map_leaves(
      *this, "index", [&](const at::Tensor& leaf) { return leaf.index(all); }, indexed_batch(*this, all));
}

TensorDict TensorDict::index(std::initializer_list<TensorIndex> indices) const {
  return index(at::ArrayRef<TensorIndex>(indices));
}

TensorDict& TensorDict::index_put_(at::ArrayRef<TensorIndex> indices, const TensorDict& value) {
  const std::vector<TensorIndex> all = batch_indices(*this, indices);
  for (const std::string& key : value.keys(true, true)) get(key);
  for (const std::string& key : value.keys(true, true)) {
    at::Tensor leaf = get(key);
    guarded([&] { return "tensordict: index_put_ '" + key + "'"; },
            [&] { return leaf.index_put_(all, value.get(key)); });
  }
  return *this;
}

TensorDict& TensorDict::index_put_(at::ArrayRef<TensorIndex> indices, const at::Scalar& value) {
  const std::vector<TensorIndex> all = batch_indices(*this, indices);
  return apply_([&](at::Tensor leaf) { return leaf.index_put_(all, value); });
}

at::Tensor TensorDict::get_at(const NestedKey& key, at::ArrayRef<TensorIndex> indices) const {
  return guarded([&] { return "tensordict: get_at '" + key.str() + "'"; }, [&] { return get(key).index(indices); });
}

TensorDict& TensorDict::set_at_(const NestedKey& key, const at::Tensor& value, at::ArrayRef<TensorIndex> indices) {
  at::Tensor leaf = get(key);
  guarded([&] { return "tensordict: set_at_ '" + key.str() + "'"; }, [&] { return leaf.index_put_(indices, value); });
  return *this;
}

TensorDict& TensorDict::copy_at_(const TensorDict& source, at::ArrayRef<TensorIndex> indices) {
  return index_put_(indices, source);
}

TensorDict TensorDict::view(at::IntArrayRef shape) const {
  return reshaped(*this, "view", inferred(shape, product(batch_size()), "view"),
                  [](const at::Tensor& leaf, const Shape& to) { return leaf.view(to); });
}

TensorDict TensorDict::reshape(at::IntArrayRef shape) const {
  return reshaped(*this, "reshape", inferred(shape, product(batch_size()), "reshape"),
                  [](const at::Tensor& leaf, const Shape& to) { return leaf.reshape(to); });
}

TensorDict TensorDict::flatten(std::int64_t start_dim, std::int64_t end_dim) const {
  const auto first = static_cast<std::size_t>(wrap_dim(start_dim, batch_dims(), "flatten"));
  const auto last = static_cast<std::size_t>(wrap_dim(end_dim, batch_dims(), "flatten"));
  if (first > last)
    throw Error("tensordict: flatten: dimension " + std::to_string(first) + " comes after " + std::to_string(last));
  const at::IntArrayRef old = batch_size();
  Shape batch = old.slice(0, first).vec();
  batch.push_back(product(old.slice(first, last - first + 1)));
  return reshape(concatenated(batch, old.slice(last + 1)));
}

TensorDict TensorDict::unflatten(std::int64_t dim, at::IntArrayRef sizes) const {
  const auto at_dim = static_cast<std::size_t>(wrap_dim(dim, batch_dims(), "unflatten"));
  const at::IntArrayRef old = batch_size();
  const Shape batch = concatenated(old.slice(0, at_dim).vec(), inferred(sizes, old[at_dim], "unflatten"));
  return reshaped(*this, "unflatten", concatenated(batch, old.slice(at_dim + 1)),
                  [](const at::Tensor& leaf, const Shape& to) { return leaf.view(to); });
}

TensorDict TensorDict::permute(at::IntArrayRef dims) const {
  Shape order, batch;
  for (const std::int64_t dim : dims) {
    order.push_back(wrap_dim(dim, batch_dims(), "permute"));
    batch.push_back(batch_size()[static_cast<std::size_t>(order.back())]);
  }
  Shape sorted = order, all(batch_size().size());
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), std::int64_t{0});
  if (sorted != all)
    throw Error("tensordict: permute: " + shape_text(dims) + " is not a permutation of " + std::to_string(all.size()) +
                " batch dimensions");
  const auto permuted = [&](const at::Tensor& leaf) {
    Shape leaf_order = order;
    for (std::int64_t d = batch_dims(); d < leaf.dim(); ++d) leaf_order.push_back(d);
    return leaf.permute(leaf_order);
  };
  return map_leaves(*this, "permute", permuted, batch);
}

TensorDict TensorDict::transpose(std::int64_t dim0, std::int64_t dim1) const {
  Shape order(batch_size().size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::swap(order[static_cast<std::size_t>(wrap_dim(dim0, batch_dims(), "transpose"))],
            order[static_cast<std::size_t>(wrap_dim(dim1, batch_dims(), "transpose"))]);
  return permute(order);
}

TensorDict TensorDict::squeeze() const {
  TensorDict result = clone(false);
  for (std::int64_t dim = batch_dims() - 1; dim >= 0; --dim) result = result.squeeze(dim);
  return result;
}

TensorDict TensorDict::squeeze(std::int64_t dim) const {
  const std::int64_t at_dim = wrap_dim(dim, batch_dims(), "squeeze");
  if (size(at_dim) != 1) return clone(false);
  Shape batch = batch_size();
  batch.erase(batch.begin() + at_dim);
  return map_leaves(
      *this, "squeeze", [&](const at::Tensor& leaf) { return leaf.squeeze(at_dim); }, batch);
}

TensorDict TensorDict::unsqueeze(std::int64_t dim) const {
  const std::int64_t at_dim = wrap_dim(dim, batch_dims() + 1, "unsqueeze");
  Shape batch = batch_size();
  batch.insert(batch.begin() + at_dim, 1);
  return map_leaves(
      *this, "unsqueeze", [&](const at::Tensor& leaf) { return leaf.unsqueeze(at_dim); }, batch);
}

TensorDict TensorDict::expand(at::IntArrayRef shape) const {
  Shape batch = shape.vec();
  const std::int64_t added = static_cast<std::int64_t>(batch.size()) - batch_dims();
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(batch.size()); ++i) {
    std::int64_t& wanted = batch[static_cast<std::size_t>(i)];
    const std::int64_t old = i < added ? 1 : size(i - std::max<std::int64_t>(added, 0));
    if (wanted == -1 && i >= added) wanted = old;
    if (added < 0 || wanted < 0 || (old != 1 && old != wanted))
      throw Error("tensordict: expand: batch size " + shape_text(batch_size()) + " does not expand to " +
                  shape_text(shape));
  }
  return reshaped(*this, "expand", batch, [](const at::Tensor& leaf, const Shape& to) { return leaf.expand(to); });
}

std::vector<TensorDict> TensorDict::split(at::IntArrayRef split_sizes, std::int64_t dim) const {
  const std::int64_t at_dim = wrap_dim(dim, batch_dims(), "split");
  if (std::any_of(split_sizes.begin(), split_sizes.end(), [](std::int64_t n) { return n < 0; }) ||
      std::accumulate(split_sizes.begin(), split_sizes.end(), std::int64_t{0}) != size(at_dim))
    throw Error("tensordict: split: sizes " + shape_text(split_sizes) + " do not add up to " +
                std::to_string(size(at_dim)) + " of dimension " + std::to_string(at_dim));
  std::vector<TensorDict> parts;
  std::int64_t start = 0;
  for (const std::int64_t n : split_sizes) {
    Shape batch = batch_size();
    batch[static_cast<std::size_t>(at_dim)] = n;
    parts.push_back(map_leaves(
        *this, "split", [&](const at::Tensor& leaf) { return leaf.narrow(at_dim, start, n); }, batch));
    start += n;
  }
  return parts;
}

std::vector<TensorDict> TensorDict::split(std::int64_t split_size, std::int64_t dim) const {
  if (split_size < 1) throw Error("tensordict: split: size " + std::to_string(split_size) + " is not positive");
  const std::int64_t all = size(dim);
  Shape sizes;
  for (std::int64_t start = 0; start < all || start == 0; start += split_size)
    sizes.push_back(std::min(split_size, all - start));
  return split(sizes, dim);
}

std::vector<TensorDict> TensorDict::chunk(std::int64_t chunks, std::int64_t dim) const {
  if (chunks < 1) throw Error("tensordict: chunk: " + std::to_string(chunks) + " chunks");
  return split(std::max<std::int64_t>((size(dim) + chunks - 1) / chunks, 1), dim);
}

std::vector<TensorDict> TensorDict::unbind(std::int64_t dim) const {
  const std::int64_t at_dim = wrap_dim(dim, batch_dims(), "unbind");
  Shape batch = batch_size();
  batch.erase(batch.begin() + at_dim);
  std::vector<TensorDict> parts;
  for (std::int64_t i = 0; i < size(at_dim); ++i)
    parts.push_back(map_leaves(
        *this, "unbind", [&](const at::Tensor& leaf) { return leaf.select(at_dim, i); }, batch));
  return parts;
}

TensorDict TensorDict::gather(std::int64_t dim, const at::Tensor& index) const {
  const std::int64_t at_dim = wrap_dim(dim, batch_dims(), "gather");
  if (index.dim() != batch_dims())
    throw Error("tensordict: gather: the index has shape " + shape_text(index.sizes()) +
                ", not one dimension for each of batch size " + shape_text(batch_size()));
  const auto dims = batch_size().size();
  const auto gathered = [&](const at::Tensor& leaf) {
    const at::Tensor wide = expand_right(index, leaf.dim());
    return leaf.gather(at_dim, wide.expand(concatenated(index.sizes().vec(), tail_of(leaf, dims))));
  };
  return map_leaves(*this, "gather", gathered, index.sizes().vec());
}

namespace {

TensorDict joined(const std::vector<TensorDict>& tds, const std::string& op, std::int64_t dim, const Shape& batch,
                  const std::function<at::Tensor(at::ArrayRef<at::Tensor>)>& join) {
  const TensorDict& first = tds.front();
  for (const TensorDict& td : tds) {
    Shape a = first.batch_size(), b = td.batch_size();
    if (op == "cat" && b.size() == a.size()) a[static_cast<std::size_t>(dim)] = b[static_cast<std::size_t>(dim)];
    if (a != b)
      throw Error("tensordict: " + op + ": batch sizes " + shape_text(first.batch_size()) + " and " +
                  shape_text(td.batch_size()) + " differ");
  }
  return zip(
      tds, op, [&](const std::string&, at::ArrayRef<at::Tensor> leaves) { return join(leaves); }, batch,
      first.device());
}

}  // namespace

TensorDict stack(const std::vector<TensorDict>& tensordicts, std::int64_t dim) {
  if (tensordicts.empty()) throw Error("tensordict: stack of nothing");
  const std::int64_t at_dim = wrap_dim(dim, tensordicts[0].batch_dims() + 1, "stack");
  Shape batch = tensordicts[0].batch_size();
  batch.insert(batch.begin() + at_dim, static_cast<std::int64_t>(tensordicts.size()));
  return joined(tensordicts, "stack", at_dim, batch,
                [&](at::ArrayRef<at::Tensor> leaves) { return at::stack(leaves, at_dim); });
}

TensorDict cat(const std::vector<TensorDict>& tensordicts, std::int64_t dim) {
  if (tensordicts.empty()) throw Error("tensordict: cat of nothing");
  const std::int64_t at_dim = wrap_dim(dim, tensordicts[0].batch_dims(), "cat");
  Shape batch = tensordicts[0].batch_size();
  batch[static_cast<std::size_t>(at_dim)] = 0;
  for (const TensorDict& td : tensordicts)
    if (td.batch_dims() > at_dim) batch[static_cast<std::size_t>(at_dim)] += td.size(at_dim);
  return joined(tensordicts, "cat", at_dim, batch,
                [&](at::ArrayRef<at::Tensor> leaves) { return at::cat(leaves, at_dim); });
}

}  // namespace hotloop
