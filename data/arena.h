// The arena: one allocation that holds every buffer of a rollout, time-major. Torch-free: names, dtypes, shapes and raw
// pointers only. Simulation and learning kernels, the TensorDict view (data/tensordict), the logger and the viewer all
// read and write the same bytes, so nothing is copied between them.
//
//   Arena arena(device, {{"observation", DType::f32, {num_steps + 1, num_envs, 4}},
//                        {"next/reward", DType::f32, {num_steps, num_envs, 1}}});
//   float* reward = arena.data<float>("next/reward");
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "sim/core/device.h"

namespace hotloop {

// The leaf that holds the terms of each step's reward, [steps, worlds, terms] in the order of EnvSpec::reward_terms.
inline constexpr const char* kRewardTermsKey = "next/reward_terms";

enum class DType : std::uint8_t { boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64 };

std::size_t dtype_size(DType dtype);
const char* dtype_name(DType dtype);  // PyTorch's: "float32", "int64", "bool", ...

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return DType::boolean;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return DType::u8;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return DType::i8;
  else if constexpr (std::is_same_v<T, std::int16_t>)
    return DType::i16;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return DType::i32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return DType::i64;
  else if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else {
    static_assert(std::is_same_v<T, double>, "no DType for this element type");
    return DType::f64;
  }
}

// One buffer to be placed: nested keys are joined by '/', as in "next/reward".
struct LeafSpec {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  // row-major, contiguous
};

struct Leaf : LeafSpec {
  std::size_t offset = 0;  // [bytes] from the start of the arena, a multiple of 256
  std::int64_t numel = 0;
  std::size_t bytes = 0;
};

class Arena {
 public:
  // Zeroed. Throws Error for a repeated name, a negative or overflowing size, and OutOfMemory.
  Arena(Device device, const std::vector<LeafSpec>& specs);

  const std::vector<Leaf>& leaves() const { return leaves_; }
  bool contains(const std::string& name) const;
  const Leaf& leaf(const std::string& name) const;  // Error naming the key, with the nearest one
  std::byte* bytes(const Leaf& leaf) const { return memory_.data() + leaf.offset; }
  Device device() const { return memory_.device(); }
  std::size_t size() const { return memory_.bytes(); }
  std::byte* base() const { return memory_.data(); }

  // The first element of `name`. Error if its element type is not T (uint8_t also reads bool).
  template <class T>
  T* data(const std::string& name) const {
    const Leaf& l = leaf(name);
    check_type(l, dtype_of<T>());
    return reinterpret_cast<T*>(bytes(l));
  }

  // Bytes that `specs` would take, for error messages that say what would fit.
  static std::size_t required(const std::vector<LeafSpec>& specs);

 private:
  static void check_type(const Leaf& leaf, DType wanted);
  std::vector<Leaf> leaves_;
  Memory memory_;
};

}  // namespace hotloop
