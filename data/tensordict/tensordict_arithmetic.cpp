// Arithmetic on all leaves at once: LibTorch's foreach operations, one launch for many tensors on a GPU.
#include <ATen/ops/_foreach_abs.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_clamp_max.h>
#include <ATen/ops/_foreach_clamp_min.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_neg.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_foreach_zero.h>

#include "data/tensordict/tensordict_node.h"

namespace hotloop {

using namespace tensordict_detail;

namespace {

using Leaves = std::vector<at::Tensor>;

template <class F>
TensorDict result_of(const TensorDict& td, const std::string& op, F f) {
  const Leaves leaves = td.leaves();
  const auto message = [&] { return "tensordict: " + op; };
  return with_leaves(td, leaves.empty() ? leaves : guarded(message, [&] { return Leaves(f(leaves)); }), op);
}

template <class F>
TensorDict& in_place(TensorDict& td, const std::string& op, F f) {
  const Leaves leaves = td.leaves();
  if (!leaves.empty()) guarded([&] { return "tensordict: " + op; }, [&] { f(leaves); });
  return td;
}

template <class F>
TensorDict result_of(const TensorDict& td, const TensorDict& other, const std::string& op, F f) {
  const Leaves others = leaves_like(td, other, op);
  return result_of(td, op, [&](const Leaves& leaves) { return f(leaves, others); });
}

template <class F>
TensorDict& in_place(TensorDict& td, const TensorDict& other, const std::string& op, F f) {
  const Leaves others = leaves_like(td, other, op);
  return in_place(td, op, [&](const Leaves& leaves) { f(leaves, others); });
}

}  // namespace

TensorDict TensorDict::add(const TensorDict& other, const at::Scalar& alpha) const {
  return result_of(*this, other, "add",
                   [&](const Leaves& a, const Leaves& b) { return at::_foreach_add(a, b, alpha); });
}
TensorDict TensorDict::add(const at::Scalar& other) const {
  return result_of(*this, "add", [&](const Leaves& a) { return at::_foreach_add(a, other); });
}
TensorDict TensorDict::sub(const TensorDict& other, const at::Scalar& alpha) const {
  return result_of(*this, other, "sub",
                   [&](const Leaves& a, const Leaves& b) { return at::_foreach_sub(a, b, alpha); });
}
TensorDict TensorDict::sub(const at::Scalar& other) const {
  return result_of(*this, "sub", [&](const Leaves& a) { return at::_foreach_sub(a, other); });
}
TensorDict TensorDict::mul(const TensorDict& other) const {
  return result_of(*this, other, "mul", [](const Leaves& a, const Leaves& b) { return at::_foreach_mul(a, b); });
}
TensorDict TensorDict::mul(const at::Scalar& other) const {
  return result_of(*this, "mul", [&](const Leaves& a) { return at::_foreach_mul(a, other); });
}
TensorDict TensorDict::div(const TensorDict& other) const {
  return result_of(*this, other, "div", [](const Leaves& a, const Leaves& b) { return at::_foreach_div(a, b); });
}
TensorDict TensorDict::div(const at::Scalar& other) const {
  return result_of(*this, "div", [&](const Leaves& a) { return at::_foreach_div(a, other); });
}
TensorDict TensorDict::addcmul(const TensorDict& a, const TensorDict& b, const at::Scalar& value) const {
  const Leaves first = leaves_like(*this, a, "addcmul"), second = leaves_like(*this, b, "addcmul");
  return result_of(*this, "addcmul",
                   [&](const Leaves& leaves) { return at::_foreach_addcmul(leaves, first, second, value); });
}
TensorDict TensorDict::addcdiv(const TensorDict& a, const TensorDict& b, const at::Scalar& value) const {
  const Leaves first = leaves_like(*this, a, "addcdiv"), second = leaves_like(*this, b, "addcdiv");
  return result_of(*this, "addcdiv",
                   [&](const Leaves& leaves) { return at::_foreach_addcdiv(leaves, first, second, value); });
}
TensorDict TensorDict::lerp(const TensorDict& end, const at::Scalar& weight) const {
  return result_of(*this, end, "lerp",
                   [&](const Leaves& a, const Leaves& b) { return at::_foreach_lerp(a, b, weight); });
}
TensorDict TensorDict::clamp(std::optional<at::Scalar> min, std::optional<at::Scalar> max) const {
  return result_of(*this, "clamp", [&](Leaves leaves) {
    if (min) leaves = at::_foreach_clamp_min(leaves, *min);
    if (max) leaves = at::_foreach_clamp_max(leaves, *max);
    return leaves;
  });
}
TensorDict TensorDict::sqrt() const {
  return result_of(*this, "sqrt", [](const Leaves& a) { return at::_foreach_sqrt(a); });
}
TensorDict TensorDict::neg() const {
  return result_of(*this, "neg", [](const Leaves& a) { return at::_foreach_neg(a); });
}
TensorDict TensorDict::abs() const {
  return result_of(*this, "abs", [](const Leaves& a) { return at::_foreach_abs(a); });
}
TensorDict TensorDict::norm(const at::Scalar& order) const {
  const Leaves all = leaves();
  Leaves norms = all;
  if (!all.empty())
    norms = guarded([] { return std::string("tensordict: norm"); }, [&] { return at::_foreach_norm(all, order); });
  std::size_t next = 0;
  // nested levels lose their batch dimensions too
  TensorDict result(Shape{}, device());
  for (const auto& [key, value] : items(true)) {
    if (value.is_tensor())
      result.set(key, norms[next++]);
    else
      result.set(key, TensorDict(Shape{}, device()));
  }
  return result;
}

TensorDict& TensorDict::zero_() {
  return in_place(*this, "zero_", [](const Leaves& a) { at::_foreach_zero_(a); });
}
TensorDict& TensorDict::add_(const TensorDict& other, const at::Scalar& alpha) {
  return in_place(*this, other, "add_", [&](const Leaves& a, const Leaves& b) { at::_foreach_add_(a, b, alpha); });
}
TensorDict& TensorDict::add_(const at::Scalar& other) {
  return in_place(*this, "add_", [&](const Leaves& a) { at::_foreach_add_(a, other); });
}
TensorDict& TensorDict::sub_(const TensorDict& other, const at::Scalar& alpha) {
  return in_place(*this, other, "sub_", [&](const Leaves& a, const Leaves& b) { at::_foreach_sub_(a, b, alpha); });
}
TensorDict& TensorDict::sub_(const at::Scalar& other) {
  return in_place(*this, "sub_", [&](const Leaves& a) { at::_foreach_sub_(a, other); });
}
TensorDict& TensorDict::mul_(const TensorDict& other) {
  return in_place(*this, other, "mul_", [](const Leaves& a, const Leaves& b) { at::_foreach_mul_(a, b); });
}
TensorDict& TensorDict::mul_(const at::Scalar& other) {
  return in_place(*this, "mul_", [&](const Leaves& a) { at::_foreach_mul_(a, other); });
}
TensorDict& TensorDict::div_(const TensorDict& other) {
  return in_place(*this, other, "div_", [](const Leaves& a, const Leaves& b) { at::_foreach_div_(a, b); });
}
TensorDict& TensorDict::div_(const at::Scalar& other) {
  return in_place(*this, "div_", [&](const Leaves& a) { at::_foreach_div_(a, other); });
}
TensorDict& TensorDict::addcmul_(const TensorDict& a, const TensorDict& b, const at::Scalar& value) {
  const Leaves first = leaves_like(*this, a, "addcmul_"), second = leaves_like(*this, b, "addcmul_");
  return in_place(*this, "addcmul_",
                  [&](const Leaves& leaves) { at::_foreach_addcmul_(leaves, first, second, value); });
}
TensorDict& TensorDict::addcdiv_(const TensorDict& a, const TensorDict& b, const at::Scalar& value) {
  const Leaves first = leaves_like(*this, a, "addcdiv_"), second = leaves_like(*this, b, "addcdiv_");
  return in_place(*this, "addcdiv_",
                  [&](const Leaves& leaves) { at::_foreach_addcdiv_(leaves, first, second, value); });
}
TensorDict& TensorDict::lerp_(const TensorDict& end, const at::Scalar& weight) {
  return in_place(*this, end, "lerp_", [&](const Leaves& a, const Leaves& b) { at::_foreach_lerp_(a, b, weight); });
}
TensorDict& TensorDict::clamp_(std::optional<at::Scalar> min, std::optional<at::Scalar> max) {
  return in_place(*this, "clamp_", [&](const Leaves& leaves) {
    if (min) at::_foreach_clamp_min_(leaves, *min);
    if (max) at::_foreach_clamp_max_(leaves, *max);
  });
}
TensorDict& TensorDict::sqrt_() {
  return in_place(*this, "sqrt_", [](const Leaves& a) { at::_foreach_sqrt_(a); });
}
TensorDict& TensorDict::neg_() {
  return in_place(*this, "neg_", [](const Leaves& a) { at::_foreach_neg_(a); });
}
TensorDict& TensorDict::abs_() {
  return in_place(*this, "abs_", [](const Leaves& a) { at::_foreach_abs_(a); });
}

}  // namespace hotloop
