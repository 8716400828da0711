#include "data/arena.h"

#include <algorithm>

#include "sim/core/error.h"

namespace hotloop {
namespace {

constexpr std::size_t kLeafAlignment = 256;

struct DTypeRow {
  DType dtype;
  std::size_t size;
  const char* name;
};
constexpr DTypeRow kDTypes[] = {{DType::boolean, 1, "bool"}, {DType::u8, 1, "uint8"},      {DType::i8, 1, "int8"},
                                {DType::i16, 2, "int16"},    {DType::i32, 4, "int32"},     {DType::i64, 8, "int64"},
                                {DType::f16, 2, "float16"},  {DType::bf16, 2, "bfloat16"}, {DType::f32, 4, "float32"},
                                {DType::f64, 8, "float64"}};

// Offsets and sizes; `total` receives the whole size.
std::vector<Leaf> lay_out(const std::vector<LeafSpec>& specs, std::size_t& total) {
  std::vector<Leaf> leaves;
  total = 0;
  for (const LeafSpec& spec : specs) {
    Leaf leaf;
    static_cast<LeafSpec&>(leaf) = spec;
    leaf.numel = 1;
    for (const std::int64_t n : spec.shape) {
      if (n < 0 || __builtin_mul_overflow(leaf.numel, n, &leaf.numel))
        throw Error("arena: '" + spec.name + "': size " + std::to_string(n) + " is negative or too large");
    }
    if (__builtin_mul_overflow(static_cast<std::size_t>(leaf.numel), dtype_size(spec.dtype), &leaf.bytes) ||
        leaf.bytes > (std::size_t{1} << 62))
      throw Error("arena: '" + spec.name + "' is too large");
    leaf.offset = total;
    const std::size_t padded = (leaf.bytes + kLeafAlignment - 1) / kLeafAlignment * kLeafAlignment;
    if (__builtin_add_overflow(total, padded, &total)) throw Error("arena: too large from '" + spec.name + "' on");
    const auto same = [&](const Leaf& l) { return l.name == leaf.name; };
    if (std::any_of(leaves.begin(), leaves.end(), same)) throw Error("arena: '" + spec.name + "' is there twice");
    leaves.push_back(std::move(leaf));
  }
  return leaves;
}

}  // namespace

std::size_t dtype_size(DType dtype) { return kDTypes[static_cast<int>(dtype)].size; }
const char* dtype_name(DType dtype) { return kDTypes[static_cast<int>(dtype)].name; }

std::size_t Arena::required(const std::vector<LeafSpec>& specs) {
  std::size_t total = 0;
  lay_out(specs, total);
  return total;
}

Arena::Arena(Device device, const std::vector<LeafSpec>& specs) {
  std::size_t total = 0;
  leaves_ = lay_out(specs, total);
  memory_ = Memory(device, total);
}

bool Arena::contains(const std::string& name) const {
  return std::any_of(leaves_.begin(), leaves_.end(), [&](const Leaf& l) { return l.name == name; });
}

const Leaf& Arena::leaf(const std::string& name) const {
  std::vector<std::string> names;
  for (const Leaf& l : leaves_) {
    if (l.name == name) return l;
    names.push_back(l.name);
  }
  throw Error("arena: no key '" + name + "'" + suggestion(name, names));
}

void Arena::check_type(const Leaf& leaf, DType wanted) {
  const bool byte_of_bool = leaf.dtype == DType::boolean && wanted == DType::u8;
  if (leaf.dtype != wanted && !byte_of_bool)
    throw Error("arena: '" + leaf.name + "' is " + dtype_name(leaf.dtype) + ", not " + dtype_name(wanted));
}

}  // namespace hotloop
