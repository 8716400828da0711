#include "data/tensordict/arena_view.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>

#include "data/tensordict/tensordict_node.h"

namespace hotloop {
namespace {

struct TypePair {
  DType dtype;
  at::ScalarType type;
};
constexpr TypePair kTypes[] = {{DType::boolean, at::kBool}, {DType::u8, at::kByte},       {DType::i8, at::kChar},
                               {DType::i16, at::kShort},    {DType::i32, at::kInt},       {DType::i64, at::kLong},
                               {DType::f16, at::kHalf},     {DType::bf16, at::kBFloat16}, {DType::f32, at::kFloat},
                               {DType::f64, at::kDouble}};

at::Tensor whole(const Arena& arena, const Leaf& leaf) {
  const at::Device device = torch_device(arena.device());
  const auto options = at::TensorOptions(scalar_type(leaf.dtype)).device(device);
  return at::from_blob(arena.bytes(leaf), leaf.shape, options);
}

}  // namespace

at::ScalarType scalar_type(DType dtype) { return kTypes[static_cast<int>(dtype)].type; }

DType dtype_of(at::ScalarType type) {
  for (const TypePair& pair : kTypes)
    if (pair.type == type) return pair.dtype;
  throw Error(std::string("tensordict: element type ") + c10::toString(type) +
              " is not one of bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64");
}

at::Device torch_device(Device device) {
  return device.is_cuda() ? at::Device(at::kCUDA, static_cast<at::DeviceIndex>(device.index)) : at::Device(at::kCPU);
}

TensorDict view(const Arena& arena, const Shape& batch_size, const std::vector<std::string>& skip) {
  for (const std::string& name : skip) arena.leaf(name);  // a misspelt one would bring the leaf in
  TensorDict result(batch_size, torch_device(arena.device()));
  const std::int64_t steps = batch_size.empty() ? 0 : batch_size[0];
  for (const Leaf& leaf : arena.leaves()) {
    if (std::find(skip.begin(), skip.end(), leaf.name) != skip.end()) continue;
    const bool long_enough = leaf.shape.size() >= batch_size.size();
    const bool same_rest = long_enough && (batch_size.empty() || std::equal(batch_size.begin() + 1, batch_size.end(),
                                                                            leaf.shape.begin() + 1));
    if (same_rest && (batch_size.empty() || leaf.shape[0] == steps)) {
      result.set(leaf.name, whole(arena, leaf));
    } else if (same_rest && leaf.shape[0] == steps + 1) {
      if (arena.contains("next/" + leaf.name))
        throw Error("tensordict: arena leaf '" + leaf.name + "' has " + std::to_string(steps + 1) +
                    " steps and so means 'next/" + leaf.name + "' too, which the arena also has");
      result.set(leaf.name, whole(arena, leaf).narrow(0, 0, steps));
      result.set("next/" + leaf.name, whole(arena, leaf).narrow(0, 1, steps));
    } else {
      Shape longer = batch_size;
      if (!longer.empty()) ++longer[0];
      throw Error("tensordict: arena leaf '" + leaf.name + "' of shape " + tensordict_detail::shape_text(leaf.shape) +
                  " begins with neither " + tensordict_detail::shape_text(batch_size) + " nor " +
                  tensordict_detail::shape_text(longer));
    }
  }
  return result;
}

}  // namespace hotloop
