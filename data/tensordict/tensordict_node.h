// Inside of data/tensordict only: what a TensorDict holds, and the walk over levels that most operations are.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/tensordict/tensordict.h"
#include "sim/core/error.h"

namespace hotloop {

struct TensorDict::Node {
  Shape batch_size;
  std::optional<at::Device> device;
  std::map<std::string, Value> entries;
  bool locked = false;
  std::vector<std::weak_ptr<Node>> lock_parents;  // locked TensorDicts that hold this one
  at::Tensor storage;                             // of consolidate(); forgotten when unlocked
};

namespace tensordict_detail {

std::string shape_text(at::IntArrayRef shape);  // "[2, 3]"

// Runs f; what LibTorch throws becomes an Error of one line that begins with `what()`.
template <class What, class F>
auto guarded(What&& what, F&& f) {
  const auto first_line = [](const c10::Error& e) {
    const std::string text = e.what_without_backtrace();
    return text.substr(0, text.find('\n'));
  };
  try {
    return f();
  } catch (const c10::OutOfMemoryError& e) {
    throw OutOfMemory(what() + ": " + first_line(e));
  } catch (const c10::Error& e) {
    throw Error(what() + ": " + first_line(e));
  }
}

// A dimension in [0, count), counted from the end where negative. Error naming `op` otherwise.
std::int64_t wrap_dim(std::int64_t dim, std::int64_t count, const std::string& op);

// What an operation makes of the leaves of one key in every operand; undefined drops the leaf.
using ZipFunction = std::function<at::Tensor(const std::string& key, at::ArrayRef<at::Tensor> leaves)>;

// Walks equal trees and builds the tree of results; a nested TensorDict of the first operand keeps its own batch
// dimensions beyond its parent's behind `batch_size`. Error naming `op` and the key where the trees differ.
TensorDict zip(const std::vector<TensorDict>& operands, const std::string& op, const ZipFunction& function,
               const Shape& batch_size, std::optional<at::Device> device);

// The same for one operand.
TensorDict map_leaves(const TensorDict& td, const std::string& op,
                      const std::function<at::Tensor(const at::Tensor&)>& f, const Shape& batch_size);

// The leaves of `other` in the order of td's; Error naming `op` and the key where the keys differ.
std::vector<at::Tensor> leaves_like(const TensorDict& td, const TensorDict& other, const std::string& op);

// td's tree with other leaves, in the order of td.leaves().
TensorDict with_leaves(const TensorDict& td, const std::vector<at::Tensor>& leaves, const std::string& op);

// mask with ones appended up to `dims` dimensions, so that it broadcasts from the left.
at::Tensor expand_right(const at::Tensor& mask, std::int64_t dims);
// Error unless the mask's shape is that of td's leading batch dimensions.
void check_mask(const TensorDict& td, const at::Tensor& mask, const std::string& op);

}  // namespace tensordict_detail
}  // namespace hotloop
