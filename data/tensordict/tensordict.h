// TensorDict: named tensors that share their leading (batch) dimensions, the counterpart of PyTorch's TensorDict, with
// the same names and the same results. A TensorDict holds leaves (at::Tensor) and nested TensorDicts.
//
// Like at::Tensor it is a handle: copying one copies no data and both see the same entries; clone() copies.
//
//   TensorDict td({{"observation", at::zeros({4, 8, 3})}, {"next/reward", at::ones({4, 8, 1})}}, {4, 8});
//   at::Tensor reward = td["next/reward"];
//   td.set({"next", "terminated"}, at::zeros({4, 8, 1}, at::kBool));
//   TensorDict next = td.nested("next");
//
// Operations on shape act on the batch dimensions of every leaf at once; what follows them is left alone:
//
//   TensorDict flat = td.view({-1});
//   TensorDict minibatch = flat.index({at::tensor({3, 1, 2})});
//   TensorDict last_step = td.index({-1});
//   std::vector<TensorDict> halves = td.split(2);
//   TensorDict both = cat({halves[0], halves[1]});
//
// Arithmetic acts on all leaves in one fused call a device, in place where the name ends in '_':
//
//   TensorDict target = td.clone();
//   target.lerp_(td, 0.005);
//   TensorDict clipped = td.sub(1.0).clamp(-1.0, 1.0);
//
// One allocation for everything, so that a transfer is one copy:
//
//   TensorDict packed = td.consolidate();
//   at::Tensor bytes = packed.storage();
//
// Rules. Keys are separated by '/'; lists of keys are sorted, level by level. Every leaf begins with the batch size,
// and nested TensorDicts may have more batch dimensions than their parent. A TensorDict with a device moves what is set
// to it. A locked one refuses to change its set of entries (writing into tensors stays allowed); results of operations
// are unlocked. Wrong keys, shapes, indices and types are an Error of one line that names the key; out of memory is
// OutOfMemory. Views share memory exactly where PyTorch's operation of that name does. persist.h saves and loads,
// arena_view.h wraps a rollout's arena, module.h wraps parameters.
#pragma once
#include <ATen/TensorIndexing.h>
#include <ATen/core/Tensor.h>

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/tensordict/nested_key.h"

namespace hotloop {

using Shape = std::vector<std::int64_t>;

class TensorDict {
 public:
  class Value;   // a leaf or a nested TensorDict
  struct Entry;  // {key, value}
  using Keys = std::vector<std::string>;
  using LeafFunction = std::function<at::Tensor(const at::Tensor&)>;
  using NamedLeafFunction = std::function<at::Tensor(const std::string& key, const at::Tensor&)>;

  explicit TensorDict(Shape batch_size = {}, std::optional<at::Device> device = std::nullopt);
  TensorDict(std::initializer_list<Entry> entries, Shape batch_size = {},
             std::optional<at::Device> device = std::nullopt);

  const Shape& batch_size() const;
  std::int64_t batch_dims() const { return static_cast<std::int64_t>(batch_size().size()); }
  std::int64_t size(std::int64_t dim) const;                  // of one batch dimension, negative counts from the end
  TensorDict& set_batch_size(Shape batch_size);               // Error where a leaf does not begin with it
  std::optional<at::Device> device() const;                   // none: leaves may be anywhere
  std::int64_t numel() const;                                 // of the batch; at least 1, as in Python
  std::int64_t param_count() const;                           // elements of all leaves
  std::int64_t bytes() const;                                 // of all leaves
  bool is_empty() const { return keys(true, true).empty(); }  // holds no leaf

  // Entries. A missing key is an Error naming the nearest one.
  at::Tensor get(const NestedKey& key) const;
  at::Tensor get(const NestedKey& key, at::Tensor otherwise) const;
  at::Tensor operator[](const NestedKey& key) const { return get(key); }
  TensorDict nested(const NestedKey& key) const;  // the TensorDict at a key
  bool contains(const NestedKey& key) const;
  // Creates the nested levels; replaces what was there. inplace: writes into the tensor that is there, if one is.
  TensorDict& set(const NestedKey& key, const Value& value, bool inplace = false);
  TensorDict& set_(const NestedKey& key, const at::Tensor& value);  // writes into the existing leaf
  at::Tensor setdefault(const NestedKey& key, const at::Tensor& value);
  at::Tensor pop(const NestedKey& key);
  TensorDict& del_(const NestedKey& key);
  TensorDict& rename_key_(const NestedKey& from, const NestedKey& to);  // replaces `to`
  Keys keys(bool include_nested = false, bool leaves_only = false) const;
  std::vector<std::pair<std::string, Value>> items(bool include_nested = false, bool leaves_only = false) const;
  std::vector<Value> values(bool include_nested = false, bool leaves_only = false) const;
  std::vector<at::Tensor> leaves() const;  // of every level, in the order of keys(true, true)

  TensorDict& lock_();    // and all nested ones
  TensorDict& unlock_();  // Error for a nested one whose parent is locked
  bool is_locked() const;

  // Copies and moves. non_blocking copies from pinned memory are complete only after the stream is.
  TensorDict to(at::Device device, bool non_blocking = false) const;
  TensorDict to(at::ScalarType dtype, bool non_blocking = false) const;
  TensorDict cuda(int index = 0, bool non_blocking = false) const;
  TensorDict cpu() const;
  TensorDict pin_memory() const;
  TensorDict clone(bool recurse = true) const;  // recurse = false: new levels, the same tensors
  TensorDict contiguous() const;
  // All leaves in one storage, each 64-byte aligned, locked; on `device`, else where they are (Error if on several).
  TensorDict consolidate(std::optional<at::Device> device = std::nullopt) const;
  at::Tensor storage() const;                            // uint8, of a consolidated TensorDict; undefined otherwise
  TensorDict& update(const TensorDict& source);          // sets every entry of source, merging nested levels
  TensorDict& update_(const TensorDict& source);         // writes into existing leaves; Error for a key not here
  TensorDict& copy_(const TensorDict& source);           // update_ between equal sets of keys
  std::map<std::string, at::Tensor> state_dict() const;  // flat, levels joined by '.'
  TensorDict& load_state_dict(const std::map<std::string, at::Tensor>& state, bool strict = true);  // writes in place

  // Indexing of the batch dimensions: integers, Slice, None, "...", boolean masks, integer tensors.
  TensorDict index(at::ArrayRef<at::indexing::TensorIndex> indices) const;
  TensorDict index(std::initializer_list<at::indexing::TensorIndex> indices) const;
  TensorDict& index_put_(at::ArrayRef<at::indexing::TensorIndex> indices, const TensorDict& value);
  TensorDict& index_put_(at::ArrayRef<at::indexing::TensorIndex> indices, const at::Scalar& value);
  at::Tensor get_at(const NestedKey& key, at::ArrayRef<at::indexing::TensorIndex> indices) const;
  TensorDict& set_at_(const NestedKey& key, const at::Tensor& value, at::ArrayRef<at::indexing::TensorIndex> indices);
  TensorDict& copy_at_(const TensorDict& source, at::ArrayRef<at::indexing::TensorIndex> indices);

  // Shape of the batch dimensions.
  TensorDict view(at::IntArrayRef shape) const;  // one -1 is inferred; Error where memory does not allow it
  TensorDict reshape(at::IntArrayRef shape) const;
  TensorDict flatten(std::int64_t start_dim = 0, std::int64_t end_dim = -1) const;
  TensorDict unflatten(std::int64_t dim, at::IntArrayRef sizes) const;
  TensorDict permute(at::IntArrayRef dims) const;
  TensorDict transpose(std::int64_t dim0, std::int64_t dim1) const;
  TensorDict squeeze() const;
  TensorDict squeeze(std::int64_t dim) const;  // unchanged where the size is not 1
  TensorDict unsqueeze(std::int64_t dim) const;
  TensorDict expand(at::IntArrayRef shape) const;
  std::vector<TensorDict> split(std::int64_t split_size, std::int64_t dim = 0) const;
  std::vector<TensorDict> split(at::IntArrayRef split_sizes, std::int64_t dim = 0) const;
  std::vector<TensorDict> chunk(std::int64_t chunks, std::int64_t dim = 0) const;
  std::vector<TensorDict> unbind(std::int64_t dim = 0) const;
  TensorDict gather(std::int64_t dim, const at::Tensor& index) const;  // index has batch_dims() dimensions

  // Keys. Results share the tensors.
  TensorDict select(const Keys& keys, bool strict = true) const;
  TensorDict exclude(const Keys& keys) const;
  std::vector<TensorDict> split_keys(const std::vector<Keys>& sets) const;  // one for each set, then the rest
  TensorDict replace(const TensorDict& entries) const;
  TensorDict flatten_keys(const std::string& separator = ".") const;
  TensorDict unflatten_keys(const std::string& separator = ".") const;
  TensorDict empty(bool recurse = false) const;  // the batch size and, with recurse, the nested levels, without leaves

  // Masks have the leading batch dimensions' shape.
  TensorDict masked_select(const at::Tensor& mask) const;
  TensorDict masked_fill(const at::Tensor& mask, const at::Scalar& value) const;
  TensorDict& masked_fill_(const at::Tensor& mask, const at::Scalar& value);
  // With pad, a key that only one side has counts as filled with it on the other; without, it is an Error.
  TensorDict where(const at::Tensor& condition, const TensorDict& other,
                   std::optional<at::Scalar> pad = std::nullopt) const;
  TensorDict where(const at::Tensor& condition, const at::Scalar& other) const;

  // Every leaf through a function; an undefined tensor drops the leaf. batch_size: of the result, if it changes.
  TensorDict apply(const LeafFunction& function, std::optional<Shape> batch_size = std::nullopt) const;
  TensorDict named_apply(const NamedLeafFunction& function, std::optional<Shape> batch_size = std::nullopt) const;
  TensorDict apply(const std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>& function,
                   const TensorDict& other) const;
  TensorDict& apply_(const LeafFunction& function);  // writes the results into the leaves

  TensorDict& zero_();
  TensorDict& fill_(const NestedKey& key, const at::Scalar& value);  // a leaf, or all leaves of a nested TensorDict
  bool all() const;                                                  // waits for the device
  bool any() const;
  TensorDict all(std::int64_t dim) const;
  TensorDict any(std::int64_t dim) const;
  TensorDict isfinite() const;
  TensorDict isnan() const;

  TensorDict& requires_grad_(bool value = true);
  TensorDict detach() const;
  TensorDict grad() const;  // of the leaves that have one
  TensorDict& zero_grad(bool set_to_none = true);

  // Arithmetic. Both sides have the same keys, else Error.
  TensorDict add(const TensorDict& other, const at::Scalar& alpha = 1) const;
  TensorDict add(const at::Scalar& other) const;
  TensorDict sub(const TensorDict& other, const at::Scalar& alpha = 1) const;
  TensorDict sub(const at::Scalar& other) const;
  TensorDict mul(const TensorDict& other) const;
  TensorDict mul(const at::Scalar& other) const;
  TensorDict div(const TensorDict& other) const;
  TensorDict div(const at::Scalar& other) const;
  TensorDict addcmul(const TensorDict& a, const TensorDict& b, const at::Scalar& value = 1) const;
  TensorDict addcdiv(const TensorDict& a, const TensorDict& b, const at::Scalar& value = 1) const;
  TensorDict lerp(const TensorDict& end, const at::Scalar& weight) const;
  TensorDict clamp(std::optional<at::Scalar> min, std::optional<at::Scalar> max = std::nullopt) const;
  TensorDict sqrt() const;
  TensorDict neg() const;
  TensorDict abs() const;
  TensorDict norm(const at::Scalar& order = 2) const;  // a scalar for each leaf, batch size []
  TensorDict& add_(const TensorDict& other, const at::Scalar& alpha = 1);
  TensorDict& add_(const at::Scalar& other);
  TensorDict& sub_(const TensorDict& other, const at::Scalar& alpha = 1);
  TensorDict& sub_(const at::Scalar& other);
  TensorDict& mul_(const TensorDict& other);
  TensorDict& mul_(const at::Scalar& other);
  TensorDict& div_(const TensorDict& other);
  TensorDict& div_(const at::Scalar& other);
  TensorDict& addcmul_(const TensorDict& a, const TensorDict& b, const at::Scalar& value = 1);
  TensorDict& addcdiv_(const TensorDict& a, const TensorDict& b, const at::Scalar& value = 1);
  TensorDict& lerp_(const TensorDict& end, const at::Scalar& weight);  // the soft update of a target network
  TensorDict& clamp_(std::optional<at::Scalar> min, std::optional<at::Scalar> max = std::nullopt);
  TensorDict& sqrt_();
  TensorDict& neg_();
  TensorDict& abs_();

  // True if both handles mean the same TensorDict.
  bool is_same(const TensorDict& other) const { return node_ == other.node_; }

 private:
  struct Node;
  explicit TensorDict(std::shared_ptr<Node> node) : node_(std::move(node)) {}
  const Node* find_level(const NestedKey& key, std::size_t depth) const;
  std::shared_ptr<Node> level_for_write(const NestedKey& key);
  [[noreturn]] void throw_missing(const NestedKey& key) const;
  void set_consolidated(at::Tensor storage);
  std::shared_ptr<Node> node_;
};

class TensorDict::Value {
 public:
  Value(at::Tensor tensor) : tensor_(std::move(tensor)) {}
  Value(const TensorDict& dict) : dict_(dict.node_) {}
  bool is_tensor() const { return !dict_; }
  const at::Tensor& tensor() const { return tensor_; }
  TensorDict dict() const { return TensorDict(dict_); }

 private:
  friend class TensorDict;
  at::Tensor tensor_;
  std::shared_ptr<Node> dict_;
};

struct TensorDict::Entry {
  NestedKey key;
  Value value;
};

// The same keys and batch dimensions, else Error. stack adds the batch dimension `dim`, cat joins along it.
TensorDict stack(const std::vector<TensorDict>& tensordicts, std::int64_t dim = 0);
TensorDict cat(const std::vector<TensorDict>& tensordicts, std::int64_t dim = 0);
// pad_size: [before, after] of the first batch dimension, of the second, ...
TensorDict pad(const TensorDict& td, at::IntArrayRef pad_size, const at::Scalar& value = 0);
TensorDict zeros_like(const TensorDict& td);
TensorDict ones_like(const TensorDict& td);
TensorDict empty_like(const TensorDict& td);

inline TensorDict operator+(const TensorDict& a, const TensorDict& b) { return a.add(b); }
inline TensorDict operator+(const TensorDict& a, const at::Scalar& b) { return a.add(b); }
inline TensorDict operator-(const TensorDict& a, const TensorDict& b) { return a.sub(b); }
inline TensorDict operator-(const TensorDict& a, const at::Scalar& b) { return a.sub(b); }
inline TensorDict operator*(const TensorDict& a, const TensorDict& b) { return a.mul(b); }
inline TensorDict operator*(const TensorDict& a, const at::Scalar& b) { return a.mul(b); }
inline TensorDict operator/(const TensorDict& a, const TensorDict& b) { return a.div(b); }
inline TensorDict operator/(const TensorDict& a, const at::Scalar& b) { return a.div(b); }

}  // namespace hotloop
